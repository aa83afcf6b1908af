//! Values of payloads and headers as words of the index.
//!
//! They stand in the same index as the words of the text, so that an index of its own for values, with a row for each of
//! some thirty fields of every letter, is not needed. A value has up to four lexemes: that its field is there, what it
//! is, and of a number its magnitude and its place among all numbers, in digits that sort as the numbers do. A comparison
//! is then a few beginnings of such digits.

use search_language::Comparison;
use xxhash_rust::xxh3::Xxh3;

/// A word of the index that no text can have.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Lexeme {
    Whole(String),
    /// Whatever begins so.
    Begun(String),
}

/// Bits of a digit. The more there are, the shorter a lexeme is, and the more of them a comparison needs.
const BITS: u32 = 2;
/// Digits of a number, and of its magnitude: sign and exponent.
const DIGITS: u32 = 64 / BITS;
const MAGNITUDE_DIGITS: u32 = 12 / BITS;
/// Bits behind the magnitude.
const REST: u32 = (DIGITS - MAGNITUDE_DIGITS) * BITS;

/// The field is there.
pub(super) fn presence(path: &str) -> String {
    format!("=p{}", name(path))
}

/// It has this value, whatever its case.
pub(super) fn equal(path: &str, value: &str) -> String {
    let mut hasher = Xxh3::new();
    hasher.update(path.to_lowercase().as_bytes());
    hasher.update(&[0xff]);
    hasher.update(value.to_lowercase().as_bytes());
    format!("=v{:016x}", hasher.digest())
}

/// It has this number.
pub(super) fn number(path: &str, value: f64) -> [String; 2] {
    let (name, key) = (name(path), key(value));
    [format!("=e{name}{}", digits(key >> REST, MAGNITUDE_DIGITS)), format!("=n{name}{}", digits(key, DIGITS))]
}

/// One of these there is where a field has such a number.
pub(super) fn compared(path: &str, comparison: Comparison, value: f64) -> Vec<Lexeme> {
    let (name, at) = (name(path), key(value));
    let (least, most) = (key(f64::MIN), key(f64::MAX));
    let range = match comparison {
        Comparison::Is => (at, at),
        Comparison::Above => (at.saturating_add(1), most),
        Comparison::AtLeast => (at, most),
        Comparison::Below => (least, at.saturating_sub(1)),
        Comparison::AtMost => (least, at),
    };
    between(&name, range.0, range.1)
}

/// The number that a text is, if it is one.
pub(super) fn as_number(text: &str) -> Option<f64> {
    let begins = |c: char| c.is_ascii_digit() || matches!(c, '-' | '+' | '.');
    let number: f64 = text.parse().ok().filter(|_| text.starts_with(begins))?;
    // Both zeros are one.
    number.is_finite().then_some(number + 0.0)
}

/// Paths are few; half of a hash tells them apart.
fn name(path: &str) -> String {
    let mut hasher = Xxh3::new();
    hasher.update(path.to_lowercase().as_bytes());
    format!("{:012x}", hasher.digest() >> 16)
}

/// Sorts as the numbers do.
const fn key(value: f64) -> u64 {
    let bits = value.to_bits();
    if bits >> 63 == 1 { !bits } else { bits | 1 << 63 }
}

/// The numbers from `first` to `last`: within their two magnitudes by their digits, between these by magnitude.
fn between(name: &str, first: u64, last: u64) -> Vec<Lexeme> {
    if first > last {
        return Vec::new();
    }
    let fine =
        |first, last| beginnings(first, last, DIGITS).into_iter().map(|digits| lexeme("=n", name, &digits, DIGITS));
    let (low, high) = (first >> REST, last >> REST);
    if low == high {
        return fine(first, last).collect();
    }
    let coarse = beginnings(low + 1, high - 1, MAGNITUDE_DIGITS);
    let coarse = coarse.into_iter().map(|digits| lexeme("=e", name, &digits, MAGNITUDE_DIGITS));
    fine(first, (low << REST) | (u64::MAX >> (64 - REST))).chain(coarse).chain(fine(high << REST, last)).collect()
}

fn lexeme(kind: &str, name: &str, digits: &str, all: u32) -> Lexeme {
    let text = format!("{kind}{name}{digits}");
    if digits.len() == all as usize { Lexeme::Whole(text) } else { Lexeme::Begun(text) }
}

/// The last so many digits of a number.
fn digits(number: u64, count: u32) -> String {
    let digit = |place: u32| number >> (place * BITS) & ((1 << BITS) - 1);
    (0..count).rev().map(|place| char::from(b'0' + digit(place) as u8)).collect()
}

/// What the numbers from `first` to `last` of so many digits begin with, the longest runs first taken together.
fn beginnings(first: u64, last: u64, digits: u32) -> Vec<String> {
    let (mut at, mut found) = (first, Vec::new());
    while at <= last {
        let fits = |free: &u32| {
            let run = (1_u64 << (free * BITS)) - 1;
            at & run == 0 && at.checked_add(run).is_some_and(|end| end <= last)
        };
        let free = (1..digits).rev().find(fits).unwrap_or(0);
        found.push(self::digits(at >> (free * BITS), digits - free));
        let Some(next) = at.checked_add(1 << (free * BITS)) else { break };
        at = next;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_found(value: f64, comparison: Comparison, than: f64) -> bool {
        let stored = number("payload.n", value);
        compared("payload.n", comparison, than).iter().any(|lexeme| match lexeme {
            Lexeme::Whole(text) => stored.contains(text),
            Lexeme::Begun(text) => stored.iter().any(|stored| stored.starts_with(text)),
        })
    }

    #[test]
    fn numbers_are_compared_by_their_digits() {
        let numbers = [
            -1e300, -4001.0, -4000.0, -0.5, 0.0, 1e-12, 0.1, 1.0, 3.5, 4.0, 3999.0, 4000.0, 4000.01, 4001.0, 1e18,
            1e300,
        ];
        for value in numbers {
            for than in numbers {
                let check = |comparison, expected| {
                    assert_eq!(is_found(value, comparison, than), expected, "{value} {comparison:?} {than}");
                };
                check(Comparison::Is, value == than);
                check(Comparison::Above, value > than);
                check(Comparison::AtLeast, value >= than);
                check(Comparison::Below, value < than);
                check(Comparison::AtMost, value <= than);
            }
        }
    }

    #[test]
    fn a_comparison_is_few_lexemes() {
        for than in [0.0, 4000.0, 2.345_678_901_234_567, -7.0, 1e300, f64::MAX, f64::MIN] {
            for comparison in [Comparison::Above, Comparison::AtLeast, Comparison::Below, Comparison::AtMost] {
                let n = compared("payload.n", comparison, than).len();
                assert!(n < 120, "{than} {comparison:?}: {n}");
            }
        }
    }

    #[test]
    fn only_numbers_are_numbers() {
        let check = |text: &str, expected: Option<f64>| assert_eq!(as_number(text), expected, "{text}");
        check("4000", Some(4000.0));
        check("-4.5e3", Some(-4500.0));
        check("-0", Some(0.0));
        check("inf", None);
        check("NaN", None);
        check("1e999", None);
        check("4 000", None);
        check("", None);
    }
}
