//! What holds whatever happens to a group. No database is needed for it.

use std::time::Duration;

use amqp_message::time::Timestamp;
use arbtest::{
    arbitrary::{Result, Unstructured},
    arbtest,
};

use super::{Arrivals, Assignee, GroupCommand, GroupRefusal, GroupState, Phase, Until, Why};
use crate::domain::{actor::Actor, letter::Importance, version::Versioned};

const NOON: Timestamp = Timestamp::from_micros(43_200_000_000);
const HOUR: Duration = Duration::from_secs(3_600);

fn ada() -> Actor {
    Actor::named("ada")
}

fn at(seconds: u64) -> Timestamp {
    NOON.plus(Duration::from_secs(seconds))
}

/// The state after a command that it has to take.
fn does(state: &GroupState, command: &GroupCommand, now: Timestamp) -> GroupState {
    state.after(command, &ada(), now).expect("a legal command").expect("a change")
}

fn arrived(more: i64, open: bool, now: Timestamp) -> Arrivals {
    Arrivals { more, open_at: open.then_some(now), last_at: now, ..Arrivals::default() }
}

fn any_importance(u: &mut Unstructured<'_>) -> Result<Option<Importance>> {
    Ok(if u.arbitrary()? { Some(*u.choose(Importance::ALL)?) } else { None })
}

fn any_until(u: &mut Unstructured<'_>, now: Timestamp) -> Result<Until> {
    Ok(match u.int_in_range(0..=2)? {
        0 => Until::Time(now.plus(Duration::from_secs(u.int_in_range(0..=9)?))),
        1 => Until::More { more: u.int_in_range(0..=4)?, arrived: u.int_in_range(0..=4)? },
        _ => Until::Change,
    })
}

fn any_command(u: &mut Unstructured<'_>, now: Timestamp) -> Result<GroupCommand> {
    Ok(match u.int_in_range(0..=6)? {
        0 => GroupCommand::Acknowledge,
        1 => GroupCommand::Snooze(any_until(u, now)?),
        2 => GroupCommand::Resolve,
        3 => GroupCommand::Reopen,
        4 => GroupCommand::Assign(u.arbitrary::<bool>()?.then(|| Assignee::User("ada".to_owned()))),
        5 => GroupCommand::SetTicket(u.arbitrary::<bool>()?.then(|| "https://t/1".to_owned())),
        _ => GroupCommand::Undo(now.minus(Duration::from_secs(u.int_in_range(0..=3)?))),
    })
}

/// What holds of every state that can be come to.
fn check(state: &GroupState) {
    let progress = &state.progress;
    assert_eq!(progress.until.is_some(), state.phase() == Phase::Snoozed, "{state:?}");
    assert!(progress.set.is_some() || state.phase() == Phase::Open, "{state:?}");
    assert_eq!(
        state.set_aside_since().is_some(),
        matches!(state.phase(), Phase::Snoozed | Phase::Resolved),
        "{state:?}"
    );
    let is_set_aside = state.set_aside_since().is_some();
    assert!(!is_set_aside || progress.reopened.is_none(), "what is set aside has not come again: {state:?}");
    if let Some(Until::More { more, arrived }) = progress.until {
        assert!(arrived < more, "{state:?}");
    }
}

#[test]
fn groups_stay_in_order_whatever_happens_to_them() {
    arbtest(|u| {
        let mut state = GroupState::default();
        for second in 0..40 {
            let now = at(second);
            let was = state.clone();
            match u.int_in_range(0..=5)? {
                0 => {
                    let arrivals = Arrivals {
                        before: any_importance(u)?,
                        now: any_importance(u)?,
                        ..arrived(u.int_in_range(-1..=3)?, u.arbitrary()?, now)
                    };
                    state = state.after_arrivals(&arrivals).unwrap_or(state);
                    assert!(was.phase() != Phase::Open || state == was, "letters do not change what is open");
                }
                1 => state = state.after_time(now).unwrap_or(state),
                2 => state = state.after_change("x".to_owned(), now).unwrap_or(state),
                _ => {
                    let command = any_command(u, now)?;
                    let after = state.after(&command, &ada(), now);
                    if let Ok(Some(next)) = after {
                        check_undo(&was, &next, &command, now);
                        state = next;
                    }
                }
            }
            check(&state);
            check_waking(&was, &state, now);
        }
        Ok(())
    })
    .size_min(2_000);
}

/// What can be undone is as it was afterwards, and only once.
fn check_undo(was: &GroupState, is: &GroupState, command: &GroupCommand, now: Timestamp) {
    if matches!(command, GroupCommand::Undo(_)) {
        assert_eq!(is.last, None);
        return;
    }
    assert_eq!(is.last.is_some(), command.can_be_undone());
    if command.can_be_undone() {
        let undone = does(is, &GroupCommand::Undo(now), now);
        assert_eq!((&undone.progress, &undone.assignee), (&was.progress, &was.assignee));
        let again = undone.after(&GroupCommand::Undo(now), &ada(), now);
        assert_eq!(again, Err(GroupRefusal::Overtaken));
    }
}

/// What has woken says since when and why, and stays with whom it was given to.
fn check_waking(was: &GroupState, is: &GroupState, now: Timestamp) {
    let has_woken = was.phase() != Phase::Open && is.phase() == Phase::Open && is.progress.set.is_none();
    if !has_woken {
        return;
    }
    let Some(reopened) = &is.progress.reopened else {
        // Undone: it was like that before.
        return;
    };
    if reopened.at == now {
        let set_at = was.progress.set.as_ref().map(|(_, at)| *at);
        assert_eq!((Some(reopened.since), reopened.was), (set_at, was.phase()));
        assert_eq!(is.assignee, was.assignee);
        assert_eq!(is.last, None, "nobody takes back what has come again");
    }
}

#[test]
fn commands_follow_on_each_other() {
    use GroupCommand::{Acknowledge, Reopen, Resolve, Snooze};
    let open = GroupState::default();
    let snooze = Snooze(Until::Change);
    let taken = does(&open, &Acknowledge, at(0));
    let snoozed = does(&open, &snooze, at(0));
    let resolved = does(&open, &Resolve, at(0));
    let refused = |state: &GroupState, command: &GroupCommand| {
        let after = state.after(command, &ada(), at(1));
        after.err().map(|refusal| refusal.to_string()).unwrap_or_default()
    };
    assert_eq!(refused(&open, &Reopen), "it is open already");
    assert_eq!(refused(&taken, &Acknowledge), "it is acknowledged already, by ada");
    assert_eq!(refused(&resolved, &Acknowledge), "it is resolved; reopen it first");
    assert_eq!(refused(&resolved, &snooze), "it is resolved; reopen it first");
    assert_eq!(refused(&resolved, &Resolve), "it is resolved already, by ada");
    for (state, command) in [
        (&taken, &snooze),
        (&taken, &Resolve),
        (&taken, &Reopen),
        (&snoozed, &Acknowledge),
        (&snoozed, &snooze),
        (&snoozed, &Resolve),
        (&snoozed, &Reopen),
        (&resolved, &Reopen),
    ] {
        assert_eq!(refused(state, command), "", "{command:?} on {state:?}");
    }
    let past = Snooze(Until::Time(at(1)));
    assert_eq!(refused(&open, &past), "a snooze ends in the future, and within a year");
    assert!(!refused(&open, &Snooze(Until::More { more: 0, arrived: 0 })).is_empty());
}

#[test]
fn a_resolved_one_that_comes_again_says_so() {
    let resolved = does(&GroupState::default(), &GroupCommand::Resolve, at(0));
    assert_eq!(resolved.after_arrivals(&arrived(1, false, at(5))), None, "it waits for its automatic retry");
    let again = resolved.after_arrivals(&arrived(1, true, at(9))).expect("it wakes");
    let reopened = again.progress.reopened.as_ref().expect("it says so");
    assert_eq!((reopened.at, reopened.since, reopened.was), (at(9), at(0), Phase::Resolved));
    assert_eq!((again.phase(), &reopened.by, &reopened.why), (Phase::Open, &ada(), &Why::CameAgain));
    let taken = does(&again, &GroupCommand::Acknowledge, at(10));
    assert_eq!(taken.progress.reopened, again.progress.reopened, "whoever is at it has to know");
    assert_eq!(does(&taken, &GroupCommand::Resolve, at(11)).progress.reopened, None);
}

#[test]
fn an_acknowledgement_ends_by_what_begins_anew() {
    let acknowledged = does(&GroupState::default(), &GroupCommand::Acknowledge, at(5));
    let ends = |before, now| {
        let arrivals = Arrivals { before, now, ..arrived(1, now.is_some(), at(9)) };
        acknowledged.after_arrivals(&arrivals).map(|state| state.progress.reopened.map(|it| it.reason()))
    };
    let (high, normal) = (Some(Importance::High), Some(Importance::Normal));
    assert_eq!(ends(None, normal), Some(Some("a dead letter came when none was open".to_owned())));
    assert_eq!(ends(normal, high), Some(Some("a dead letter is high, more important than any before".to_owned())));
    for (before, now) in [(high, normal), (high, high), (normal, None), (None, None)] {
        assert_eq!(ends(before, now), None, "{before:?} {now:?}");
    }
    // One that was received before, and was open before.
    let moved = Arrivals { before: None, now: normal, ..arrived(0, false, at(1)) };
    let again = acknowledged.after_arrivals(&moved).and_then(|state| state.progress.reopened);
    assert_eq!(again.map(|reopened| reopened.at), Some(at(5)), "it ends no earlier than it began");
}

#[test]
fn what_a_clock_that_was_ahead_has_set_is_set_now() {
    let ahead = |command: &GroupCommand| does(&GroupState::default(), command, at(600));
    let right = |state: &GroupState| state.with_clock_put_back(at(60));
    let resolved = right(&ahead(&GroupCommand::Resolve)).expect("it was ahead");
    assert_eq!((resolved.set_aside_since(), &resolved.last), (Some(at(60)), &None));
    assert_eq!(right(&resolved), None, "once");
    let snoozed = ahead(&GroupCommand::Snooze(Until::Time(at(900))));
    assert_eq!(right(&snoozed).and_then(|state| state.wake_at()), Some(at(360)), "it takes as long as it was to take");
    let before = does(&GroupState::default(), &GroupCommand::Snooze(Until::Time(at(900))), at(30));
    assert_eq!(right(&before), None);
}

#[test]
fn a_snooze_ends_by_what_it_waits_for_and_nothing_else() {
    let snoozed = |until| does(&GroupState::default(), &GroupCommand::Snooze(until), at(0));
    let until_time = snoozed(Until::Time(NOON.plus(HOUR)));
    assert_eq!(until_time.after_arrivals(&arrived(9, true, at(1))), None);
    assert_eq!(until_time.after_change("x".to_owned(), at(1)), None);
    assert_eq!(until_time.after_time(at(3_599)), None);
    assert_eq!(until_time.after_time(at(3_600)).map(|state| state.phase()), Some(Phase::Open));
    let until_more = snoozed(Until::More { more: 3, arrived: 2 });
    assert_eq!(until_more.after_time(at(9_999)), None);
    let two = until_more.after_arrivals(&arrived(2, false, at(1))).expect("they are counted from the beginning");
    assert_eq!((two.phase(), two.version()), (Phase::Snoozed, until_more.version()));
    assert_eq!(two.after_arrivals(&arrived(0, false, at(2))), None);
    let woken = two.after_arrivals(&arrived(1, false, at(2))).expect("it wakes");
    assert_eq!(woken.progress.reopened.map(|reopened| reopened.reason()), Some("3 more dead letters came".into()));
    let until_change = snoozed(Until::Change);
    assert_eq!(until_change.after_arrivals(&arrived(9, true, at(1))), None);
    assert_eq!(until_change.after_change("x".to_owned(), at(1)).map(|state| state.phase()), Some(Phase::Open));
}

#[test]
fn who_has_it_is_read_as_it_was_written() {
    for assignee in [Assignee::User("ada: x".to_owned()), Assignee::Team("payments".to_owned())] {
        assert_eq!(assignee.to_string().parse(), Ok(assignee));
    }
    for wrong in ["ada", "user:", "role:admin", ""] {
        assert!(wrong.parse::<Assignee>().is_err(), "{wrong}");
    }
}
