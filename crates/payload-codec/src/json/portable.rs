//! JSON as every reader takes it.

use std::{borrow::Cow, sync::LazyLock};

use regex::Regex;

/// What ends or begins a text, a surrogate pair or half of one, any other escape, a number.
static TOKEN: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r#"(?s)"|\\u[dD][89aAbB]\w\w\\u[dD][c-fC-F]\w\w|\\u[dD][89a-fA-F]\w\w|\\.|-?[0-9][0-9.eE+-]*"#).ok()
});

/// The same value as far as readers can have it who know Unicode and numbers of 64 bits: in place of half a surrogate pair the
/// replacement character, and a number beyond them as text. `text` is JSON.
pub fn portable(text: &str) -> Cow<'_, str> {
    replaced(text, |number| !is_of_64_bits(number))
}

/// The same value as text of Unicode: in place of half a surrogate pair the replacement character. `text` is JSON.
pub fn in_unicode(text: &str) -> Cow<'_, str> {
    if text.contains("\\u") { replaced(text, |_| false) } else { Cow::Borrowed(text) }
}

/// Numbers that are `to_be_text` become text.
fn replaced(text: &str, to_be_text: impl Fn(&str) -> bool) -> Cow<'_, str> {
    let (mut changed, mut from, mut in_text) = (String::new(), 0, false);
    for token in TOKEN.iter().flat_map(|token| token.find_iter(text)) {
        let instead = match token.as_str() {
            "\"" => {
                in_text = !in_text;
                continue;
            }
            half if half.starts_with("\\u") && half.len() == HALF => Cow::Borrowed("\\ufffd"),
            number if !in_text && to_be_text(number) => Cow::Owned(format!("\"{number}\"")),
            _ => continue,
        };
        changed.push_str(text.get(from..token.start()).unwrap_or_default());
        changed.push_str(&instead);
        from = token.end();
    }
    if from == 0 { Cow::Borrowed(text) } else { Cow::Owned(changed + text.get(from..).unwrap_or_default()) }
}

/// Bytes of `\ud800`.
const HALF: usize = 6;

/// Whether readers that have no other numbers than these take it.
fn is_of_64_bits(number: &str) -> bool {
    let is_fraction = number.contains(['.', 'e', 'E']);
    let is_whole = || number.parse::<i64>().is_ok() || number.parse::<u64>().is_ok();
    if is_fraction { number.parse::<f64>().is_ok_and(f64::is_finite) } else { is_whole() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_reader_takes_is_replaced_and_all_else_stays() {
        for (text, expected) in [
            (r#"{"a": "\ud800"}"#, r#"{"a": "\ufffd"}"#),
            (
                r#"["x\uDFFFy", "\uD83D\ude00", "\ud83d\ud83d\ude00"]"#,
                r#"["x\ufffdy", "\uD83D\ude00", "\ufffd\ud83d\ude00"]"#,
            ),
            (
                r#"["\\ud800", "\\\ud800", "\"1e400\"", "1e400 \u0041"]"#,
                r#"["\\ud800", "\\\ufffd", "\"1e400\"", "1e400 \u0041"]"#,
            ),
            ("[1e400, -1e400, 1e308, -0.5E-400]", r#"["1e400", "-1e400", 1e308, -0.5E-400]"#),
            (
                "[18446744073709551615, 18446744073709551616, -9223372036854775808, -9223372036854775809]",
                r#"[18446744073709551615, "18446744073709551616", -9223372036854775808, "-9223372036854775809"]"#,
            ),
            ("{\"ä\": \"\u{1f600}\", \"n\": null}", "{\"ä\": \"\u{1f600}\", \"n\": null}"),
        ] {
            assert_eq!(portable(text), expected);
            serde_json::from_str::<serde_json::Value>(expected).unwrap();
        }
        assert_eq!(in_unicode(r#"["\ud800", 1e400]"#), r#"["\ufffd", 1e400]"#);
        assert_eq!(in_unicode("[1e400]"), "[1e400]");
    }
}
