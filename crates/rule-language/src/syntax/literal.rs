//! What written numbers and texts stand for.

use std::ops::Range;

use crate::node::Literal;

/// The value of a number; `None` where 64 bits do not hold it.
pub(super) fn number(written: &str, is_negative: bool) -> Option<Literal> {
    if let Some(unsigned) = written.strip_suffix(['u', 'U']) {
        return u64::try_from(whole(unsigned)?).ok().map(|number| Literal::Int(number.into()));
    }
    if written.starts_with("0x") || written.bytes().all(|byte| byte.is_ascii_digit()) {
        let number = whole(written)?;
        return i64::try_from(if is_negative { -number } else { number })
            .ok()
            .map(|number| Literal::Int(number.into()));
    }
    let number: f64 = written.parse().ok().filter(|number: &f64| number.is_finite())?;
    Some(Literal::Double(if is_negative { -number } else { number }))
}

fn whole(digits: &str) -> Option<i128> {
    match digits.strip_prefix("0x") {
        Some(hex) => i128::from_str_radix(hex, 16).ok(),
        None => digits.parse().ok(),
    }
}

/// What a text in quotes stands for. As in CEL, every kind of line break in it is a line feed.
pub(super) fn text(written: &str) -> String {
    let raw = written.strip_prefix(['r', 'R']);
    let quoted = raw.unwrap_or(written);
    let n_quotes = if quoted.starts_with("'''") || quoted.starts_with("\"\"\"") { 3 } else { 1 };
    let inside = quoted.get(n_quotes..quoted.len().saturating_sub(n_quotes)).unwrap_or_default();
    let inside = inside.replace("\r\n", "\n").replace('\r', "\n");
    if raw.is_some() { inside } else { unescaped(&inside) }
}

fn unescaped(inside: &str) -> String {
    let mut text = String::with_capacity(inside.len());
    let mut rest = inside;
    while let Some((before, behind)) = rest.split_once('\\') {
        text.push_str(before);
        // The scanner lets nothing else pass.
        let (character, n_bytes) = escape(behind).unwrap_or((char::REPLACEMENT_CHARACTER, 0));
        text.push(character);
        rest = behind.get(n_bytes..).unwrap_or_default();
    }
    text + rest
}

/// The character that an escape stands for, and how many bytes of `behind`, which follows the backslash, belong to it.
pub(super) fn escape(behind: &str) -> Option<(char, usize)> {
    let coded = |digits: Range<usize>, radix| {
        let n_bytes = digits.end;
        let digits = behind.get(digits).filter(|digits| digits.chars().all(|digit| digit.is_digit(radix)))?;
        Some((char::from_u32(u32::from_str_radix(digits, radix).ok()?)?, n_bytes))
    };
    let character = match behind.chars().next()? {
        'x' | 'X' => return coded(1..3, 16),
        'u' => return coded(1..5, 16),
        'U' => return coded(1..9, 16),
        '0'..='3' => return coded(0..3, 8),
        'a' => '\u{7}',
        'b' => '\u{8}',
        'f' => '\u{c}',
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        'v' => '\u{b}',
        itself @ ('"' | '\'' | '`' | '\\' | '?') => itself,
        _ => return None,
    };
    Some((character, 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_64_bits() {
        fn check(written: &str, is_negative: bool, expected: Option<Literal>) {
            assert_eq!(number(written, is_negative), expected, "{written} {is_negative}");
        }
        check("0", true, Some(Literal::Int(0)));
        check("9223372036854775807", false, Some(Literal::Int(i64::MAX.into())));
        check("9223372036854775808", false, None);
        check("9223372036854775808", true, Some(Literal::Int(i64::MIN.into())));
        check("9223372036854775809", true, None);
        check("18446744073709551615u", false, Some(Literal::Int(u64::MAX.into())));
        check("18446744073709551616u", false, None);
        check("0x1F", false, Some(Literal::Int(31)));
        check("0x8000000000000000", true, Some(Literal::Int(i64::MIN.into())));
        check("0xffffffffffffffffU", false, Some(Literal::Int(u64::MAX.into())));
        check("1.5", true, Some(Literal::Double(-1.5)));
        check(".5", false, Some(Literal::Double(0.5)));
        check("1e3", false, Some(Literal::Double(1_000.0)));
        check("1e400", false, None);
        check(&"9".repeat(3_000), false, None);
    }

    #[test]
    fn texts_are_unescaped() {
        fn check(written: &str, expected: &str) {
            assert_eq!(text(written), expected, "{written}");
        }
        check("''", "");
        check("''''''", "");
        check("'a\"b'", "a\"b");
        check("'''a'b\r\nc\rd'''", "a'b\nc\nd");
        check("\"\"\"\"a\"\"\"", "\"a");
        check(r"R'\d\'", r"\d\");
        check(r"'\a\b\f\n\r\t\v\\\'\`\?'", "\u{7}\u{8}\u{c}\n\r\t\u{b}\\'`?");
        check(r"'\x41\X5a\101é\u00e9\U0001f600'", "AZAéé😀");
    }

    #[test]
    fn escapes_are_whole_characters() {
        for wrong in ["", "d", "x4", "xg1", "u12", "ud800", "U00110000", "400", "18", "19", "é", "x4é", "u+123"] {
            assert_eq!(escape(wrong), None, "{wrong:?}");
        }
    }
}
