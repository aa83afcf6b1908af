//! Numbers that say of what kind an error is.

/// The longest number that is a code behind a word that announces one.
const MAX_DIGITS: usize = 5;

/// Words before a code, in small letters.
const ANNOUNCE: [&str; 16] = [
    "http",
    "http/1.0",
    "http/1.1",
    "http/2",
    "http/2.0",
    "http/3",
    "status",
    "statuscode",
    "status_code",
    "http_status",
    "httpstatus",
    "code",
    "errno",
    "sqlstate",
    "error",
    "signal",
];

/// How the phrases of HTTP's statuses begin (<https://www.rfc-editor.org/rfc/rfc9110#section-15>), with what Python's
/// `requests` writes in their place.
const PHRASES: [&str; 22] = [
    "bad request",
    "unauthorized",
    "payment required",
    "forbidden",
    "not found",
    "method not allowed",
    "not acceptable",
    "request timeout",
    "conflict",
    "gone",
    "payload too large",
    "request entity",
    "unsupported media",
    "unprocessable",
    "locked",
    "too many requests",
    "internal server",
    "not implemented",
    "bad gateway",
    "service ",
    "gateway time",
    "client error",
];

/// Whether `word` is a code and no value, from the word before it and the text behind it.
pub(super) fn is_code(word: &str, before: &str, behind: &str) -> bool {
    let is_plain = word.bytes().all(|byte| byte.is_ascii_digit() || byte.is_ascii_uppercase());
    if !is_plain || word.len() > MAX_DIGITS || !word.contains(|c: char| c.is_ascii_digit()) {
        return word.to_ascii_lowercase().starts_with("http/");
    }
    let before = before.to_ascii_lowercase();
    let last_part = before.rsplit(['.', ':', '/']).next().unwrap_or_default();
    ANNOUNCE.contains(&before.as_str()) || ANNOUNCE.contains(&last_part) || is_status(word, behind)
}

fn is_status(word: &str, behind: &str) -> bool {
    let phrase: String = behind
        .trim_start_matches([' ', '(', ':', '-', '"', '\''])
        .chars()
        .take(24)
        .collect::<String>()
        .to_ascii_lowercase();
    let is_phrase = PHRASES.iter().any(|known| phrase.starts_with(known)) || phrase.starts_with("server error");
    word.len() == 3 && matches!(word.as_bytes().first(), Some(b'1'..=b'5')) && is_phrase
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_told_from_values() {
        fn check(before: &str, word: &str, behind: &str, expected: bool) {
            assert_eq!(is_code(word, before, behind), expected, "{before} {word}{behind}");
        }
        check("HTTP", "503", "", true);
        check("HTTP/1.1", "503", "", true);
        check("code", "404", "", true);
        check("response.status", "404", "", true);
        check("Error", "1062", " (23000)", true);
        check("SQLSTATE", "23S05", "]", true);
        check("returned", "503", "", false);
        check("returned", "503", " Service Unavailable", true);
        check("success", "503", " (Service Unavailable)", true);
        check("", "404", " Client Error", true);
        check("took", "503", " services", false);
        check("code", "123456", "", false);
        check("order", "404", "", false);
        check("", "HTTP/2", "", true);
    }
}
