//! What becomes of a message that has failed, for the first time or again.

use std::{collections::HashSet, time::Duration};

use amqp_message::time::Timestamp;

use super::{
    Change, ColumnChanges, GroupStep, HistoryLine, LetterState, NewRetry, PendingRetry, PolicyOutcome, PolicyStep,
    RetryChange, Transition,
};
use crate::domain::{
    actor::Actor,
    command::in_time,
    history::Event,
    letter::{Importance, LetterId, Status},
    policy::{Decision, Verdict},
};

/// A message that has come in after it failed.
#[derive(Clone, Copy, Debug)]
pub struct FailedMessage<'a> {
    pub received_at: Timestamp,
    /// The queue it failed in, empty where nothing says which.
    pub queue: &'a str,
    /// How often it has failed, as far as it says, the tries of its framework included.
    pub attempts: u64,
    /// It did not say which letter it is.
    pub is_recognised: bool,
    /// Its framework has retried it by itself, and perhaps does so once more.
    pub is_own_retry: bool,
    /// How often dlo has seen it fail: what its framework tries by itself uses up no delay.
    pub rounds: u64,
    /// What the retry policy decides; `None` for what needs attention in any case.
    pub decision: Option<&'a Decision>,
    /// It brings the id of a letter that it is not: for its queue it is another message.
    pub is_another: bool,
    /// The figures of its queue have it: dlo sent it on itself, and counted it then.
    pub is_counted: bool,
}

impl<'a> FailedMessage<'a> {
    /// How long it waits after so many failures; `None`: there is no retry.
    fn delay(&self, failures: u64) -> Option<Duration> {
        match self.decision?.verdict(failures) {
            Verdict::Retry { delay } => Some(delay),
            Verdict::Exhausted => None,
        }
    }

    fn retry(&self, delay: Duration) -> NewRetry<'a> {
        let due_at = self.received_at.plus(delay);
        NewRetry { due_at, scheduled_at: self.received_at, queue: self.queue, by: Actor::SYSTEM, job: None }
    }

    fn scheduled_line(&self, delay: Duration) -> HistoryLine<'static> {
        let detail = format!("to {}, {}", self.queue, in_time(delay));
        HistoryLine { at: self.received_at, event: Event::RetryScheduled, by: Actor::SYSTEM, detail }
    }

    fn policy_step(&self, failures: u64, status: Status) -> Option<PolicyStep<'a>> {
        let outcome = if status == Status::Open { PolicyOutcome::Exhausted } else { PolicyOutcome::Failed };
        (!self.is_counted).then_some(PolicyStep { queue: self.queue, at: self.received_at, failures, outcome })
    }

    /// When it begins to need attention: now, or as far as anybody knows never.
    fn handed_over_at(&self, status: Status) -> Option<Timestamp> {
        (status != Status::Scheduled).then_some(self.received_at)
    }
}

/// What becomes of a message that was not here before.
pub fn received(message: FailedMessage<'_>, importance: Importance) -> Transition<'_> {
    let delay = message.delay(message.rounds);
    let status = if delay.is_some() { Status::Scheduled } else { Status::Open };
    let new = Transition::stay(status, importance);
    Transition {
        columns: ColumnChanges { handed_over_at: message.handed_over_at(status), ..new.columns },
        retry: delay.map_or(RetryChange::Keep, |delay| RetryChange::Schedule(message.retry(delay))),
        history: delay.map(|delay| message.scheduled_line(delay)).into_iter().collect(),
        policy_step: message.policy_step(if message.is_another { 1 } else { message.rounds }, status),
        ..new
    }
}

/// What the history says of it.
const SENT_TWICE: &str = "; its retry was interrupted, so it may have been sent twice";

/// Families of which one has come back although all of them were discarded.
#[derive(Debug, Default)]
pub struct RevivedFamilies(HashSet<LetterId>);

/// A letter that was sent back and has failed again, perhaps several times at once: copies of it were under way.
#[derive(Clone, Debug)]
pub struct FailedAgain<'a> {
    state: &'a LetterState,
    /// As it failed last.
    last: FailedMessage<'a>,
    attempts: u64,
    rounds: u64,
    /// The number of the failure it was sent back for, and one.
    failures: u64,
    /// Another edit of it stands: this one is not sent again.
    is_replaced: bool,
    lines: Vec<HistoryLine<'a>>,
}

impl<'a> FailedAgain<'a> {
    /// `revived` is about all letters that come back in one transaction.
    pub fn new(state: &'a LetterState, message: FailedMessage<'a>, revived: &mut RevivedFamilies) -> Self {
        let is_replaced = state.rival.is_some() || !revives(state, revived);
        // Another queue has a policy of its own, and counts from the beginning.
        let is_same_queue = state.queue.as_deref().unwrap_or_default() == message.queue;
        let rounds = if is_same_queue { state.rounds } else { 0 };
        let mut back = Self {
            state,
            last: message,
            attempts: state.attempts,
            rounds,
            failures: 0,
            is_replaced,
            lines: Vec::new(),
        };
        back.again(message);
        back.failures = back.rounds;
        // A second copy is perhaps under way, and what sent it may have died before it could say so.
        if state.retry.as_ref().is_some_and(PendingRetry::perhaps_sent_twice) {
            back.lines.iter_mut().for_each(|line| line.detail.push_str(SENT_TWICE));
        }
        let sent = back.sent().map(|retry| HistoryLine {
            at: message.received_at,
            event: Event::Retried,
            by: &retry.by,
            detail: format!("to {}, as is known by its coming back", retry.queue),
        });
        back.lines.splice(0..0, sent);
        back
    }

    /// Its retry, of which nobody knew yet that it was sent.
    fn sent(&self) -> Option<&'a PendingRetry> {
        let retry = self.state.retry.as_ref()?;
        (self.state.status == Status::Scheduled && retry.perhaps_sent()).then_some(retry)
    }

    /// Another copy of it has come back as well.
    pub fn again(&mut self, message: FailedMessage<'a>) {
        // What does not say which letter it is counts the tries of its framework since the last retry alone.
        let tries = if message.is_recognised && !message.is_own_retry { message.attempts.max(1) } else { 1 };
        let rounds = self.rounds.saturating_add(u64::from(!message.is_own_retry));
        self.attempts = message.attempts.max(self.attempts.saturating_add(tries));
        self.rounds = message.rounds.max(rounds);
        self.last = message;
        let how = match message {
            FailedMessage { is_own_retry: true, .. } => ", retried by its framework",
            FailedMessage { is_recognised: true, .. } => ", recognised without its id",
            _ => "",
        };
        let remark = match self.is_replaced {
            true => "; it stays set aside, since it was edited and another edit stands",
            false => "",
        };
        let detail = format!("attempt {}{how}{remark}", self.attempts);
        let (at, event) = (message.received_at, Event::FailedAgain);
        self.lines.push(HistoryLine { at, event, by: Actor::SYSTEM, detail });
    }

    /// How often it has failed by now.
    pub const fn attempts(&self) -> u64 {
        self.attempts
    }

    /// How often dlo has seen it fail by now.
    pub const fn rounds(&self) -> u64 {
        self.rounds
    }

    /// What becomes of it. A retry that stands already, as it was settled when the letter was sent before, stays, but for
    /// one by policy where the framework retries by itself: both may process it.
    pub fn transition(&self) -> Transition<'a> {
        let (state, message) = (self.state, self.last);
        let is_cancelled = message.is_own_retry && state.retry.as_ref().is_some_and(PendingRetry::is_automatic);
        let waits = state.waits() && !is_cancelled;
        let delay = message.delay(self.rounds).filter(|_| !self.is_replaced && !waits);
        let status = match delay {
            _ if self.is_replaced => Status::Discarded,
            Some(_) => Status::Scheduled,
            None if waits => Status::Scheduled,
            None => Status::Open,
        };
        let retry = match delay {
            Some(delay) => RetryChange::Replace(message.retry(delay)),
            None if waits => RetryChange::Keep,
            None => RetryChange::Cancel,
        };
        let lines = self.lines.iter().cloned().chain(delay.map(|delay| message.scheduled_line(delay)));
        Transition {
            columns: self.columns(status),
            retry,
            history: lines.collect(),
            group_step: self.group_step(),
            sent_step: self.sent_step(),
            policy_step: self.policy_step(status),
            ..Transition::stay(status, state.importance)
        }
    }

    /// Of what was sent back once one failure is counted, however many copies of it have come.
    fn policy_step(&self, status: Status) -> Option<PolicyStep<'a>> {
        let is_here = matches!(self.state.status, Status::Open | Status::Scheduled) && !self.state.is_away();
        let is_copy = is_here && !self.last.is_own_retry;
        self.last.policy_step(self.failures, status).filter(|_| !is_copy)
    }

    /// What is set aside for good stays so, from now on.
    fn columns(&self, status: Status) -> ColumnChanges<'a> {
        let at = self.last.received_at;
        ColumnChanges {
            closed_at: if self.is_replaced { Change::Set(at) } else { Change::Clear },
            handed_over_at: self.last.handed_over_at(status),
            problem: Change::Clear,
            ..ColumnChanges::default()
        }
    }

    fn sent_step(&self) -> Option<PolicyStep<'a>> {
        let retry = self.sent().filter(|retry| retry.is_automatic())?;
        let (at, failures) = (self.last.received_at, self.state.rounds);
        Some(PolicyStep { queue: &retry.queue, at, failures, outcome: PolicyOutcome::Retried })
    }

    fn group_step(&self) -> Option<GroupStep> {
        if self.sent().is_some() {
            return Some(GroupStep::SentAndFailedAgain { at: self.last.received_at });
        }
        let sent_at = self.state.closed_at.filter(|_| self.state.status == Status::Retried)?;
        Some(GroupStep::FailedAgain { sent_at })
    }
}

/// What becomes of a letter that was sent back and, most likely, has failed as the letter `copy`: that one needs attention
/// in its place.
pub fn failed_as_another<'a>(
    state: &'a LetterState,
    copy: LetterId,
    outcome: PolicyOutcome,
    at: Timestamp,
) -> Transition<'a> {
    let sent_at = state.closed_at.filter(|_| state.status == Status::Retried);
    let queue = state.queue.as_deref().unwrap_or_default();
    let detail = format!(
        "attempt {}, as another message, the dead letter {copy}; this one is set aside",
        state.attempts.saturating_add(1)
    );
    let columns = ColumnChanges { closed_at: Change::Set(at), handed_over_at: Some(at), ..ColumnChanges::default() };
    Transition {
        columns,
        group_step: sent_at.map(|sent_at| GroupStep::FailedAgain { sent_at }),
        policy_step: Some(PolicyStep { queue, at, failures: state.rounds.saturating_add(1), outcome }),
        ..Transition::stay(Status::Discarded, state.importance)
    }
    .retry(RetryChange::Cancel)
    .with(HistoryLine { at, event: Event::FailedAgain, by: Actor::SYSTEM, detail })
}

/// Whether a letter may be open again beside the other edits of it, none of which stands: only the first that comes back.
fn revives(state: &LetterState, RevivedFamilies(revived): &mut RevivedFamilies) -> bool {
    state.status != Status::Discarded || state.family.is_none_or(|family| revived.insert(family))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::lifecycle::tests::two_delays;

    #[test]
    fn what_a_framework_tries_by_itself_uses_up_no_delay() {
        let decision = two_delays();
        let waits = |attempts, rounds| {
            let received_at = Timestamp::default();
            let decision = Some(&decision);
            let message = FailedMessage {
                received_at,
                queue: "orders",
                attempts,
                is_recognised: false,
                is_own_retry: false,
                rounds,
                decision,
                is_another: false,
                is_counted: false,
            };
            matches!(received(message, Importance::Normal).retry, RetryChange::Schedule(_))
        };
        assert_eq!((waits(1, 1), waits(7, 1), waits(8, 2), waits(9, 3)), (true, true, true, false));
    }
}
