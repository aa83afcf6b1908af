//! What becomes of messages that fail, for the first time or again.

use std::time::Duration;

use arbtest::arbtest;

use super::{
    NOW, check_lawful, failed,
    world::{any_letter, policy},
};
use crate::domain::{
    history::Event,
    letter::{Importance, Status},
    lifecycle::{
        GroupStep, PendingRetry, PolicyOutcome, RetryChange,
        failures::{self, FailedAgain, FailedMessage, RevivedFamilies},
    },
};

#[test]
fn a_new_message_waits_as_long_as_its_policy_has_retries_for_it() {
    arbtest(|u| {
        let (attempts, retries) = (u.int_in_range(1..=5)?, u.int_in_range(0..=4)?);
        let decision = policy(retries);
        let message = FailedMessage { decision: Some(&decision), ..failed(attempts) };
        let new = failures::received(message, Importance::Normal);
        let waits = attempts <= retries as u64;
        assert_eq!(new.status, if waits { Status::Scheduled } else { Status::Open });
        assert_eq!(new.columns.handed_over_at, (!waits).then_some(NOW));
        let due_at = new.retry.new_retry().map(|retry| retry.due_at);
        assert_eq!(due_at, waits.then_some(NOW.plus(Duration::from_secs(60))));
        assert_eq!(new.history.len(), usize::from(waits));
        let outcome = if waits { PolicyOutcome::Failed } else { PolicyOutcome::Exhausted };
        assert_eq!(new.policy_step.map(|step| (step.failures, step.outcome)), Some((attempts, outcome)));
        Ok(())
    });
}

#[test]
fn what_comes_back_is_open_or_waits_unless_another_edit_stands() {
    arbtest(|u| {
        let state = any_letter(u)?;
        let decision = policy(u.int_in_range(0..=9)?);
        let message =
            FailedMessage { decision: u.arbitrary::<bool>()?.then_some(&decision), ..failed(u.int_in_range(0..=9)?) };
        let mut back = FailedAgain::new(&state, message, &mut RevivedFamilies::default());
        let copies = u.int_in_range(0..=3)?;
        (0..copies).for_each(|_| back.again(message));
        let transition = back.transition();
        check_lawful(&state, &transition);
        assert!(back.attempts() > state.attempts);
        assert_eq!(transition.status == Status::Discarded, state.rival.is_some());
        assert_ne!(transition.status, Status::Retried);
        if state.waits() {
            assert_eq!(transition.retry, RetryChange::Keep, "what was settled before it came back stands");
        }
        let told = transition.history.len() - usize::from(transition.retry.new_retry().is_some());
        let was_sent = state.status == Status::Scheduled && !state.waits();
        assert_eq!(told, copies + 1 + usize::from(was_sent));
        assert_eq!(transition.history[0].event == Event::Retried, was_sent);
        assert_eq!(
            transition.sent_step.is_some(),
            was_sent && state.retry.as_ref().is_some_and(PendingRetry::is_automatic)
        );
        let said = transition.history.iter().filter(|line| line.detail.contains("may have been sent twice")).count();
        assert_eq!(said == 1, state.retry.as_ref().is_some_and(PendingRetry::perhaps_sent_twice));
        let is_back = matches!(transition.group_step, Some(GroupStep::FailedAgain { .. }));
        assert_eq!(is_back, state.status == Status::Retried);
        assert_eq!(matches!(transition.group_step, Some(GroupStep::SentAndFailedAgain { .. })), was_sent);
        Ok(())
    });
}

/// What was sent back once is counted as one failure, the next one, whatever comes of it.
#[test]
fn copies_are_no_failures_of_their_own() {
    arbtest(|u| {
        let state = any_letter(u)?;
        let decision = policy(u.int_in_range(0..=9)?);
        let queue = state.queue.as_deref().unwrap_or_default();
        let message = FailedMessage { queue, decision: Some(&decision), ..failed(1) };
        let mut back = FailedAgain::new(&state, message, &mut RevivedFamilies::default());
        let number = |back: &FailedAgain<'_>| back.transition().policy_step.map(|step| step.failures);
        let is_here = state.status == Status::Open || state.waits();
        assert_eq!(number(&back), (!is_here).then_some(state.rounds + 1));
        back.again(message);
        assert_eq!(number(&back), (!is_here).then_some(state.rounds + 1));
        Ok(())
    });
}

#[test]
fn what_its_framework_retries_is_not_retried_by_policy() {
    arbtest(|u| {
        let state = any_letter(u)?;
        let message = FailedMessage { is_own_retry: true, is_recognised: u.arbitrary()?, ..failed(1) };
        let back = FailedAgain::new(&state, message, &mut RevivedFamilies::default());
        let transition = back.transition();
        check_lawful(&state, &transition);
        assert_eq!((back.attempts(), back.rounds()), (state.attempts + 1, state.rounds.max(1)));
        let is_by_hand = state.waits() && state.retry.as_ref().is_some_and(|retry| !retry.is_automatic());
        assert_eq!(transition.status == Status::Scheduled, is_by_hand, "what somebody has decided stands");
        Ok(())
    });
}

#[test]
fn the_tries_of_a_framework_since_the_last_retry_add_up() {
    arbtest(|u| {
        let (state, tries) = (any_letter(u)?, u.int_in_range(1..=9)?);
        let message = FailedMessage { is_recognised: true, rounds: 1, ..failed(tries) };
        let back = FailedAgain::new(&state, message, &mut RevivedFamilies::default());
        assert_eq!(back.attempts(), state.attempts + tries);
        Ok(())
    });
}
