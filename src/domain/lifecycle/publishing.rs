//! What becomes of a letter whose retry was published, or could not be.

use amqp_message::time::Timestamp;

use super::{
    Change, ColumnChanges, GroupStep, HistoryLine, LetterState, PolicyOutcome, PolicyStep, RetryChange, Transition,
};
use crate::domain::{
    actor::Actor,
    history::Event,
    letter::Status,
    retry::{ClaimedRetry, RetryOutcome},
};

/// What was confirmed is retried; what was not is open again and says why.
///
/// A letter that failed again before its confirm was read is open already, or waits for a newer retry: it stays so, and
/// its history has said so.
pub fn published<'a>(
    state: &'a LetterState,
    retry: &'a ClaimedRetry,
    outcome: &'a RetryOutcome,
    now: Timestamp,
) -> Transition<'a> {
    let stay = Transition::stay(state.status, state.importance);
    let told = || Transition::stay(state.status, state.importance).with(line(retry, outcome, now));
    if !is_decided(state, retry, outcome) {
        let is_back = *outcome == RetryOutcome::Confirmed && state.received_at > retry.due_at;
        return if is_back { stay } else { told() };
    }
    let ended = told().retry(RetryChange::Cancel);
    match outcome {
        RetryOutcome::Confirmed => {
            let sent = ended.to(state.status, Status::Retried, now);
            let group_step = (state.status == Status::Scheduled).then_some(GroupStep::Sent { at: now });
            Transition { group_step, policy_step: policy_step(retry, now), ..sent }
        }
        RetryOutcome::Failed(why) => {
            let open = ended.to(state.status, Status::Open, now);
            let columns = ColumnChanges { problem: Change::Set(&**why), handed_over_at: Some(now), ..open.columns };
            Transition { columns, ..open }
        }
    }
}

/// Whether what became of this claim decides about the retry as it stands: what is confirmed is sent, also where the claim has
/// ended and the retry was claimed again, or given back since; of a failure only who holds the last claim can tell.
fn is_decided(state: &LetterState, retry: &ClaimedRetry, outcome: &RetryOutcome) -> bool {
    let pending = state.retry.as_ref().filter(|pending| pending.due_at == retry.due_at);
    pending.is_some_and(|pending| match outcome {
        RetryOutcome::Confirmed => pending.claims >= retry.claims,
        RetryOutcome::Failed(_) => pending.claimed_until.is_some() && pending.claims == retry.claims,
    })
}

/// What went back by itself is counted.
fn policy_step(retry: &ClaimedRetry, at: Timestamp) -> Option<PolicyStep<'_>> {
    let step = PolicyStep { queue: &retry.queue, at, failures: retry.count.rounds, outcome: PolicyOutcome::Retried };
    (retry.by.as_str() == Actor::SYSTEM).then_some(step)
}

fn sent(retry: &ClaimedRetry) -> String {
    format!("to {}{}", retry.queue, if retry.without_expiry { ", without its expiry" } else { "" })
}

fn line<'a>(retry: &'a ClaimedRetry, outcome: &RetryOutcome, at: Timestamp) -> HistoryLine<'a> {
    let (event, detail) = match outcome {
        RetryOutcome::Confirmed if retry.claimed_before() => (
            Event::Retried,
            format!("{}; an earlier attempt was interrupted, so it may have been sent twice", sent(retry)),
        ),
        RetryOutcome::Confirmed => (Event::Retried, sent(retry)),
        RetryOutcome::Failed(why) => (Event::RetryFailed, why.clone()),
    };
    HistoryLine { at, event, by: retry.by.as_str(), detail }
}
