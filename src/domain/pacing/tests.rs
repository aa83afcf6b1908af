use arbtest::arbitrary::{Result, Unstructured};

use super::*;

const NOON: Timestamp = Timestamp::from_micros(1_795_262_400_000_000);

fn progress(total: u64) -> Progress {
    Progress {
        portion: PORTION,
        stage: Stage::Rest,
        next_at: NOON,
        total,
        done: 0,
        failed: 0,
        sent: 0,
        failed_again: 0,
        waiting: 0,
        waiting_since: None,
        is_held: false,
        last_sent_at: None,
    }
}

fn paced(pace: Pace) -> Pacing {
    Pacing { pace, canary: None }
}

fn with_canary(first: u64, percent: u8) -> Pacing {
    let canary = Canary { first, wait: Duration::from_secs(60), at_most_failed_percent: percent };
    Pacing { pace: Pace::AtOnce, canary: Some(canary) }
}

/// Takes steps at moments that follow each other within `gaps` until all is sent; the answer is what was sent when.
fn run(pacing: Pacing, total: u64, mut gap: impl FnMut() -> Result<Duration>) -> Result<Vec<(Timestamp, u64)>> {
    let (mut now, mut at, mut released) = (NOON, progress(total), Vec::new());
    loop {
        match pacing.step(&at, now) {
            Step::Release { most, next_at } => {
                assert!(most >= 1 && most <= at.remaining(), "{most} of {}", at.remaining());
                assert!(next_at > at.next_at);
                released.push((now, most));
                (at.done, at.sent, at.next_at) = (at.done + most, at.sent + most, next_at);
            }
            Step::Wait { next_at } => assert!(next_at > now),
            Step::End => return Ok(released),
            Step::Pass | Step::Stop => unreachable!("there is no canary"),
        }
        now = now.plus(gap()?);
    }
}

fn some_gap(u: &mut Unstructured<'_>, most: u64) -> Result<Duration> {
    Ok(Duration::from_micros(u.int_in_range(1..=most)?))
}

#[test]
fn a_rate_is_kept_within_a_twentieth_whenever_it_is_looked() {
    arbtest::arbtest(|u| {
        let rate = u.int_in_range(1..=2_000_u32)?;
        let total = u64::from(rate) * 20 + 1;
        let released = run(paced(Pace::PerSecond(rate)), total, || some_gap(u, 900_000))?;
        assert_eq!(released.iter().map(|(_, count)| count).sum::<u64>(), total, "each once");
        let (last, _) = released[released.len() - 1];
        let (took, planned) = (last.since(NOON).as_secs_f64(), 20.0);
        assert!(took >= planned - 0.001, "{rate}: {took}");
        // It is at most one look late.
        assert!(took <= planned * 1.05, "{rate}: {took}");
        Ok(())
    });
}

#[test]
fn no_second_sees_more_than_twice_the_rate_whatever_holds_it_up() {
    arbtest::arbtest(|u| {
        let rate = u.int_in_range(1..=1_000_u32)?;
        let released = run(paced(Pace::PerSecond(rate)), u64::from(rate) * 10, || {
            // A restart now and then.
            if u.ratio(1, 10)? { some_gap(u, 900_000_000) } else { some_gap(u, 500_000) }
        })?;
        for (from, _) in &released {
            let second = released.iter().filter(|(at, _)| at >= from && at.since(*from) < CATCH_UP);
            let count: u64 = second.map(|(_, count)| count).sum();
            assert!(count <= 2 * u64::from(rate) + 2, "{rate}: {count}");
        }
        Ok(())
    });
}

#[test]
fn what_is_spread_takes_its_time() {
    arbtest::arbtest(|u| {
        let (total, minutes) = (u.int_in_range(20..=5_000)?, u.int_in_range(1..=600)?);
        let time = Duration::from_secs(60 * minutes);
        let released = run(paced(Pace::Over(time)), total, || Ok(LOOK))?;
        let took = released[released.len() - 1].0.since(NOON).as_secs_f64();
        let planned = time.as_secs_f64() * (total - 1) as f64 / total as f64;
        assert!((took - planned).abs() <= planned * 0.05 + 1.0, "{took} of {planned}");
        Ok(())
    });
}

#[test]
fn what_is_not_sent_is_not_added_to() {
    let held_up = Progress { waiting: 5, waiting_since: Some(NOON), done: 5, ..progress(100) };
    let rate = paced(Pace::PerSecond(10));
    let look = |at: Timestamp| Step::Wait { next_at: at.plus(LOOK) };
    let soon = NOON.plus(HELD_UP);
    assert!(matches!(rate.step(&held_up, soon), Step::Release { .. }));
    let later = soon.plus(Duration::from_micros(1));
    assert_eq!(rate.step(&held_up, later), look(later));
    // All at once means that they wait for the broker.
    assert!(matches!(paced(Pace::AtOnce).step(&held_up, later), Step::Release { most: PORTION, .. }));
    let over = Progress { done: 100, sent: 99, waiting: 1, ..progress(100) };
    assert_eq!(rate.step(&over, NOON), look(NOON), "it ends when all are sent");
    let held = Progress { is_held: true, ..over };
    assert_eq!(rate.step(&held, NOON), Step::Wait { next_at: NOON.plus(HELD_LOOK) });
}

#[test]
fn the_more_is_passed_over_the_longer_it_is_left_alone() {
    for (letters, seconds) in [(1, 3), (AHEAD - 1, 3), (AHEAD, 6), (10 * AHEAD, 33), (u64::MAX, 300)] {
        assert_eq!(held_wait(letters), Duration::from_secs(seconds), "{letters}");
    }
}

#[test]
fn the_first_ones_decide() {
    let pacing = with_canary(25, 10);
    let first = Progress { stage: Stage::Canary, ..progress(100) };
    let check = |progress: Progress, seconds, expected| {
        assert_eq!(pacing.step(&progress, NOON.plus(Duration::from_secs(seconds))), expected, "{progress:?}");
    };
    check(first, 0, Step::Release { most: 25, next_at: NOON });
    let sent = Progress { done: 25, sent: 25, last_sent_at: Some(NOON), ..first };
    check(sent, 59, Step::Wait { next_at: NOON.plus(Duration::from_secs(59)).plus(LOOK) });
    check(sent, 60, Step::Pass);
    check(Progress { failed_again: 2, ..sent }, 60, Step::Pass);
    check(Progress { failed_again: 3, ..sent }, 1, Step::Stop);
    check(Progress { sent: 22, ..sent }, 1, Step::Stop);
    check(
        Progress { sent: 22, waiting: 3, ..sent },
        90,
        Step::Wait { next_at: NOON.plus(Duration::from_secs(90)).plus(LOOK) },
    );
    check(
        Progress { sent: 22, waiting: 3, is_held: true, ..sent },
        90,
        Step::Wait { next_at: NOON.plus(Duration::from_secs(90)).plus(HELD_LOOK) },
    );
    // What was refused is none of the first; another takes its place.
    check(
        Progress { failed: 75, done: 20, sent: 20, ..first },
        1,
        Step::Release { most: 5, next_at: NOON.plus(Duration::from_secs(1)) },
    );
    check(Progress { failed: 75, ..sent }, 1, Step::End);
}

#[test]
fn it_never_goes_on_after_too_many_failures() {
    arbtest::arbtest(|u| {
        let (first, percent) = (u.int_in_range(1..=200)?, u.int_in_range(0..=99)?);
        let pacing = with_canary(first, percent);
        let done = first;
        let sent = u.int_in_range(0..=done)?;
        let failed_again = u.int_in_range(0..=sent)?;
        let at = Progress {
            stage: Stage::Canary,
            done,
            sent,
            failed_again,
            last_sent_at: Some(NOON),
            ..progress(first + u.int_in_range(1..=50)?)
        };
        let bad = failed_again + (done - sent);
        let step = pacing.step(&at, NOON.plus(Duration::from_secs(600)));
        assert_eq!(step == Step::Pass, bad * 100 <= u64::from(percent) * first, "{at:?} {step:?}");
        assert_eq!(step == Step::Stop, bad * 100 > u64::from(percent) * first, "{at:?} {step:?}");
        Ok(())
    });
}

#[test]
fn in_words() {
    let check = |pacing: Pacing, expected: &str| assert_eq!(pacing.in_words(), expected);
    check(paced(Pace::PerSecond(20)), "20 per second");
    check(paced(Pace::Over(Duration::from_secs(3_600))), "spread over 1 h");
    let both = Pacing { pace: Pace::PerSecond(5), ..with_canary(25, 10) };
    check(both, "25 messages first, the rest 1 min after these if at most 10 % failed again; 5 per second");
}
