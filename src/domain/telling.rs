//! What lists show of a payload: a few fields that tell one message from another.

use serde::{Deserialize, Serialize};

/// Fields that are shown.
const SHOWN: usize = 3;
/// Fields that are looked at; what a schema or a sender puts first is mostly what matters.
pub const LOOKED_AT: usize = 64;
/// How deep a field may stand.
const DEEPEST: usize = 3;
/// Characters of a value.
const LONGEST: usize = 60;

/// A few fields of a payload, in their order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Telling {
    /// Stands for the schemas and mappings that the payload was read with: with others, other fields may be hidden.
    pub edition: i64,
    /// Paths without `payload.`, and values in one line.
    pub fields: Vec<(String, String)>,
}

impl Telling {
    /// Chooses among the values of a payload; `paths` begin with `payload.`. What comes twice is in a list, and there may be
    /// more of it.
    pub fn of<'a>(edition: i64, values: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let values: Vec<_> = values.into_iter().take(LOOKED_AT).collect();
        let is_one = |path: &str| values.iter().filter(|(other, _)| *other == path).count() == 1;
        let mut found: Vec<_> = values
            .iter()
            .enumerate()
            .filter_map(|(n, (path, value))| Some((rank(value)?, n, path.strip_prefix("payload.")?, *value)))
            .filter(|(_, n, path, _)| {
                path.split('.').count() <= DEEPEST && is_one(values[*n].0) && !is_of_envelope(path)
            })
            .collect();
        found.sort_unstable_by_key(|(rank, n, ..)| (*rank, *n));
        found.truncate(SHOWN);
        found.sort_unstable_by_key(|(_, n, ..)| *n);
        let shown = |(_, _, path, value): (u8, usize, &str, &str)| (path.to_owned(), one_line(value, LONGEST));
        Self { edition, fields: found.into_iter().map(shown).collect() }
    }
}

/// `$schema`, `#class`, `@type` and the like are of the form, not of what is said.
fn is_of_envelope(path: &str) -> bool {
    path.split('.').any(|name| name.is_empty() || name.starts_with(['$', '#', '@']))
}

/// How telling a value is, the most telling first; none that says nothing.
fn rank(value: &str) -> Option<u8> {
    let text = value.trim();
    match text {
        "" => None,
        "true" | "false" => Some(3),
        _ if text.parse::<f64>().is_ok() => Some(1),
        _ if is_id(text) || is_time(text) || text.contains("://") || text.chars().count() > LONGEST => Some(2),
        _ => Some(0),
    }
}

/// A long word of hexadecimal digits and the like.
fn is_id(text: &str) -> bool {
    text.len() >= 16 && text.chars().all(|c| c.is_ascii_hexdigit() || matches!(c, '-' | '{' | '}'))
}

/// `2026-11-22T12:00:00Z`
fn is_time(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.len() >= 10 && bytes[..4].iter().all(u8::is_ascii_digit) && bytes[4] == b'-' && bytes[7] == b'-'
}

/// A value in one line, of so many characters; no more of it is read than what is shown.
pub(crate) fn one_line(value: &str, longest: usize) -> String {
    let words = value.split_whitespace().enumerate();
    let mut line = words.flat_map(|(n, word)| (n > 0).then_some(' ').into_iter().chain(word.chars()));
    let mut shown: String = line.by_ref().take(longest).collect();
    shown.extend(line.next().map(|_| '…'));
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(values: &[(&str, &str)], expected: &[(&str, &str)]) {
        let fields = Telling::of(1, values.iter().copied()).fields;
        let expected: Vec<_> = expected.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect();
        assert_eq!(fields, expected);
    }

    #[test]
    fn words_come_before_numbers_and_those_before_ids() {
        let order = [
            ("payload.orderId", "4a685e5a-1265-41bc-b790-3dc8cb0a27a8"),
            ("payload.placedAt", "2026-11-22T12:00:00Z"),
            ("payload.customer.name", "Bláfell  Logistics\nehf."),
            ("payload.total.cents", "1842000"),
            ("payload.total.currency", "ISK"),
            ("payload.paid", "true"),
        ];
        check(
            &order,
            &[("customer.name", "Bláfell Logistics ehf."), ("total.cents", "1842000"), ("total.currency", "ISK")],
        );
        check(&order[..2], &[("orderId", order[0].1), ("placedAt", order[1].1)]);
    }

    #[test]
    fn what_says_little_is_left_out() {
        check(&[("payload.items.sku", "a"), ("payload.items.sku", "b")], &[]);
        check(&[("payload.@type", "x"), ("payload.a.b.c.d", "x"), ("payload.e", " "), ("payload", "x")], &[]);
        let long = "word ".repeat(40);
        let line = format!("{}…", long.trim().chars().take(LONGEST).collect::<String>());
        check(&[("payload.text", &long), ("payload.a", "1")], &[("text", &line), ("a", "1")]);
    }
}
