//! Hours in which nobody wants to be called.

use amqp_message::time::Timestamp;
use jiff::{
    Timestamp as Instant, ToSpan,
    civil::{Date, Time, Weekday},
};

use super::zone::{Zone, from_jiff, to_jiff};

/// The same hours of some or all days of the week.
///
/// They begin and end when the clock first shows the time. Where it never does, because it was put forward past it, they
/// do in that moment.
#[derive(Clone, Debug, PartialEq)]
pub struct QuietHours {
    from: Time,
    to: Time,
    zone: Zone,
    /// The days on which they begin.
    days: Vec<Weekday>,
}

const DAYS: [&str; 7] = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];
/// More of them in a row than a week has days would be no hours but for ever.
const LONGEST_ROW: usize = 8;

impl QuietHours {
    /// `from` and `to` are times of the day like `22:00`; `to` may be `24:00`. Where `to` is not later than `from`, they
    /// last over midnight. `days` are those on which they begin, like `MON`, `saturday` or `FRI-SUN`; none means every
    /// day. `zone` is a name of the IANA time zone database.
    ///
    /// # Errors
    /// Says what is wrong and what it takes.
    pub fn parse(from: &str, to: &str, zone: &str, days: &[String]) -> Result<Self, String> {
        let quiet = Self {
            from: read_time(from).map_err(|why| format!("from: {why}"))?,
            to: match to.trim() {
                "24:00" => Time::midnight(),
                to => read_time(to).map_err(|why| format!("to: {why}"))?,
            },
            zone: Zone::parse(zone)?,
            days: read_days(days)?,
        };
        let whole_days = quiet.from == Time::midnight() && to.trim() == "24:00";
        if quiet.from == quiet.to && !whole_days {
            return Err(format!(
                "quiet hours from {from} to {to} have no length; for whole days, it takes 00:00 to 24:00"
            ));
        }
        if whole_days && every_day().all(|day| quiet.days.contains(&day)) {
            return Err("quiet hours from 00:00 to 24:00 on every day never end; leave out a day".to_owned());
        }
        Ok(quiet)
    }

    /// When it stops being quiet, if it is quiet at `at`. Hours that begin where others end are one time of quiet.
    pub fn end_if_quiet(&self, at: Timestamp) -> Option<Timestamp> {
        let mut now = to_jiff(at)?;
        let mut end = None;
        for _ in 0..LONGEST_ROW {
            let Some(later) = self.end_of_hours(now) else { break };
            now = later;
            end = Some(from_jiff(later));
        }
        end
    }

    /// The end of the hours that `now` lies in.
    fn end_of_hours(&self, now: Instant) -> Option<Instant> {
        let today = self.zone.offset(now).to_datetime(now).date();
        // Those of yesterday may last until today. One day more on either side, as a clock can be put back over midnight.
        (-2..=1)
            .filter_map(|days| self.hours_of(today.checked_add(days.days()).ok()?))
            .filter(|(begin, end)| *begin <= now && now < *end)
            .map(|(_, end)| end)
            .max()
    }

    /// Those that begin on `day`.
    fn hours_of(&self, day: Date) -> Option<(Instant, Instant)> {
        if !self.days.contains(&day.weekday()) {
            return None;
        }
        let last_day = if self.to <= self.from { day.checked_add(1.day()).ok()? } else { day };
        Some((self.zone.first(day.to_datetime(self.from))?, self.zone.first(last_day.to_datetime(self.to))?))
    }
}

fn read_time(text: &str) -> Result<Time, String> {
    Time::strptime("%H:%M", text.trim()).map_err(|_| format!("{text:?} is no time of the day; it takes one like 22:00"))
}

fn every_day() -> impl Iterator<Item = Weekday> {
    Weekday::Monday.cycle_forward().take(DAYS.len())
}

fn read_days(days: &[String]) -> Result<Vec<Weekday>, String> {
    if days.is_empty() {
        return Ok(every_day().collect());
    }
    let mut chosen = Vec::new();
    for text in days {
        let (first, last) = text.split_once('-').unwrap_or((text, text));
        let (first, last) = (read_day(first)?, read_day(last)?);
        chosen.extend(first.cycle_forward().take_while(|day| *day != last));
        chosen.push(last);
    }
    Ok(chosen)
}

fn read_day(text: &str) -> Result<Weekday, String> {
    let wanted = text.trim().to_lowercase();
    let mut named = DAYS.into_iter().zip(every_day());
    let found = named.find(|(name, _)| *name == wanted || (wanted.len() == 3 && name.starts_with(&wanted)));
    found.map(|(_, day)| day).ok_or_else(|| {
        format!("{text:?} is no day of the week; it takes MON, TUE, WED, THU, FRI, SAT, SUN or a range like MON-FRI")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        from_jiff(text.parse().unwrap())
    }

    fn quiet(from: &str, to: &str, zone: &str, days: &[&str]) -> Result<QuietHours, String> {
        QuietHours::parse(from, to, zone, &days.iter().map(|day| (*day).to_owned()).collect::<Vec<_>>())
    }

    fn check(quiet: &QuietHours, now: &str, expected: Option<&str>) {
        assert_eq!(quiet.end_if_quiet(at(now)), expected.map(at), "at {now}");
    }

    #[test]
    fn over_midnight() {
        let nights = quiet("22:00", "07:00", "Europe/Paris", &[]).unwrap();
        check(&nights, "2026-11-21T20:59:59.999999Z", None);
        check(&nights, "2026-11-21T21:00:00Z", Some("2026-11-22T06:00:00Z"));
        check(&nights, "2026-11-21T23:00:00Z", Some("2026-11-22T06:00:00Z"));
        check(&nights, "2026-11-22T05:59:59Z", Some("2026-11-22T06:00:00Z"));
        check(&nights, "2026-11-22T06:00:00Z", None);
    }

    #[test]
    fn within_a_day() {
        let lunch = quiet("12:00", "13:30", "UTC", &["MON-FRI"]).unwrap();
        check(&lunch, "2026-11-20T12:00:00Z", Some("2026-11-20T13:30:00Z"));
        check(&lunch, "2026-11-20T13:30:00Z", None);
        check(&lunch, "2026-11-21T12:30:00Z", None);
    }

    #[test]
    fn the_day_is_the_one_on_which_they_begin() {
        // 20 November 2026 is a Friday.
        let fridays = quiet("22:00", "07:00", "UTC", &["fri"]).unwrap();
        check(&fridays, "2026-11-20T06:00:00Z", None);
        check(&fridays, "2026-11-20T22:00:00Z", Some("2026-11-21T07:00:00Z"));
        check(&fridays, "2026-11-21T06:00:00Z", Some("2026-11-21T07:00:00Z"));
        check(&fridays, "2026-11-21T22:00:00Z", None);
    }

    #[test]
    fn whole_days_in_a_row_are_one_time() {
        let weekend = quiet("00:00", "24:00", "Europe/London", &["Saturday", "sun"]).unwrap();
        check(&weekend, "2026-11-20T23:59:59Z", None);
        check(&weekend, "2026-11-21T00:00:00Z", Some("2026-11-23T00:00:00Z"));
        check(&weekend, "2026-11-22T12:00:00Z", Some("2026-11-23T00:00:00Z"));
        check(&weekend, "2026-11-23T00:00:00Z", None);
        let all_but_wednesday = quiet("00:00", "24:00", "UTC", &["THU-TUE"]).unwrap();
        check(&all_but_wednesday, "2026-11-19T01:00:00Z", Some("2026-11-25T00:00:00Z"));
        check(&all_but_wednesday, "2026-11-25T01:00:00Z", None);
    }

    #[test]
    fn nights_on_which_the_clock_is_changed() {
        let nights = quiet("22:00", "07:00", "Europe/London", &[]).unwrap();
        check(&nights, "2026-03-28T23:00:00Z", Some("2026-03-29T06:00:00Z"));
        check(&nights, "2026-10-24T22:00:00Z", Some("2026-10-25T07:00:00Z"));
        // 01:30 is skipped in March and comes twice in October.
        let until = quiet("22:00", "01:30", "Europe/London", &[]).unwrap();
        check(&until, "2026-03-28T23:00:00Z", Some("2026-03-29T01:00:00Z"));
        check(&until, "2026-10-24T22:00:00Z", Some("2026-10-25T00:30:00Z"));
        check(&until, "2026-10-25T01:10:00Z", None);
        let from = quiet("01:30", "05:00", "Europe/London", &[]).unwrap();
        check(&from, "2026-03-29T00:59:59Z", None);
        check(&from, "2026-03-29T01:00:00Z", Some("2026-03-29T04:00:00Z"));
        check(&from, "2026-10-25T00:29:59Z", None);
        check(&from, "2026-10-25T01:10:00Z", Some("2026-10-25T05:00:00Z"));
        // São Paulo's clock went from midnight back to 23:00 on 17 February 2018.
        let evening = quiet("22:00", "24:00", "America/Sao_Paulo", &[]).unwrap();
        check(&evening, "2018-02-18T00:30:00Z", Some("2018-02-18T03:00:00Z"));
        check(&evening, "2018-02-18T02:30:00Z", Some("2018-02-18T03:00:00Z"));
    }

    #[test]
    fn what_cannot_be_meant_is_refused() {
        let check = |from, to, days: &[&str], part: &str| {
            let why = quiet(from, to, "UTC", days).unwrap_err();
            assert!(why.contains(part), "{why}");
        };
        check("22", "07:00", &[], "22:00");
        check("25:00", "07:00", &[], "25:00");
        check("22:00", "7 o'clock", &[], "7 o'clock");
        check("22:00", "22:00", &[], "no length");
        check("00:00", "00:00", &[], "24:00");
        check("00:00", "24:00", &[], "never end");
        check("00:00", "24:00", &["MON-SUN"], "never end");
        check("22:00", "07:00", &["mo"], "no day");
        check("22:00", "07:00", &[""], "no day");
        check("22:00", "07:00", &["MON-"], "no day");
        assert!(quiet("22:00", "07:00", "Moon", &[]).unwrap_err().contains("no time zone"));
    }

    #[test]
    fn the_ends_of_time_are_survived() {
        let nights = quiet("22:00", "07:00", "Europe/London", &[]).unwrap();
        for now in [i64::MIN, i64::MAX, 253_402_207_199_999_999, -377_705_023_201_000_000] {
            nights.end_if_quiet(Timestamp::from_micros(now));
        }
    }
}
