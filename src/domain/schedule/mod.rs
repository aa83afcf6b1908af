//! When something is due: cron with time zones, and the hours in which nobody wants to be called.
//!
//! # The two nights on which the clock is changed
//! As cron(8) does it (Vixie's, the one of Debian), and as people expect it:
//! - A schedule of times of the day ("at 02:30", "at 01:00 and 02:00") runs once on either night. Where the clock skips
//!   the time, it runs in the moment the skipped hour ends; where the clock shows the time twice, it runs the first
//!   time. Several times in one skipped hour are one run.
//! - A schedule with a `*` in its minutes or hours (`*/15 * * * *`) runs by elapsed time. It runs whenever the clock
//!   shows a time that matches: in both halves of a repeated hour, and not at all in a skipped one.
//!
//! This module knows calendars and zones. It has no clock of its own, and never learns what is due. The only files it
//! reads are those of the system's time zone database, when a zone is looked up by its name; where the system has none,
//! the one that is built in is used.

mod quiet_hours;
mod slots;
mod zone;

#[cfg(test)]
mod tests;

use std::{fmt, ops::RangeInclusive};

use amqp_message::time::Timestamp;
use croner::{
    Cron,
    parser::{CronParser, Seconds, Year},
};
use jiff::{
    Timestamp as Instant,
    civil::{DateTime, date},
    tz::Offset,
};

pub use self::{quiet_hours::QuietHours, zone::Zone};

/// When something recurs: a cron expression in a time zone.
#[derive(Clone, Debug, PartialEq)]
pub struct Schedule {
    cron: Cron,
    zone: Zone,
}

/// What a schedule looks like, for an error's text.
const TAKES: &str =
    "it takes five fields (minute, hour, day of the month, month, day of the week) like \"0 9 * * MON-FRI\"";
/// No schedule that people write is longer; the field of minutes with all sixty listed has 169 characters.
const LONGEST: usize = 512;
/// Where the search for the first time begins that a schedule names at all.
const ANY_DAY: DateTime = date(2000, 1, 1).at(0, 0, 0, 0);
/// The years that the search knows.
const YEARS: RangeInclusive<i16> = 1..=4_999;

impl Schedule {
    /// Five fields as in crontab(5): numbers, `*`, ranges, steps, lists and names (`MON-FRI`). Beyond those, `L` is the
    /// last day of the month, `15W` the working day nearest to the 15th, `MON#2` the second Monday, `FRI#L` the last
    /// Friday. A sixth field in front is seconds. `@hourly`, `@daily`, `@weekly`, `@monthly` and `@yearly` do too.
    /// Where both the day of the month and the day of the week are restricted, either will do.
    ///
    /// `zone` is a name of the IANA time zone database.
    ///
    /// # Errors
    /// Says what is wrong and what it takes. A date that never comes (`0 0 30 2 *`) is an error.
    pub fn parse(cron: &str, zone: &str) -> Result<Self, String> {
        let zone = Zone::parse(zone)?;
        if cron.len() > LONGEST || !cron.is_ascii() {
            return Err(format!("a schedule is up to {LONGEST} letters, digits and signs; {TAKES}"));
        }
        let parser = CronParser::builder().seconds(Seconds::Optional).year(Year::Disallowed).build();
        let fields = cron.split_whitespace().count();
        if !matches!(fields, 5 | 6) && !cron.trim_start().starts_with('@') {
            return Err(format!("{cron:?} has {fields} of the fields of a schedule; {TAKES}"));
        }
        let parsed = parser.parse(cron).map_err(|why| {
            let why = why.to_string();
            format!("{cron:?} is no schedule ({}); {TAKES}", why.trim_end_matches('.'))
        })?;
        parsed
            .find_next_occurrence(&ANY_DAY, true)
            .map_err(|_| format!("{cron:?} never comes: no year has such a day; {TAKES}"))?;
        let schedule = Self { cron: parsed, zone };
        let any_day = Offset::UTC.to_timestamp(ANY_DAY).map(zone::from_jiff).unwrap_or_default();
        if schedule.next_after(any_day).is_none() {
            return Err(format!(
                "{cron:?} never comes in {}: its clock skips that hour whenever it would; name another",
                schedule.zone
            ));
        }
        Ok(schedule)
    }

    /// The first time later than `at`; `None` outside the years 1 to 4999, and for a schedule that runs by elapsed time
    /// and whose every time has been skipped since the zone changed its rules.
    pub fn next_after(&self, at: Timestamp) -> Option<Timestamp> {
        let at = within_calendar(at)?;
        let next = if self.runs_by_elapsed_time() { self.next_elapsed(at) } else { self.next_of_day(at) };
        next.map(zone::from_jiff)
    }

    /// The last time that is not later than `at`: what was due when nobody was there to see to it.
    pub fn last_at_or_before(&self, at: Timestamp) -> Option<Timestamp> {
        let at = within_calendar(at)?;
        let last = if self.runs_by_elapsed_time() { self.last_elapsed(at) } else { self.last_of_day(at) };
        last.map(zone::from_jiff)
    }

    pub fn zone(&self) -> &Zone {
        &self.zone
    }

    /// In words: `At 09:00, on Monday and Friday, Europe/London`.
    pub fn describe(&self) -> String {
        let times = self.cron.describe();
        // "At every 5 minutes" is not English.
        let times = times.strip_prefix("At every ").map_or(times.clone(), |rest| format!("Every {rest}"));
        format!("{}, {}", times.trim_end_matches('.'), self.zone)
    }

    /// Whether a `*` stands in its minutes or hours; see the top of this module.
    fn runs_by_elapsed_time(&self) -> bool {
        self.cron.pattern.minutes.from_wildcard || self.cron.pattern.hours.from_wildcard
    }
}

fn within_calendar(at: Timestamp) -> Option<Instant> {
    zone::to_jiff(at).filter(|at| YEARS.contains(&Offset::UTC.to_datetime(*at).year()))
}

/// As it was read: in capitals, and a name like `@daily` as its five fields.
impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.cron.pattern.as_str(), self.zone)
    }
}
