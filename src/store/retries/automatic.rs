//! Letters that wait for a retry because a policy says so.

use std::time::Duration;

use super::{
    outcomes::RetryTally,
    schedule::{self, NewRetry},
};
use crate::{
    domain::{
        actor::Actor,
        command::in_time,
        history::Event,
        letter::{LetterId, Status},
        policy::Verdict,
    },
    store::{
        StoreError,
        db::Tx,
        letters::{
            history::{self, NewEntry},
            record::Arrival,
        },
    },
};

/// A letter of a batch that has failed, for the first time or again.
pub(crate) struct Failed<'a> {
    pub(crate) letter: LetterId,
    pub(crate) arrival: &'a Arrival,
    /// How often by now.
    pub(crate) failures: u64,
    /// How long it waits now, when it is the policy's turn.
    pub(crate) delay: Option<Duration>,
    /// Its next retry stands already: another copy of the message is back.
    pub(crate) is_scheduled: bool,
    /// An edited copy of it stands in its place.
    pub(crate) is_replaced: bool,
}

impl<'a> Failed<'a> {
    pub(crate) fn new(letter: LetterId, arrival: &'a Arrival, failures: u64) -> Self {
        let verdict = arrival.ruling.as_ref().map(|ruling| ruling.verdict(failures));
        let delay = match verdict {
            Some(Verdict::Retry { delay }) => Some(delay),
            Some(Verdict::Exhausted) | None => None,
        };
        Self { letter, arrival, failures, delay, is_scheduled: false, is_replaced: false }
    }

    pub(crate) const fn waits(&self) -> bool {
        self.is_scheduled || self.delay.is_some()
    }

    pub(crate) const fn status(&self) -> Status {
        if self.is_replaced {
            Status::Discarded
        } else if self.waits() {
            Status::Scheduled
        } else {
            Status::Open
        }
    }

    fn queue(&self) -> &'a str {
        self.arrival.failure.queue.as_deref().unwrap_or_default()
    }
}

/// Schedules the retries of those that have none yet.
pub(crate) async fn schedule(tx: &mut Tx, broker: &str, failed: &[Failed<'_>]) -> Result<(), StoreError> {
    let due = || {
        let waits = failed.iter().filter(|failed| !failed.is_scheduled);
        waits.filter_map(|failed| Some((failed, failed.delay?)))
    };
    let retry = |(failed, delay): (&'_ Failed<'_>, Duration)| NewRetry {
        letter: failed.letter,
        broker: broker.to_owned(),
        due_at: failed.arrival.received_at.plus(delay),
        queue: failed.queue().to_owned(),
        by: Actor::SYSTEM.to_owned(),
    };
    let line = |(failed, delay): (&'_ Failed<'_>, Duration)| NewEntry {
        letter: failed.letter,
        at: failed.arrival.received_at,
        event: Event::RetryScheduled,
        by: Actor::SYSTEM,
        detail: format!("to {}, {}", failed.queue(), in_time(delay)),
    };
    schedule::schedule(tx, &due().map(retry).collect::<Vec<_>>()).await?;
    history::append_in_order(tx, &due().map(line).collect::<Vec<_>>()).await
}

/// Counts what the policies ruled.
pub(crate) async fn count(tx: &mut Tx, broker: &str, failed: &[Failed<'_>]) -> Result<(), StoreError> {
    let mut tally = RetryTally::default();
    for failed in failed.iter().filter(|failed| failed.arrival.ruling.is_some()) {
        let at = failed.arrival.received_at;
        tally.failed(broker, failed.queue(), at, failed.failures);
        if !failed.waits() {
            tally.exhausted(broker, failed.queue(), at, failed.failures);
        }
    }
    tally.apply(tx).await
}
