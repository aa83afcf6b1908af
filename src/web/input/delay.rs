//! How long a retry waits, as people write it.

use std::time::Duration;

use amqp_message::time::Timestamp;
use jiff::{ToSpan, tz::TimeZone};

/// How long a retry waits: `now`, `tomorrow` (nine o'clock, UTC) or a duration.
///
/// # Errors
/// What it takes.
pub fn read(text: &str, now: Timestamp) -> Result<Duration, String> {
    /// A retry later than this is surely a slip.
    const LONGEST: Duration = Duration::from_secs(366 * 24 * 60 * 60);
    let delay = match text.trim() {
        // A variable that is unset is no order to send at once.
        "" => return Err("it is empty; leave it out to retry at once".to_owned()),
        "now" | "0" => Duration::ZERO,
        "tomorrow" => until_tomorrow(now),
        text => {
            humantime::parse_duration(text).map_err(|_| format!("{text:?} is no delay; it takes 30s, 10m, 2h or 7d"))?
        }
    };
    if delay > LONGEST { Err(format!("{text:?} is too far away; a delay is a year at most")) } else { Ok(delay) }
}

fn until_tomorrow(now: Timestamp) -> Duration {
    let nine_tomorrow = || {
        let now = jiff::Timestamp::from_microsecond(now.as_micros())?.to_zoned(TimeZone::UTC);
        now.checked_add(1.day())?.date().at(9, 0, 0, 0).to_zoned(TimeZone::UTC)
    };
    // Fails only at the end of the calendar.
    nine_tomorrow().map_or(Duration::ZERO, |at| Timestamp::from_micros(at.timestamp().as_microsecond()).since(now))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays() {
        // 21 Nov 2026, 10:04 UTC
        let now = Timestamp::from_micros(1_795_255_440_000_000);
        let check = |text, seconds| assert_eq!(read(text, now).ok().map(|delay| delay.as_secs()), seconds, "{text}");
        check("", None);
        check("now", Some(0));
        check("30s", Some(30));
        check("1h 30m", Some(5_400));
        check("tomorrow", Some(22 * 3_600 + 56 * 60));
        check("soon", None);
        check("-1s", None);
        check("400d", None);
    }
}
