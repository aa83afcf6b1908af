//! Addresses of the web that people put beside things: tickets, runs of a deploy.

use url::Url;

/// Characters of an address.
pub const LONGEST_LINK: usize = 2_000;

/// An address of the web as it is kept; `None` where it is empty.
///
/// # Errors
/// It is no address that a browser may be led to.
pub fn read_link(text: &str) -> Result<Option<String>, String> {
    let text = text.trim();
    if text.is_empty() {
        return Ok(None);
    }
    let takes = "it takes an address that begins with https:// or http://";
    let url = Url::parse(text).map_err(|_| takes.to_owned())?;
    let is_web = matches!(url.scheme(), "http" | "https") && url.has_host();
    // A name before the host looks like another host.
    if is_web && (!url.username().is_empty() || url.password().is_some()) {
        return Err("it takes an address without a user name or password".to_owned());
    }
    if !is_web {
        return Err(takes.to_owned());
    }
    if url.as_str().chars().count() > LONGEST_LINK {
        return Err(format!("it takes {LONGEST_LINK} characters at most"));
    }
    Ok(Some(url.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_leads_to_the_web_and_looks_like_where_it_leads() {
        let read = |text: &str| read_link(text);
        assert_eq!(read(" https://tracker.example/BILL-1 "), Ok(Some("https://tracker.example/BILL-1".to_owned())));
        assert_eq!(read("http://t/1"), Ok(Some("http://t/1".to_owned())));
        assert_eq!(read("  "), Ok(None));
        for wrong in [
            "BILL-1",
            "javascript:alert(1)",
            "data:text/html,x",
            "ftp://t/1",
            "https://",
            "//t/1",
            "https://bank@evil/",
        ] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
        assert!(read(&format!("https://t/{}", "x".repeat(2_000))).is_err());
    }
}
