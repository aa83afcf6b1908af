//! Numbers for people.

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
