//! Texts of others, made fit for Slack.

use crate::domain::digest::{line::cut, visible::visible};

/// Characters of the text that stands in for a message. Slack recommends up to 4,000; a notification shows fewer.
const LONGEST_SUMMARY: usize = 1_000;
/// Characters of a link as it is written. A longer one is left out, as a cut one leads nowhere.
const LONGEST_LINK: usize = 500;

/// One line of at most `limit` characters, counted as Slack does, after escaping.
pub(super) fn line(text: &str, limit: usize) -> String {
    let mut line = String::new();
    for c in cut(visible(text), limit, length).chars() {
        push_escaped(&mut line, c);
    }
    line
}

/// The text that stands in for a message. Other servers that take messages in Slack's form read mentions from an `@`.
pub(super) fn summary(text: &str) -> String {
    line(text, LONGEST_SUMMARY).replace('@', "@\u{2060}")
}

/// A link with our words on it; only the words where there is no link that can be written.
pub(super) fn link(href: Option<&str>, words: &str) -> String {
    match href.and_then(address) {
        Some(address) => format!("<{address}|{words}>"),
        None => words.to_owned(),
    }
}

/// An address in the form that may stand between angle brackets.
fn address(href: &str) -> Option<String> {
    if !href.starts_with("https://") && !href.starts_with("http://") {
        return None;
    }
    let mut address = String::with_capacity(href.len());
    for byte in href.bytes() {
        match byte {
            b'&' => address.push_str("&amp;"),
            b'"' | b'<' | b'>' | b'|' | b'\\' | b'^' | b'`' | b'{' | b'}' | 0..=b' ' | 0x7f.. => {
                address.push_str(&format!("%{byte:02X}"));
            }
            _ => address.push(char::from(byte)),
        }
    }
    (address.len() <= LONGEST_LINK).then_some(address)
}

/// The length of a character once escaped, in units of UTF-16: nothing says what Slack counts, and those are never fewer
/// than characters.
fn length(c: char) -> usize {
    match c {
        '&' => "&amp;".len(),
        '<' | '>' => "&lt;".len(),
        _ => c.len_utf16(),
    }
}

fn push_escaped(text: &mut String, c: char) {
    match c {
        '&' => text.push_str("&amp;"),
        '<' => text.push_str("&lt;"),
        '>' => text.push_str("&gt;"),
        _ => text.push(c),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_line_is_cut_between_characters_and_never_within_an_escape() {
        let check = |text, limit, expected: &str| assert_eq!(line(text, limit), expected);
        check("abc", 3, "abc");
        check("abcd", 3, "ab…");
        check("a&b", 7, "a&amp;b");
        check("a&b", 6, "a…");
        check("<>", 8, "&lt;&gt;");
        check("<>", 7, "&lt;…");
        check("<>", 4, "…");
        check("𝕏𝕏", 4, "𝕏𝕏");
        check("𝕏𝕏", 3, "𝕏…");
        check("abc", 0, "");
        check("", 3, "");
    }

    #[test]
    fn a_link_cannot_be_broken_out_of() {
        fn check(href: Option<&str>, expected: &str) {
            assert_eq!(link(href, "here"), expected);
        }
        check(Some("https://dlo.example/groups?a=1&b=2"), "<https://dlo.example/groups?a=1&amp;b=2|here>");
        check(Some("https://x/>|<!channel> é"), "<https://x/%3E%7C%3C!channel%3E%20%C3%A9|here>");
        check(Some("javascript:alert(1)"), "here");
        check(Some(&format!("https://x/{}", "a".repeat(490))), &format!("<https://x/{}|here>", "a".repeat(490)));
        check(Some(&format!("https://x/{}", "a".repeat(491))), "here");
        check(None, "here");
    }

    #[test]
    fn a_summary_mentions_nobody() {
        assert_eq!(summary("@here <!channel>"), "@\u{2060}here &lt;!channel&gt;");
    }
}
