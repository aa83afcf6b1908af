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
}
