//! Texts and times as other systems take them.

use amqp_message::time::Timestamp;

use crate::domain::digest::line::{cut, overrides_direction, single_spaced};

/// `text` in one line of at most `limit` characters; an ellipsis, which counts, stands where something was cut.
///
/// What would break the line, or turn it around to read other than it is, becomes a space.
pub(super) fn one_line(text: &str, limit: usize) -> String {
    let chars = text.chars().map(|c| if overrides_direction(c) { ' ' } else { c });
    cut(single_spaced(chars), limit, |_| 1)
}

/// RFC 3339 in UTC. Our times reach further than the calendar, and RFC 3339 has years from 0 to 9999 only.
pub(super) fn rfc3339(at: Timestamp) -> String {
    let nearest = if at.as_micros() < 0 { jiff::Timestamp::UNIX_EPOCH } else { jiff::Timestamp::MAX };
    let time = jiff::Timestamp::from_microsecond(at.as_micros()).unwrap_or(nearest);
    time.max(jiff::Timestamp::UNIX_EPOCH).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_become_one_line() {
        fn check(text: &str, expected: &str) {
            assert_eq!(one_line(text, 100), expected, "{text:?}");
        }
        check("", "");
        check("  a\r\n\tb  ", "a b");
        check("a\u{202e}b\u{0}c", "a b c");
        check("\u{1b}[31mred", "[31mred");
        check("ünï 🦀", "ünï 🦀");
    }

    #[test]
    fn a_long_text_is_cut_between_characters() {
        fn check(text: &str, limit: usize, expected: &str) {
            assert_eq!(one_line(text, limit), expected, "{text:?} to {limit}");
        }
        check("äöü", 3, "äöü");
        check("äöü", 2, "ä…");
        check("äöü", 1, "…");
        check("äöü", 0, "");
        check("ab cd", 4, "ab…");
        check("ab cd", 3, "ab…");
        check("ab    ", 2, "ab");
        for limit in 0..12 {
            assert!(one_line("a 🦀 b 🦀🦀 c", limit).chars().count() <= limit, "{limit}");
        }
    }

    #[test]
    fn times_stay_within_the_calendar() {
        fn check(micros: i64, expected: &str) {
            assert_eq!(rfc3339(Timestamp::from_micros(micros)), expected);
        }
        check(1_795_255_440_000_000, "2026-11-21T10:04:00Z");
        check(1_795_255_440_250_000, "2026-11-21T10:04:00.25Z");
        check(-1, "1970-01-01T00:00:00Z");
        check(i64::MIN, "1970-01-01T00:00:00Z");
        assert!(rfc3339(Timestamp::MAX).starts_with("9999-12-3"));
    }
}
