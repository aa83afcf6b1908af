//! Text that came in with a message, made harmless to the eye.

use std::borrow::Cow;

use crate::domain::digest::line::overrides_direction;

/// Shows what would otherwise be invisible or turn the line around: control characters as their pictures, the marks
/// that override the direction of writing as `‹U+202E›`. Line breaks and tabs stay.
///
/// Escaping for HTML is not done here; the templates do that to everything.
pub fn visible(text: &str) -> Cow<'_, str> {
    if !text.contains(is_hidden) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.chars().map(Shown).map(|shown| shown.to_string()).collect())
}

/// The same on one line, for names.
pub fn one_line(text: &str) -> String {
    visible(text).replace('\n', "␊").replace('\t', "␉")
}

/// The first `limit` characters, with an ellipsis where something was cut.
pub fn shortened(text: &str, limit: usize) -> String {
    match text.char_indices().nth(limit) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}

/// A name on one line, of at most so many characters.
pub fn name(text: &str, limit: usize) -> String {
    shortened(&one_line(text), limit)
}

/// As it stands at the beginning of a sentence.
pub fn capitalized(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// Where `text` has to be cut to take at most `limit` bytes.
pub fn floor_char(text: &str, limit: usize) -> usize {
    if limit >= text.len() { text.len() } else { text.floor_char_boundary(limit) }
}

pub fn is_hidden(c: char) -> bool {
    (c.is_control() && c != '\n' && c != '\t') || overrides_direction(c)
}

struct Shown(char);

impl std::fmt::Display for Shown {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        /// Pictures of the first 32 characters stand in their order.
        const PICTURES: u32 = 0x2400;
        match self.0 {
            c if !is_hidden(c) => write!(f, "{c}"),
            c if u32::from(c) < 32 => write!(f, "{}", char::from_u32(PICTURES + u32::from(c)).unwrap_or('␦')),
            '\u{7f}' => f.write_str("␡"),
            // Isolated, so that it reads the same amid text that runs the other way.
            c => write!(f, "\u{2066}‹U+{:04X}›\u{2069}", u32::from(c)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_characters_are_shown() {
        let check = |text, expected: &str| assert_eq!(visible(text), expected);
        check("plain ö text\n\tnext", "plain ö text\n\tnext");
        check("a\0b\u{1b}c\u{7f}", "a␀b␛c␡");
        check("user\u{202e}txt.exe", "user\u{2066}‹U+202E›\u{2069}txt.exe");
        check("\u{85}", "\u{2066}‹U+0085›\u{2069}");
        assert_eq!(one_line("a\nb"), "a␊b");
    }

    #[test]
    fn a_sentence_begins_with_a_capital() {
        let check = |text, expected: &str| assert_eq!(capitalized(text), expected);
        check("there is no queue orders", "There is no queue orders");
        check("NO_ROUTE", "NO_ROUTE");
        check("ähnlich", "Ähnlich");
        check("", "");
    }

    #[test]
    fn cuts_between_characters() {
        assert_eq!(shortened("äöü", 2), "äö…");
        assert_eq!(shortened("äöü", 3), "äöü");
        assert_eq!(floor_char("äöü", 3), 2);
        assert_eq!(floor_char("äöü", 99), 6);
    }
}
