//! What holds whatever happens to letters. No database is needed for it.

mod failing;
mod lives;
mod world;

use std::time::Duration;

use amqp_message::time::Timestamp;
use arbtest::{
    arbitrary::{Result, Unstructured},
    arbtest,
};
use failure_conventions::FailureCount;

use super::{
    Change, GroupStep, LetterState, RetryChange, Transition,
    commands::{Decider, Decision},
    edits::{self, NewCopy},
    failures::FailedMessage,
    publishing::published,
};
use crate::domain::{
    actor::Actor,
    command::{Command, Refusal},
    letter::Status,
    retry::{ClaimedRetry, RetryOutcome},
    retry_limits::RetryLimits,
};
use world::{actor, after, any_command, any_letter, policy};

const NOW: Timestamp = Timestamp::from_micros(5_000_000);

/// Gives one letter a command now, and hands on its result.
fn command<T>(
    command: &Command,
    state: &LetterState,
    then: impl FnOnce(std::result::Result<Decision<'_>, Refusal>) -> T,
) -> T {
    then(Decider::new(command, &actor(), NOW, &RetryLimits::default()).decide(state))
}

/// The letter after a command that it has to take.
fn does(state: &LetterState, what: &Command) -> LetterState {
    command(what, state, |decision| match decision.unwrap() {
        Decision::Moves(transition) => after(state, &transition),
        Decision::AsItIs => state.clone(),
    })
}

/// The claim of its retry that is held, or was given back last.
fn claim(state: &LetterState, by: &str) -> ClaimedRetry {
    ClaimedRetry {
        id: state.id,
        queue: "orders".to_owned(),
        failed_queue: state.queue.clone(),
        reason: state.reason,
        routing_key: String::new(),
        by: Actor::named(by),
        count: FailureCount { attempts: state.attempts, rounds: state.rounds },
        due_at: state.retry.as_ref().map_or(NOW, |retry| retry.due_at),
        size: 0,
        claims: state.retry.as_ref().map_or(1, |retry| retry.claims + u64::from(retry.claimed_until.is_none())),
        without_expiry: false,
        is_edited: false,
    }
}

fn failed(attempts: u64) -> FailedMessage<'static> {
    FailedMessage {
        received_at: NOW,
        queue: "orders",
        attempts,
        rounds: attempts,
        is_recognised: false,
        is_own_retry: false,
        decision: None,
        is_another: false,
        is_counted: false,
    }
}

/// Whether a letter may be moved by a command: said here once more, the plain way.
fn expected(command: &Command, state: &LetterState) -> std::result::Result<Status, &'static str> {
    let claimed = state.retry.as_ref().and_then(|retry| retry.claimed_until).is_some_and(|until| until > NOW);
    let is_sent = matches!(command, Command::Retry { .. });
    match (command, state.status) {
        (
            Command::SetImportance(_) | Command::ReleaseImportance | Command::SetNote(_) | Command::SetType(_),
            status,
        ) => Ok(status),
        (Command::Reopen, Status::Open) => Err("status"),
        (Command::Retry { .. } | Command::Discard { .. }, Status::Discarded) | (_, Status::Retried) => Err("status"),
        _ if claimed => Err("in flight"),
        (Command::Discard { .. }, _) => Ok(Status::Discarded),
        _ if state.rival.is_some() => Err("replaced"),
        _ if is_sent && state.danger.is_some() => Err("danger"),
        (Command::Retry { queue: None, .. }, _) if state.queue.is_none() && state.retry.is_none() => Err("no queue"),
        (Command::Retry { .. }, _) => Ok(Status::Scheduled),
        (Command::Reopen, _) => Ok(Status::Open),
    }
}

const fn kind(refusal: &Refusal) -> &'static str {
    match refusal {
        Refusal::WrongStatus { .. } => "status",
        Refusal::InFlight => "in flight",
        Refusal::Replaced { .. } => "replaced",
        Refusal::Dangerous(_) => "danger",
        Refusal::QueueUnknown => "no queue",
        Refusal::NotFound
        | Refusal::NotAllowed
        | Refusal::PerhapsSent
        | Refusal::Unfit(_)
        | Refusal::UnfitPart { .. }
        | Refusal::Changed => "none of a command",
    }
}

fn check_lawful(state: &LetterState, transition: &Transition<'_>) {
    let new = after(state, transition);
    assert_eq!(new.retry.is_some(), new.status == Status::Scheduled, "{state:?}: {transition:?}");
    let is_settled = matches!(new.status, Status::Retried | Status::Discarded);
    assert_eq!(new.closed_at.is_some(), is_settled, "{state:?}: {transition:?}");
    let is_sent = (state.status, new.status) == (Status::Scheduled, Status::Retried);
    assert_eq!(matches!(transition.group_step, Some(GroupStep::Sent { .. })), is_sent);
}

#[test]
fn every_command_on_every_letter_is_a_legal_move_or_refused_with_its_reason() {
    arbtest(|u| {
        let (what, state) = (any_command(u)?, any_letter(u)?);
        command(&what, &state, |decision| match decision {
            Ok(Decision::AsItIs) => assert_eq!(expected(&what, &state), Ok(state.status)),
            Ok(Decision::Moves(transition)) => {
                assert_eq!(expected(&what, &state), Ok(transition.status), "{what:?} on {state:?}");
                check_lawful(&state, &transition);
                assert_eq!(transition.history.len(), 1, "it is told, once");
                let line = &transition.history[0];
                assert_eq!((line.at, line.by), (NOW, "ann"));
                assert_eq!(transition.columns.handed_over_at, Some(NOW));
            }
            Err(refusal) => {
                assert_eq!(expected(&what, &state), Err(kind(&refusal)), "{what:?} on {state:?}");
                assert!(!refusal.to_string().is_empty());
            }
        });
        Ok(())
    });
}

#[test]
fn what_pages_offer_is_never_refused_for_the_status() {
    arbtest(|u| {
        let (what, state) = (any_command(u)?, any_letter(u)?);
        let is_refused = command(&what, &state, |decision| matches!(decision, Err(Refusal::WrongStatus { .. })));
        assert_eq!(is_refused, !what.allowed_in().contains(&state.status));
        Ok(())
    });
}

#[test]
fn a_value_that_is_set_already_is_not_set_again() {
    arbtest(|u| {
        let (what, state) = (any_command(u)?, any_letter(u)?);
        if matches!(
            what,
            Command::SetImportance(_) | Command::ReleaseImportance | Command::SetNote(_) | Command::SetType(_)
        ) {
            let once = does(&state, &what);
            assert_eq!(does(&once, &what), once);
            command(&what, &once, |decision| assert_eq!(decision, Ok(Decision::AsItIs)));
        }
        Ok(())
    });
}

#[test]
fn to_reopen_undoes_a_discard_and_a_retry() {
    arbtest(|u| {
        let open = LetterState { status: Status::Open, retry: None, closed_at: None, danger: None, ..any_letter(u)? };
        let open = LetterState { rival: None, ..open };
        let discarded = does(&open, &Command::Discard { note: None });
        assert_eq!(does(&discarded, &Command::Reopen), open);
        let scheduled = does(&open, &Command::Retry { delay: Duration::ZERO, queue: Some("a".to_owned()) });
        assert_eq!(does(&scheduled, &Command::Reopen), open);
        Ok(())
    });
}

#[test]
fn of_a_family_one_command_reopens_the_first_only() {
    arbtest(|u| {
        let discarded = |u: &mut Unstructured<'_>| -> Result<LetterState> {
            Ok(LetterState { status: Status::Discarded, rival: None, retry: None, ..any_letter(u)? })
        };
        let (first, second) = (discarded(u)?, discarded(u)?);
        let mut world = world::World::default();
        let [family, first_id, second_id] = std::array::from_fn(|_| world.new_id());
        let first = LetterState { id: first_id, family: Some(family), ..first };
        let second = LetterState { id: second_id, family: Some(family), ..second };
        let (by, bodies) = (actor(), RetryLimits::default());
        let mut decider = Decider::new(&Command::Reopen, &by, NOW, &bodies);
        assert!(decider.decide(&first).is_ok());
        assert_eq!(decider.decide(&second), Err(Refusal::Replaced { by: first_id }));
        Ok(())
    });
}

#[test]
fn what_was_confirmed_is_retried_and_what_was_not_is_open_with_its_problem() {
    arbtest(|u| {
        let state = any_letter(u)?;
        let retry = claim(&state, if u.arbitrary()? { Actor::SYSTEM } else { "ann" });
        let is_current = state.retry.as_ref().is_some_and(|retry| retry.claimed_until.is_some());
        let sent = published(&state, &retry, &RetryOutcome::Confirmed, NOW);
        let why = RetryOutcome::Failed("no".to_owned());
        let not_sent = published(&state, &retry, &why, NOW);
        for transition in [&sent, &not_sent] {
            check_lawful(&state, transition);
            assert_eq!(transition.history.len(), 1);
        }
        if is_current {
            assert_eq!((sent.status, sent.columns.closed_at), (Status::Retried, Change::Set(NOW)));
            assert_eq!(sent.policy_step.is_some(), retry.by == Actor::system());
            assert_eq!((not_sent.status, not_sent.columns.problem), (Status::Open, Change::Set("no")));
            assert_eq!(not_sent.policy_step, None);
        } else {
            assert_eq!([after(&state, &sent), after(&state, &not_sent)], [state.clone(), state.clone()]);
        }
        Ok(())
    });
}

#[test]
fn what_is_confirmed_is_sent_also_where_it_was_claimed_again() {
    arbtest(|u| {
        let mut state = any_letter(u)?;
        let earlier = claim(&state, "ann");
        let Some(pending) = &mut state.retry else { return Ok(()) };
        (pending.claims, pending.claimed_until) = (earlier.claims + 1, u.arbitrary::<bool>()?.then_some(NOW));
        let sent = published(&state, &earlier, &RetryOutcome::Confirmed, NOW);
        assert_eq!((sent.status, sent.retry), (Status::Retried, RetryChange::Cancel));
        let why = RetryOutcome::Failed("no".to_owned());
        let not_sent = published(&state, &earlier, &why, NOW);
        assert_eq!(after(&state, &not_sent), state, "who has claimed it since says what becomes of it");
        Ok(())
    });
}

#[test]
fn an_outcome_of_an_older_retry_says_nothing_about_a_newer_one() {
    arbtest(|u| {
        let state = any_letter(u)?;
        let older = ClaimedRetry { due_at: Timestamp::from_seconds(99), ..claim(&state, "ann") };
        let transition = published(&state, &older, &RetryOutcome::Confirmed, NOW);
        assert_eq!(after(&state, &transition), state);
        Ok(())
    });
}

#[test]
fn an_edit_sets_the_original_aside_and_schedules_the_copy_or_says_why_not() {
    arbtest(|u| {
        let state = any_letter(u)?;
        let by = actor();
        let id = world::World::default().new_id();
        let copy = NewCopy { id, delay: Duration::ZERO, queue: None, summary: "body", by: &by, at: NOW, job: None };
        let may = matches!(state.status, Status::Open | Status::Scheduled)
            && (state.status == Status::Open || state.waits())
            && state.target(None).is_some();
        match edits::edit(&state, &copy) {
            Ok(edited) => {
                assert!(may);
                check_lawful(&state, &edited.original);
                assert_eq!((edited.original.status, edited.copy.status), (Status::Discarded, Status::Scheduled));
                assert_eq!(edited.copy.retry.new_retry().map(|retry| retry.queue), Some(edited.target));
            }
            Err(refusal) => {
                assert!(!may, "{refusal} {state:?}");
                assert!(!refusal.to_string().is_empty());
            }
        }
        Ok(())
    });
}

/// For tests of single modules: a policy that retries twice.
pub(super) fn two_delays() -> crate::domain::policy::Decision {
    policy(2)
}
