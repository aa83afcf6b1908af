//! `Retry-After`: how long the other side asks us to wait.

use std::time::{Duration, UNIX_EPOCH};

use amqp_message::time::Timestamp;

/// Whoever asks for more is asked again after an hour: a mistaken answer must not silence a channel for days.
const LONGEST: Duration = Duration::from_secs(60 * 60);

/// Seconds or a date, as RFC 9110, 10.2.3 has it; `None` for anything else.
pub(super) fn parse(value: &str, now: Timestamp) -> Option<Duration> {
    let value = value.trim();
    let is_number = !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit());
    if is_number {
        // What does not even fit is a long time too.
        let wait = value.parse().map_or(LONGEST, Duration::from_secs);
        return Some(wait.min(LONGEST));
    }
    let since_epoch = httpdate::parse_http_date(value).ok()?.duration_since(UNIX_EPOCH).ok()?;
    Some(Timestamp::from_seconds(since_epoch.as_secs()).since(now).min(LONGEST))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sat, 21 Nov 2026 10:04:00 GMT.
    const NOW: Timestamp = Timestamp::from_micros(1_795_255_440_000_000);

    fn check(value: &str, expected: Option<u64>) {
        assert_eq!(parse(value, NOW), expected.map(Duration::from_secs), "{value:?}");
    }

    #[test]
    fn seconds_are_bounded() {
        check("0", Some(0));
        check(" 30 ", Some(30));
        check("3600", Some(3_600));
        check("86400", Some(3_600));
        check("99999999999999999999999999", Some(3_600));
    }

    #[test]
    fn dates_count_from_now_and_are_bounded() {
        check("Sat, 21 Nov 2026 10:05:00 GMT", Some(60));
        check("Saturday, 21-Nov-26 10:05:00 GMT", Some(60));
        check("Sat, 21 Nov 2026 10:03:00 GMT", Some(0));
        check("Thu, 31 Dec 2099 23:59:59 GMT", Some(3_600));
    }

    #[test]
    fn anything_else_asks_for_nothing() {
        check("", None);
        check("-5", None);
        check("+5", None);
        check("1.5", None);
        check("soon", None);
        check("٣", None);
    }
}
