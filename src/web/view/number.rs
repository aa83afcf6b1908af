//! Numbers for people.

use failure_conventions::FailureCount;

use crate::domain::filter::Counted;

pub use crate::domain::number::{plural, span, thousands};

/// `1 attempt`, `4 attempts`. A message can claim any number; nobody counts that far.
pub fn attempts(n: u64) -> String {
    const MOST: u64 = 999;
    match n {
        1 => "1 attempt".to_owned(),
        0..=MOST => format!("{n} attempts"),
        _ => format!("{MOST}+ attempts"),
    }
}

/// `4 attempts`; with the times that dlo saw it fail where its framework tries by itself as well: `4 attempts in 2 rounds`.
pub fn failures(count: FailureCount) -> String {
    let tries = attempts(count.attempts);
    match count.rounds {
        rounds if rounds == count.attempts || count.attempts <= 1 => tries,
        1 => format!("{tries} in 1 round"),
        rounds => format!("{tries} in {} rounds", thousands(rounds)),
    }
}

/// `1,284 dead letters`, `at least 10,000 dead letters`.
pub fn counted(count: Counted, noun: &str) -> String {
    let n = plural(count.n, noun);
    if count.is_least { format!("at least {n}") } else { n }
}

/// `812 bytes`, `1.2 KiB`, `64.0 MiB`.
pub fn bytes(n: u64) -> String {
    const UNITS: [&str; 4] = ["KiB", "MiB", "GiB", "TiB"];
    if n < 1024 {
        return plural(n, "byte");
    }
    let mut tenths = n.saturating_mul(10) / 1024;
    let mut unit = 0;
    while tenths >= 10_240 && unit + 1 < UNITS.len() {
        tenths /= 1024;
        unit += 1;
    }
    format!("{}.{} {}", thousands(tenths / 10), tenths % 10, UNITS[unit])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tries_and_rounds_are_apart_where_they_differ() {
        let check =
            |attempts, rounds, expected: &str| assert_eq!(failures(FailureCount { attempts, rounds }), expected);
        check(1, 1, "1 attempt");
        check(3, 3, "3 attempts");
        check(3, 1, "3 attempts in 1 round");
        check(6, 2, "6 attempts in 2 rounds");
    }

    #[test]
    fn bytes_in_the_unit_that_reads_best() {
        let check = |n, expected: &str| assert_eq!(bytes(n), expected);
        check(0, "0 bytes");
        check(1, "1 byte");
        check(1_023, "1,023 bytes");
        check(1_024, "1.0 KiB");
        check(1_300, "1.2 KiB");
        check(64 * 1024 * 1024, "64.0 MiB");
    }
}
