//! Points in time and durations as rules write them, in microseconds.

/// An RFC 3339 timestamp.
pub(super) fn timestamp(text: &str) -> Option<i64> {
    text.parse::<jiff::Timestamp>().ok().map(jiff::Timestamp::as_microsecond)
}

/// Numbers with units, as in `1h30m`, `-1.5s` or `0`
/// (<https://github.com/google/cel-spec/blob/master/doc/langdef.md#timestamps-and-durations>); a day, which has no
/// place there, is `24h`.
pub(super) fn duration(text: &str) -> Option<i64> {
    let (sign, mut rest) = text.strip_prefix('-').map_or((1.0, text), |rest| (-1.0, rest));
    if rest == "0" {
        return Some(0);
    }
    let mut micros = 0.0;
    while !rest.is_empty() || micros == 0.0 && !text.contains('0') {
        let unit_at = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (number, behind) = rest.split_at(unit_at);
        let (scale, behind) = unit(behind)?;
        micros += number.parse::<f64>().ok()? * scale;
        rest = behind;
    }
    // Three hundred years, as CEL bounds them; far below where an `i64` of microseconds ends.
    (micros <= 315_576_000_000.0 * 1e6).then_some((sign * micros).round() as i64)
}

fn unit(text: &str) -> Option<(f64, &str)> {
    const UNITS: [(&str, f64); 7] =
        [("ms", 1e3), ("us", 1.0), ("µs", 1.0), ("ns", 1e-3), ("h", 3_600e6), ("m", 60e6), ("s", 1e6)];
    UNITS.iter().find_map(|(name, scale)| Some((*scale, text.strip_prefix(name)?)))
}

/// Midnight is 0.
pub(super) fn hour(micros: i64) -> i64 {
    micros.div_euclid(3_600_000_000).rem_euclid(24)
}

pub(super) fn minute(micros: i64) -> i64 {
    micros.div_euclid(60_000_000).rem_euclid(60)
}

/// Sunday is 0.
pub(super) fn day_of_week(micros: i64) -> i64 {
    // The epoch was a Thursday.
    (micros.div_euclid(86_400_000_000) + 4).rem_euclid(7)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_numbers_with_units() {
        fn check(text: &str, expected: Option<i64>) {
            assert_eq!(duration(text), expected, "{text:?}");
        }
        check("1h", Some(3_600_000_000));
        check("1h30m", Some(5_400_000_000));
        check("1.5s", Some(1_500_000));
        check("-2m", Some(-120_000_000));
        check("250ms", Some(250_000));
        check("3us", Some(3));
        check("0", Some(0));
        check("0s", Some(0));
        check("876000000h", None);
        for wrong in ["", "-", "1", "h", "1d", "1 h", "1h30", ".", "1..2s", "--1s", "1e3s", "NaNs", "infs", "s1"] {
            check(wrong, None);
        }
    }

    #[test]
    fn timestamps_are_rfc_3339() {
        fn check(text: &str, expected: Option<i64>) {
            assert_eq!(timestamp(text), expected, "{text:?}");
        }
        check("1970-01-01T00:00:01Z", Some(1_000_000));
        check("1970-01-01T01:00:00.5+01:00", Some(500_000));
        check("1970-01-01", None);
        check("1970-01-01T00:00:00", None);
        check("yesterday", None);
    }

    #[test]
    fn parts_are_right_before_the_epoch_too() {
        let check = |text: &str, parts: (i64, i64, i64)| {
            let micros = timestamp(text).unwrap();
            assert_eq!((day_of_week(micros), hour(micros), minute(micros)), parts, "{text}");
        };
        check("1970-01-01T00:00:00Z", (4, 0, 0));
        check("1969-12-31T23:59:59Z", (3, 23, 59));
        check("2026-11-22T08:05:00Z", (0, 8, 5));
    }
}
