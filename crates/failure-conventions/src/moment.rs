//! Times as frameworks write them.

use amqp_message::time::Timestamp;

/// ISO 8601 with an offset, in whatever precision.
pub(super) fn iso(text: &str) -> Option<Timestamp> {
    let time: jiff::Timestamp = text.trim().parse().ok()?;
    Some(Timestamp::from_micros(time.as_microsecond()))
}

/// Milliseconds since the Unix epoch, in digits.
pub(super) fn unix_millis(text: &str) -> Option<Timestamp> {
    let time = jiff::Timestamp::from_millisecond(text.trim().parse().ok()?).ok()?;
    Some(Timestamp::from_micros(time.as_microsecond()))
}

/// As `format`, in the directives of `strftime`, has it.
pub(super) fn formatted(format: &str, text: &str) -> Option<Timestamp> {
    let time = jiff::fmt::strtime::parse(format, text.trim()).ok()?.to_timestamp().ok()?;
    Some(Timestamp::from_micros(time.as_microsecond()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_they_write() {
        let at = |micros| Some(Timestamp::from_micros(micros));
        assert_eq!(iso("2026-03-14T09:26:53.5897930Z"), at(1_773_480_413_589_793));
        assert_eq!(iso("2026-03-14T10:26:53+01:00"), at(1_773_480_413_000_000));
        assert_eq!(iso("2026-03-14T09:26:53"), None);
        assert_eq!(iso("soon"), None);
        assert_eq!(unix_millis("1773480413589"), at(1_773_480_413_589_000));
        assert_eq!(unix_millis("99999999999999999999"), None);
        assert_eq!(unix_millis(&i64::MAX.to_string()), None);
        assert_eq!(formatted("%m/%d/%Y %H:%M:%S %:z", "03/14/2026 09:26:53 +00:00"), at(1_773_480_413_000_000));
        assert_eq!(formatted("%m/%d/%Y %H:%M:%S %:z", "14.03.2026 09:26:53 +00:00"), None);
    }
}
