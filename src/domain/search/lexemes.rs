//! Values of payloads and headers as words of the index.
//!
//! They stand in the same index as the words of the text, so that an index of its own for values, with a row for each of
//! some thirty fields of every letter, is not needed. Lexemes of a value are that its field is there, what it is, and of a
//! number its place among all numbers, in digits that sort as the numbers do: the first few, some more, and all. A
//! comparison is then some of the short ones, which the index has lists of, and at its ends beginnings of the long ones,
//! whose lists have to be merged before the first letter is found.

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
/// So many first digits of a number are a lexeme each time: six are sign and exponent, eight tell a 16th of what has these.
const LEVELS: [u32; 5] = [2, 4, 6, 8, ALL];
const ALL: u32 = u64::BITS / BITS;
/// Numbers that many letters may have.
const USUAL: [(f64, f64); 3] = [(-1e19, -1e-5), (0.0, 0.0), (1e-5, 1e19)];

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
pub(super) fn number(path: &str, value: f64) -> [String; LEVELS.len()] {
    let (name, key) = (name(path), key(value));
    LEVELS.map(|n| format!("=n{name}{}", digits(key >> rest(n), n)))
}

/// One of these there is where a field has such a number.
pub(super) fn compared(path: &str, comparison: Comparison, value: f64) -> Vec<Lexeme> {
    let (name, at) = (name(path), key(value));
    let (least, end) = (key(f64::MIN), key(f64::MAX) + 1);
    let (first, end) = match comparison {
        Comparison::Is => (at, at + 1),
        Comparison::Above => (at + 1, end),
        Comparison::AtLeast => (at, end),
        Comparison::Below => (least, at),
        Comparison::AtMost => (least, at + 1),
    };
    between(&LEVELS, &name, first, end)
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

/// Bits of a number behind its first digits.
const fn rest(digits: u32) -> u32 {
    u64::BITS - digits * BITS
}

/// The numbers from `first` up to `end`: whole runs by the fewest digits, what is left at both ends by more.
fn between(levels: &[u32], name: &str, first: u64, end: u64) -> Vec<Lexeme> {
    let Some((level, finer)) = levels.split_first().filter(|_| first < end) else { return Vec::new() };
    let run = 1 << rest(*level);
    let (first_run, end_run) = (first.div_ceil(run), end / run);
    if first_run >= end_run {
        return between(finer, name, first, end);
    }
    let mut found = between(finer, name, first, first_run * run);
    found.extend(runs(*level, name, first_run, end_run - 1));
    found.extend(between(finer, name, end_run * run, end));
    found
}

/// What numbers have whose first digits are from `first` to `last`: where many letters may have these, one by one.
fn runs(level: u32, name: &str, first: u64, last: u64) -> Vec<Lexeme> {
    let together = |first, last| beginnings(first, last, level).into_iter().map(|digits| lexeme(name, &digits));
    let (mut from, mut found) = (first, Vec::new());
    let alone = if level == ALL { None } else { Some(first..=last) };
    for alone in alone.into_iter().flatten().filter(|digits| is_usual(*digits, level)) {
        if from < alone {
            found.extend(together(from, alone - 1));
        }
        found.push(lexeme(name, &digits(alone, level)));
        from = alone + 1;
    }
    found.extend(together(from, last));
    found
}

/// Whether numbers that many letters may have begin with these digits.
fn is_usual(digits: u64, level: u32) -> bool {
    let least = digits << rest(level);
    let most = least | ((1 << rest(level)) - 1);
    USUAL.iter().any(|(first, last)| key(*first) <= most && least <= key(*last))
}

fn lexeme(name: &str, digits: &str) -> Lexeme {
    let text = format!("=n{name}{digits}");
    if LEVELS.iter().any(|level| digits.len() == *level as usize) { Lexeme::Whole(text) } else { Lexeme::Begun(text) }
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
    fn no_long_lists_are_merged() {
        let numbers = [0.0, 0.01, 1.0, 4711.0, 1.7e12, -0.01, -4711.0];
        let stored: Vec<String> = numbers.iter().flat_map(|value| number("payload.n", *value)).collect();
        let bounds = numbers.iter().flat_map(|than| [Comparison::AtLeast, Comparison::AtMost].map(|of| (of, *than)));
        for (comparison, than) in bounds {
            for lexeme in compared("payload.n", comparison, than) {
                let Lexeme::Begun(text) = lexeme else { continue };
                let merged = stored.iter().find(|stored| stored.starts_with(&text));
                let n_digits = text.len() - "=n".len() - name("payload.n").len();
                assert!(merged.is_none() || n_digits > 8, "{comparison:?} {than}: {text}");
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
