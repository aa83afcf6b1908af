//! Time zones.

use std::fmt;

use amqp_message::time::Timestamp;
use jiff::{
    Timestamp as Instant,
    civil::DateTime,
    tz::{AmbiguousOffset, Offset, TimeZone},
};

/// A time zone of the IANA database.
#[derive(Clone, Debug, PartialEq)]
pub struct Zone(TimeZone);

impl Zone {
    /// Reads a name like `Europe/London`, in capitals or not. The rules are those of the system, so that a change of
    /// them needs no new version of this program; where the system has none, those built in.
    pub fn parse(name: &str) -> Result<Self, String> {
        let named = TimeZone::get(name).ok().filter(|zone| zone.iana_name().is_some());
        named.map(Self).ok_or_else(|| {
            let name: String = name.chars().take(100).collect();
            format!("{name:?} is no time zone; it takes a name of the IANA database like \"Europe/London\", or \"UTC\"")
        })
    }

    pub const fn utc() -> Self {
        Self(TimeZone::UTC)
    }

    pub fn name(&self) -> &str {
        self.0.iana_name().unwrap_or("UTC")
    }

    /// `Sat 21 Nov 2026, 09:00 GMT`: what the clock on the wall shows.
    pub fn show(&self, at: Timestamp) -> String {
        let nearest = if at.as_micros() < 0 { Instant::MIN } else { Instant::MAX };
        let at = to_jiff(at).unwrap_or(nearest);
        at.to_zoned(self.0.clone()).strftime("%a %-d %b %Y, %H:%M %Z").to_string()
    }

    pub(super) fn offset(&self, at: Instant) -> Offset {
        self.0.to_offset(at)
    }

    /// When the clock shows `face`, for the first time if it does so twice. Where it never does, the moment in which it
    /// is put forward past it.
    pub(super) fn first(&self, face: DateTime) -> Option<Instant> {
        match self.0.to_ambiguous_timestamp(face).offset() {
            AmbiguousOffset::Unambiguous { offset } => offset.to_timestamp(face).ok(),
            AmbiguousOffset::Fold { before, .. } => before.to_timestamp(face).ok(),
            // Read by the offset of afterwards, a time that is skipped lies before the change.
            AmbiguousOffset::Gap { after, .. } => self.next_change(after.to_timestamp(face).ok()?),
        }
    }

    /// When the rules change next after `at`.
    pub(super) fn next_change(&self, at: Instant) -> Option<Instant> {
        self.0.following(at).next().map(|change| change.timestamp())
    }

    /// When the rules in force at `at` began.
    pub(super) fn last_change(&self, at: Instant) -> Option<Instant> {
        let just_after = at.checked_add(jiff::SignedDuration::from_nanos(1)).unwrap_or(at);
        self.0.preceding(just_after).next().map(|change| change.timestamp())
    }
}

impl fmt::Display for Zone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// `None` outside the years of the calendar, -9999 to 9999.
pub(super) fn to_jiff(at: Timestamp) -> Option<Instant> {
    Instant::from_microsecond(at.as_micros()).ok()
}

pub(super) fn from_jiff(at: Instant) -> Timestamp {
    Timestamp::from_micros(at.as_microsecond())
}
