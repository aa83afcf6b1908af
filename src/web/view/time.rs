//! Times for people: relative where one skims, absolute in UTC where one compares.

use std::time::Duration;

use amqp_message::time::Timestamp;
use jiff::tz::TimeZone;

const MINUTE: Duration = Duration::from_secs(60);

pub use crate::domain::number::span;

/// A point in time in all the ways a page shows it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Moment {
    /// RFC 3339, for machines.
    pub iso: String,
    /// `21 Nov 2026, 09:42:07 UTC`
    pub absolute: String,
    /// `6 min ago`, `in 4 min`, `now`
    pub relative: String,
    /// `6 min`
    pub short: String,
    /// Seconds since then; none for what is yet to come.
    pub age: Option<u64>,
    /// `09:42:07` on the day of looking, `21 Nov 09:42` in the same year, else with the year.
    pub compact: String,
}

impl Moment {
    pub fn new(at: Timestamp, now: Timestamp) -> Self {
        Self {
            iso: rfc3339(at),
            absolute: format(at, "%-d %b %Y, %H:%M:%S UTC"),
            relative: relative(at, now),
            age: (at <= now).then(|| now.since(at).as_secs()),
            short: span(now.since(at).max(at.since(now))),
            compact: compact(at, now),
        }
    }
}

/// RFC 3339 in UTC. What lies outside its years is shown as the last or first instant inside.
pub fn rfc3339(at: Timestamp) -> String {
    calendar(at).to_string()
}

/// RFC 3339 in UTC to the microsecond, as machines read it: always of the same length, so that texts compare as times do.
pub fn timestamp(at: Timestamp) -> String {
    calendar(at).strftime("%Y-%m-%dT%H:%M:%S%.6fZ").to_string()
}

/// In the letters of `strftime`, in UTC.
pub fn format(at: Timestamp, pattern: &str) -> String {
    calendar(at).to_zoned(TimeZone::UTC).strftime(pattern).to_string()
}

fn relative(at: Timestamp, now: Timestamp) -> String {
    let (past, future) = (now.since(at), at.since(now));
    if past < Duration::from_secs(1) && future < Duration::from_secs(1) {
        return "now".to_owned();
    }
    // What was set for 2 h is in 2 h for a minute, too.
    if future.is_zero() {
        format!("{} ago", span(past))
    } else {
        format!("in {}", span(future + (future / 60).min(MINUTE)))
    }
}

fn compact(at: Timestamp, now: Timestamp) -> String {
    let day = |time| format(time, "%Y-%m-%d");
    let year = |time| format(time, "%Y");
    if day(at) == day(now) {
        format(at, "%H:%M:%S")
    } else if year(at) == year(now) {
        format(at, "%-d %b %H:%M")
    } else {
        format(at, "%-d %b %Y")
    }
}

/// Our times reach further than the calendar's; a message may carry any number.
fn calendar(at: Timestamp) -> jiff::Timestamp {
    let nearest = if at.as_micros() < 0 { jiff::Timestamp::MIN } else { jiff::Timestamp::MAX };
    jiff::Timestamp::from_microsecond(at.as_micros()).unwrap_or(nearest)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_micros(1_795_255_440_000_000);

    fn ago(seconds: u64) -> Moment {
        Moment::new(NOW.minus(Duration::from_secs(seconds)), NOW)
    }

    #[test]
    fn says_how_long_ago_and_when() {
        assert_eq!(ago(0).relative, "now");
        assert_eq!(ago(41).relative, "41 s ago");
        assert_eq!(ago(7_200).short, "2 h");
        assert_eq!(ago(0).iso, "2026-11-21T10:04:00Z");
        assert_eq!(ago(0).absolute, "21 Nov 2026, 10:04:00 UTC");
        assert_eq!(Moment::new(NOW.plus(Duration::from_secs(240)), NOW).relative, "in 4 min");
        assert_eq!(Moment::new(NOW.plus(Duration::from_secs(7_199)), NOW).relative, "in 2 h");
    }

    #[test]
    fn compact_grows_with_distance() {
        assert_eq!(ago(60).compact, "10:03:00");
        assert_eq!(ago(86_400).compact, "20 Nov 10:04");
        assert_eq!(ago(400 * 86_400).compact, "17 Oct 2025");
    }

    #[test]
    fn stands_times_beyond_the_calendar() {
        assert!(Moment::new(Timestamp::MAX, NOW).iso.starts_with("9999-"));
        assert!(Moment::new(Timestamp::from_micros(i64::MIN), NOW).iso.starts_with("-009999-"));
    }
}
