//! Points in time as people write them, in addresses and searches.

use std::{fmt, str::FromStr, time::Duration};

use amqp_message::time::Timestamp;
use jiff::{civil::DateTime, tz::TimeZone};

/// A point in time as people write it: a date, or how long ago.
#[derive(Clone, Debug, PartialEq)]
pub enum When {
    At(Timestamp),
    Ago { length: Duration, text: String },
}

impl When {
    /// What is written so is nearly always a time, for those who make values from a description.
    pub const PATTERN: &str =
        r"^([0-9]{4}-[0-9]{2}-[0-9]{2}([T ][0-9:.]{5,18}([zZ]|[+-][0-9]{2}:?[0-9]{2})?)?|([0-9]+ *[a-z]+ *)+)$";

    pub fn resolve(&self, now: Timestamp) -> Timestamp {
        match self {
            Self::At(at) => *at,
            Self::Ago { length, .. } => now.minus(*length),
        }
    }
}

impl FromStr for When {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        // A number without a unit says nothing.
        let has_unit = text.contains(|c: char| c.is_ascii_alphabetic());
        if let Ok(length) = humantime::parse_duration(text)
            && has_unit
        {
            return Ok(Self::Ago { length, text: text.to_owned() });
        }
        let zoned = text.parse::<jiff::Timestamp>();
        // What the date fields of a browser send has no zone; all our times are UTC.
        let local =
            || text.parse::<DateTime>().and_then(|local| local.to_zoned(TimeZone::UTC)).map(|at| at.timestamp());
        let at = zoned.or_else(|_| local()).map_err(|_| {
            format!("{text:?} is no time; it takes 2026-11-21T10:00:00Z, or how long ago as 30m, 24h, 7d")
        })?;
        Ok(Self::At(Timestamp::from_micros(at.as_microsecond())))
    }
}

impl fmt::Display for When {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // It was read as such a time.
            Self::At(at) => jiff::Timestamp::from_microsecond(at.as_micros()).unwrap_or_default().fmt(f),
            Self::Ago { text, .. } => f.write_str(text),
        }
    }
}
