//! What becomes of a letter in whose place an edited copy is sent, and of that copy.

use std::time::Duration;

use amqp_message::time::Timestamp;
use uuid::Uuid;

use super::{HistoryLine, LetterState, NewRetry, RetryChange, Transition};
use crate::domain::{
    actor::Actor,
    command::{Refusal, in_time},
    history::Event,
    letter::{LetterId, Status},
};

/// A copy that is to be sent in the place of a letter.
#[derive(Clone, Copy, Debug)]
pub struct NewCopy<'a> {
    pub id: LetterId,
    pub delay: Duration,
    /// Where to; if it is not named, where a retry would go.
    pub queue: Option<&'a str>,
    /// What the edit changes.
    pub summary: &'a str,
    pub by: &'a Actor,
    pub at: Timestamp,
    /// The job that makes it.
    pub job: Option<Uuid>,
}

/// The two letters that there are after an edit.
#[derive(Debug, PartialEq, Eq)]
pub struct Edited<'a> {
    pub original: Transition<'a>,
    /// Of a letter that is its original in all but the contents.
    pub copy: Transition<'a>,
    /// The queue that the copy goes to.
    pub target: &'a str,
}

/// Sets the original aside and schedules its copy.
///
/// # Errors
/// Why the letter may not be edited as it stands.
pub fn edit<'a>(state: &'a LetterState, copy: &NewCopy<'a>) -> Result<Edited<'a>, Refusal> {
    check(state, copy.at)?;
    let target = state.target(copy.queue).ok_or(Refusal::QueueUnknown)?;
    let NewCopy { id, delay, summary, by, at, job, .. } = *copy;
    let line = |event, detail| HistoryLine { at, event, by: by.as_str(), detail };
    let mut stay = Transition::stay(state.status, state.importance);
    stay.columns.handed_over_at = Some(at);
    let original = stay
        .clone()
        .to(state.status, Status::Discarded, at)
        .retry(RetryChange::Cancel)
        .with(line(Event::Edited, format!("copy {id}: {summary}")));
    let scheduled = stay
        .to(Status::Scheduled, Status::Scheduled, at)
        .retry(RetryChange::Schedule(NewRetry { job, ..NewRetry::after(delay, at, target, by) }))
        .with(line(Event::Edited, format!("edited copy of {}: {summary}", state.id)))
        .with(line(Event::RetryScheduled, format!("to {target}, {}", in_time(delay))));
    Ok(Edited { original, copy: scheduled, target })
}

/// Whether letters of that status are edited.
pub fn check_status(status: Status) -> Result<(), Refusal> {
    match status {
        Status::Open | Status::Scheduled => Ok(()),
        Status::Retried | Status::Discarded => Err(Refusal::WrongStatus { command: "edit", status }),
    }
}

fn check(state: &LetterState, at: Timestamp) -> Result<(), Refusal> {
    check_status(state.status)?;
    if state.is_in_flight(at) {
        return Err(Refusal::InFlight);
    }
    if state.status == Status::Scheduled && !state.waits() {
        return Err(Refusal::PerhapsSent);
    }
    state.rival.map_or(Ok(()), |by| Err(Refusal::Replaced { by }))
}
