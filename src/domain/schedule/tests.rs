use std::time::Duration;

use jiff::{Timestamp as JiffTimestamp, civil::DateTime, tz::TimeZone};

use super::*;

fn at(text: &str) -> Timestamp {
    zone::from_jiff(text.parse::<JiffTimestamp>().unwrap())
}

fn shown(at: Option<Timestamp>) -> String {
    at.map_or("never".to_owned(), |at| zone::to_jiff(at).unwrap().to_string())
}

fn schedule(cron: &str, zone: &str) -> Schedule {
    Schedule::parse(cron, zone).unwrap()
}

/// The times after `from`, as they follow one another.
fn check_run(cron: &str, zone: &str, from: &str, expected: &[&str]) {
    let schedule = schedule(cron, zone);
    let mut found = Vec::new();
    let mut now = at(from);
    for _ in expected {
        now = schedule.next_after(now).unwrap();
        found.push(shown(Some(now)));
        assert_eq!(schedule.last_at_or_before(now), Some(now), "{cron} at {}", shown(Some(now)));
    }
    assert_eq!(found, expected, "{cron} in {zone}");
}

#[test]
fn weekdays_at_nine() {
    // 20 November 2026 is a Friday.
    let weekdays = ["2026-11-20T09:00:00Z", "2026-11-23T09:00:00Z", "2026-11-24T09:00:00Z"];
    check_run("0 9 * * MON-FRI", "Europe/London", "2026-11-20T08:59:59Z", &weekdays);
    check_run("0 9 * * mon-fri", "europe/london", "2026-11-19T09:00:00Z", &weekdays);
    check_run("0 9 * * 1-5", "UTC", "2026-11-20T08:59:59.999999Z", &weekdays);
    check_run("0 9 * * MON-FRI", "Asia/Kolkata", "2026-11-20T08:59:59Z", &["2026-11-23T03:30:00Z"]);
}

#[test]
fn the_signs_of_crontab_do() {
    let check = |cron, expected: &str| check_run(cron, "UTC", "2026-11-20T08:59:59Z", &[expected]);
    check("*/20 * * * *", "2026-11-20T09:00:00Z");
    check("5,35 10-12/2 * * *", "2026-11-20T10:05:00Z");
    check("0 0 1 JAN *", "2027-01-01T00:00:00Z");
    check("0 0 * * 7", "2026-11-22T00:00:00Z");
    check("0 0 L * *", "2026-11-30T00:00:00Z");
    check("0 0 15W * *", "2026-12-15T00:00:00Z");
    check("0 0 * * TUE#2", "2026-12-08T00:00:00Z");
    check("0 0 * * FRI#L", "2026-11-27T00:00:00Z");
    check("0 0 29 2 *", "2028-02-29T00:00:00Z");
    check("0 0 13 * FRI", "2026-11-27T00:00:00Z");
    check("@daily", "2026-11-21T00:00:00Z");
    check(" 10 0 9 * * * ", "2026-11-20T09:00:10Z");
}

#[test]
fn a_skipped_time_runs_once_when_the_skipped_hour_ends() {
    // London's clock goes from 01:00 to 02:00 on 29 March 2026, at 01:00 UTC.
    let night = "2026-03-28T12:00:00Z";
    let zone = "Europe/London";
    check_run("30 1 * * *", zone, night, &["2026-03-29T01:00:00Z", "2026-03-30T00:30:00Z"]);
    check_run("0 1 * * *", zone, night, &["2026-03-29T01:00:00Z", "2026-03-30T00:00:00Z"]);
    check_run("10,50 1 * * *", zone, night, &["2026-03-29T01:00:00Z", "2026-03-30T00:10:00Z"]);
    check_run("0 1,2 * * *", zone, night, &["2026-03-29T01:00:00Z", "2026-03-30T00:00:00Z"]);
    check_run("0 0 * * *", zone, night, &["2026-03-29T00:00:00Z", "2026-03-29T23:00:00Z"]);
    check_run("0 9 * * *", zone, night, &["2026-03-29T08:00:00Z", "2026-03-30T08:00:00Z"]);
    // Samoa went without the whole of 30 December 2011.
    check_run("0 9 * * *", "Pacific/Apia", "2011-12-29T20:00:00Z", &["2011-12-30T10:00:00Z", "2011-12-30T19:00:00Z"]);
}

#[test]
fn a_repeated_time_runs_once() {
    // London's clock goes from 02:00 back to 01:00 on 25 October 2026, at 01:00 UTC.
    let night = "2026-10-24T12:00:00Z";
    let zone = "Europe/London";
    check_run("30 1 * * *", zone, night, &["2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"]);
    check_run("0,30 1 * * *", zone, night, &["2026-10-25T00:00:00Z", "2026-10-25T00:30:00Z", "2026-10-26T01:00:00Z"]);
    check_run("0 1,2 * * *", zone, night, &["2026-10-25T00:00:00Z", "2026-10-25T02:00:00Z", "2026-10-26T01:00:00Z"]);
    let schedule = schedule("30 1 * * *", zone);
    assert_eq!(shown(schedule.last_at_or_before(at("2026-10-25T01:10:00Z"))), "2026-10-25T00:30:00Z");
}

#[test]
fn a_wildcard_runs_by_elapsed_time_through_both_nights() {
    let quarters = |hour: u8| [0, 15, 30, 45].map(|minute| format!("{hour:02}:{minute:02}:00Z"));
    for (cron, day) in [("*/15 * * * *", "2026-03-29T"), ("*/15 * * * *", "2026-10-25T")] {
        let times: Vec<String> = (0..4).flat_map(quarters).map(|time| format!("{day}{time}")).collect();
        let times: Vec<&str> = times.iter().map(String::as_str).collect();
        check_run(
            cron,
            "Europe/London",
            &format!("{}T23:59:00Z", if day < "2026-04" { "2026-03-28" } else { "2026-10-24" }),
            &times,
        );
    }
    let hours = ["2026-10-25T00:00:00Z", "2026-10-25T01:00:00Z", "2026-10-25T02:00:00Z"];
    check_run("@hourly", "Europe/London", "2026-10-24T23:30:00Z", &hours);
    check_run("*/30 1 * * *", "Europe/London", "2026-03-28T12:00:00Z", &["2026-03-30T00:00:00Z"]);
}

#[test]
fn every_time_is_found_in_both_directions_around_every_change_of_the_clock() {
    let crons =
        ["30 1 * * *", "0,30 0-3 * * *", "*/15 * * * *", "*/20 1 * * *", "7 */2 * * *", "59 23 * * *", "0 0 * * *"];
    let nights = [
        ("Europe/London", "2026-03-28T00:00:00Z"),
        ("Europe/London", "2026-10-24T00:00:00Z"),
        ("America/New_York", "2026-03-07T12:00:00Z"),
        ("America/New_York", "2026-10-31T12:00:00Z"),
        // Half an hour, midnight, and a clock put back over midnight.
        ("Australia/Lord_Howe", "2026-04-03T12:00:00Z"),
        ("Australia/Lord_Howe", "2026-10-02T12:00:00Z"),
        ("Africa/Cairo", "2026-04-23T00:00:00Z"),
        ("America/Sao_Paulo", "2018-02-16T12:00:00Z"),
        ("America/Sao_Paulo", "2018-11-03T00:00:00Z"),
        ("Pacific/Apia", "2011-12-29T00:00:00Z"),
    ];
    for (zone, start) in nights {
        for cron in crons {
            check_exhaustively(cron, zone, start.parse().unwrap());
        }
    }
}

/// Looks at every minute of three days, without any of the arithmetic under test.
fn check_exhaustively(cron: &str, zone: &str, start: JiffTimestamp) {
    const MINUTES: i64 = 3 * 24 * 60;
    let schedule = schedule(cron, zone);
    let zone = TimeZone::get(zone).unwrap();
    let instants: Vec<JiffTimestamp> =
        (0..MINUTES).map(|minute| start + jiff::SignedDuration::from_mins(minute)).collect();
    let face = |at: &JiffTimestamp| zone.to_datetime(*at);
    let matches = |face: DateTime| schedule.cron.is_time_matching(&face).unwrap();
    let mut due: Vec<JiffTimestamp> = Vec::new();
    if schedule.runs_by_elapsed_time() {
        due.extend(instants.iter().filter(|at| matches(face(at))));
    } else {
        // A time of the day is due once the clock has first shown it or a later one.
        let mut furthest = face(&instants[0]);
        for at in &instants {
            let mut passed = furthest;
            while passed < face(at) {
                passed += jiff::SignedDuration::from_mins(1);
                if matches(passed) && due.last() != Some(at) {
                    due.push(*at);
                }
            }
            furthest = furthest.max(face(at));
        }
    }
    for now in instants.iter().step_by(7) {
        let ours = zone::from_jiff(*now);
        let passed = due.partition_point(|time| time <= now);
        if let Some(next) = due.get(passed) {
            assert_eq!(shown(schedule.next_after(ours)), next.to_string(), "{schedule} after {now}");
        }
        if let Some(last) = passed.checked_sub(1).map(|last| due[last]) {
            assert_eq!(shown(schedule.last_at_or_before(ours)), last.to_string(), "{schedule} at or before {now}");
        }
    }
}

#[test]
fn what_is_no_schedule_is_refused_with_the_reason() {
    let check = |cron: &str, zone: &str, part: &str| {
        let why = Schedule::parse(cron, zone).unwrap_err();
        assert!(why.contains(part), "{why}");
    };
    check("", "UTC", "five fields");
    check("0 9 * *", "UTC", "has 4 of the fields");
    check("0 9 * * * * 2027", "UTC", "has 7 of the fields");
    check("60 9 * * *", "UTC", "60");
    check("0 9 * * FRY", "UTC", "illegal");
    check("@reboot", "UTC", "five fields");
    check("é é é é é", "UTC", "letters, digits");
    check(&"0,".repeat(400), "UTC", "512");
    check("0 0 30 2 *", "UTC", "never comes");
    check("0 0 31 4,6,9,11 *", "UTC", "never comes");
    // London's clock skips this hour on this day of every year.
    check("*/15 1 * MAR SUN#L", "Europe/London", "never comes in Europe/London");
    check("0 9 * * *", "Mars/Olympus", "\"Mars/Olympus\" is no time zone");
    check("0 9 * * *", "", "Europe/London");
    check("0 9 * * *", "../../etc/passwd", "no time zone");
}

#[test]
fn a_date_that_never_comes_is_refused_at_once() {
    let started = std::time::Instant::now();
    assert!(Schedule::parse("59 59 23 30 2 *", "Europe/London").is_err());
    assert!(Schedule::parse("* * * 31 2,4 *", "Europe/London").is_err());
    assert!(Schedule::parse("*/15 1 * MAR SUN#L", "Europe/London").is_err());
    assert!(started.elapsed() < Duration::from_secs(10), "{:?}", started.elapsed());
}

#[test]
fn any_text_is_read_or_refused_and_every_time_is_later() {
    arbtest::arbtest(|u| {
        const PIECES: &[&str] = &[
            "*",
            "/",
            ",",
            "-",
            "#",
            "L",
            "W",
            "?",
            "+",
            "@",
            " ",
            " ",
            " ",
            " ",
            "0",
            "1",
            "7",
            "31",
            "59",
            "60",
            "MON",
            "FEB",
            "@daily",
            "99999999999999999999",
            "\t",
            "x",
        ];
        let mut cron = String::new();
        for _ in 0..u.arbitrary_len::<u8>()?.min(24) {
            cron.push_str(u.choose(PIECES)?);
        }
        let zone = u.choose(&["UTC", "Europe/London", "America/Sao_Paulo"])?;
        let now = Timestamp::from_micros(u.int_in_range(-62_000_000_000_000_000..=253_000_000_000_000_000)?);
        if let Ok(schedule) = Schedule::parse(&cron, zone) {
            assert!(schedule.next_after(now).is_none_or(|next| next > now), "{cron:?}");
            assert!(schedule.last_at_or_before(now).is_none_or(|last| last <= now), "{cron:?}");
            schedule.describe();
        }
        Ok(())
    });
}

#[test]
fn nothing_lies_between_a_time_and_the_next() {
    const MINUTES: &[&str] = &["*", "*/15", "0", "30", "5,35", "10-40/10", "59"];
    const HOURS: &[&str] = &["*", "*/3", "0", "1", "2", "1,2", "0-4", "23", "9-17"];
    const DAYS: &[&str] = &["*", "*", "1", "L", "15W", "*/2", "31"];
    const MONTHS: &[&str] = &["*", "*", "MAR", "10,11", "2"];
    const WEEKDAYS: &[&str] = &["*", "*", "SUN", "MON-FRI", "SUN#L", "6#1"];
    const ZONES: &[&str] = &["UTC", "Europe/London", "America/Sao_Paulo", "Australia/Lord_Howe", "Africa/Casablanca"];
    arbtest::arbtest(|u| {
        let fields = [u.choose(MINUTES)?, u.choose(HOURS)?, u.choose(DAYS)?, u.choose(MONTHS)?, u.choose(WEEKDAYS)?];
        let cron = fields.map(|field| *field).join(" ");
        let zone = u.choose(ZONES)?;
        let Ok(schedule) = Schedule::parse(&cron, zone) else { return Ok(()) };
        // From 1970 to 2096.
        let now = Timestamp::from_micros(u.int_in_range(0..=4_000_000_000_000_000)?);
        let Some(next) = schedule.next_after(now) else {
            assert!(schedule.runs_by_elapsed_time(), "{schedule}");
            return Ok(());
        };
        let just_before = next.minus(Duration::from_micros(1));
        assert!(next > now, "{schedule}");
        assert_eq!(schedule.last_at_or_before(next), Some(next), "{schedule}");
        assert!(schedule.last_at_or_before(just_before) <= Some(now), "{schedule} after {now:?}");
        assert_eq!(schedule.next_after(just_before), Some(next), "{schedule}");
        Ok(())
    });
}

#[test]
fn the_ends_of_time_are_survived() {
    for cron in ["0 9 * * *", "* * * * *"] {
        let schedule = schedule(cron, "Europe/London");
        for now in [Timestamp::MAX, Timestamp::from_micros(i64::MIN), Timestamp::from_seconds(253_402_207_199)] {
            schedule.next_after(now);
            schedule.last_at_or_before(now);
        }
        assert_eq!(schedule.next_after(Timestamp::MAX), None);
        let last_year = at("4999-12-31T23:59:00Z");
        assert!(schedule.next_after(last_year).is_none_or(|next| next > last_year));
        assert!(schedule.last_at_or_before(last_year).is_some());
    }
}

#[test]
fn schedules_are_told_in_words() {
    let check = |cron, expected: &str| assert_eq!(schedule(cron, "Europe/London").describe(), expected);
    check("0 9 * * MON-FRI", "At 09:00, on Monday, Tuesday, Wednesday, Thursday, and Friday, Europe/London");
    check("30 8 * * *", "At 08:30, Europe/London");
    check("*/15 * * * *", "Every 15 minutes, Europe/London");
}

#[test]
fn a_zone_shows_what_the_clock_on_the_wall_shows() {
    let check =
        |zone, expected: &str| assert_eq!(Zone::parse(zone).unwrap().show(at("2026-07-01T23:30:00Z")), expected);
    check("Europe/London", "Thu 2 Jul 2026, 00:30 BST");
    check("UTC", "Wed 1 Jul 2026, 23:30 UTC");
    check("america/new_york", "Wed 1 Jul 2026, 19:30 EDT");
    assert_eq!(Zone::parse("america/new_york").unwrap().name(), "America/New_York");
}
