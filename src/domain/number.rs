//! Numbers for people.

use std::time::Duration;

/// `1284` as `1,284`.
pub fn thousands(n: u64) -> String {
    let digits = n.to_string();
    let mut grouped = String::with_capacity(digits.len() + digits.len() / 3);
    for (position, digit) in digits.chars().enumerate() {
        if position > 0 && (digits.len() - position).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// `3 letters`, `1 letter`.
pub fn plural(n: u64, noun: &str) -> String {
    let ending = if n == 1 { "" } else { "s" };
    format!("{} {noun}{ending}", thousands(n))
}

/// `41 s`, `6 min`, `5 h`, `2 d`, `3 y`: the largest unit says enough.
pub fn span(length: Duration) -> String {
    let seconds = length.as_secs();
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3_600 => format!("{} min", seconds / 60),
        3_600..86_400 => format!("{} h", seconds / 3_600),
        86_400..63_072_000 => format!("{} d", seconds / 86_400),
        _ => format!("{} y", thousands(seconds / 31_536_000)),
    }
}

/// `1 min 40 s`, `1.5 s`, `250 ms`: a length of time to the last unit that matters.
pub fn exact(length: Duration) -> String {
    const UNITS: [(&str, u64); 4] = [("d", 86_400_000), ("h", 3_600_000), ("min", 60_000), ("s", 1_000)];
    let millis = u64::try_from(length.as_millis()).unwrap_or(u64::MAX);
    if millis < 1_000 {
        return if millis == 0 { "0 s".to_owned() } else { format!("{millis} ms") };
    }
    if millis < 10_000 && !millis.is_multiple_of(1_000) {
        return format!("{}.{} s", millis / 1_000, format!("{:03}", millis % 1_000).trim_end_matches('0'));
    }
    let mut rest = millis;
    let mut parts = Vec::new();
    for (unit, worth) in UNITS {
        let n = rest / worth;
        rest %= worth;
        if n > 0 {
            parts.push(format!("{n} {unit}"));
        }
    }
    parts.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_grouped() {
        let check = |n, expected: &str| assert_eq!(thousands(n), expected);
        check(0, "0");
        check(999, "999");
        check(1_000, "1,000");
        check(1_234_567, "1,234,567");
        check(u64::MAX, "18,446,744,073,709,551,615");
    }

    #[test]
    fn lengths_are_exact() {
        let check = |millis, expected: &str| assert_eq!(exact(Duration::from_millis(millis)), expected);
        check(0, "0 s");
        check(250, "250 ms");
        check(1_500, "1.5 s");
        check(2_250, "2.25 s");
        check(12_345, "12 s");
        check(100_000, "1 min 40 s");
        check(93_784_000, "1 d 2 h 3 min 4 s");
        check(2_592_000_000, "30 d");
    }
}
