//! URLs.

use super::{HOLE, word};

/// Bytes before `://`.
const MAX_SCHEME: usize = 24;

/// The bytes of a URL that begins here.
pub(super) fn length(text: &str) -> Option<usize> {
    let start = text.get(..text.floor_char_boundary(MAX_SCHEME + 3))?;
    let scheme = start.find("://").filter(|at| *at > 0)?;
    let is_scheme = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.' | ':');
    if !text.get(..scheme)?.chars().all(is_scheme) {
        return None;
    }
    let end = text.find(|c: char| c.is_whitespace() || "\"'`<>{}|\\^«»“”".contains(c)).unwrap_or(text.len());
    let url = text.get(..end)?.trim_end_matches(['.', ',', ';', ':', '!', ')', ']']);
    (url.len() > scheme + 3).then_some(url.len())
}

/// Its scheme, host and path, without ids: who it is that was called and what for.
pub(super) fn without_values(url: &str) -> String {
    let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
    let rest = rest.split(['?', '#']).next().unwrap_or_default();
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let host = authority.rsplit('@').next().unwrap_or_default();
    let host = host
        .rsplit_once(':')
        .filter(|(_, port)| port.bytes().all(|byte| byte.is_ascii_digit()))
        .map_or(host, |(host, _)| host);
    let host = if host.starts_with('[') { HOLE.to_string() } else { word::without_values(host, false) };
    format!("{scheme}://{host}{}", word::without_values(path, false).trim_end_matches('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_keep_host_and_path() {
        fn check(text: &str, expected: Option<&str>) {
            let found = length(text).map(|length| without_values(&text[..length]));
            assert_eq!(found.as_deref(), expected, "{text}");
        }
        check("https://api.acme.io", Some("https://api.acme.io"));
        check("https://api.acme.io/ ", Some("https://api.acme.io"));
        check("https://api.acme.io:8443/v1/orders/42?x=1#y, and", Some("https://api.acme.io/v1/orders/…"));
        check("amqps://user:secret@10.0.0.1:5671/vhost", Some("amqps://…/vhost"));
        check("http://[::1]:80/a", Some("http://…/a"));
        check("jdbc:postgresql://db:5432/shop)", Some("jdbc:postgresql://db/shop"));
        check("s3://bucket/2026/01/31/part-00001.csv", Some("s3://bucket/…/part-….csv"));
        check("://x", None);
        check("a b://x", None);
        check("https://", None);
        check("no url", None);
    }
}
