//! How a letter stands: all that decisions about it depend on.

use amqp_message::{death::Reason, time::Timestamp};
use failure_conventions::{FailureCount, danger::Danger};
use uuid::Uuid;

use super::recognition::is_away;
use crate::domain::{
    actor::Actor,
    group::GroupId,
    letter::{Importance, LetterId, Status},
};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LetterState {
    pub id: LetterId,
    pub broker: String,
    /// The queue it failed in; `None` where nothing says so.
    pub queue: Option<String>,
    pub reason: Reason,
    pub status: Status,
    pub importance: Importance,
    /// `rule:<name>`, `manual` or `default`.
    pub importance_by: String,
    /// The type a user has given it.
    pub type_by_hand: Option<String>,
    pub note: Option<String>,
    pub group: Option<GroupId>,
    pub received_at: Timestamp,
    /// When its type, importance and group were found last.
    pub enriched_at: Option<Timestamp>,
    /// How often it has failed, and how often of these dlo has seen it.
    pub attempts: u64,
    pub rounds: u64,
    /// Why it must not be retried, when it must not.
    pub danger: Option<Danger>,
    /// When it was sent back or discarded.
    pub closed_at: Option<Timestamp>,
    /// The first of the letters that are edits of one another, where it is one of those.
    pub family: Option<LetterId>,
    /// Another of them that is not discarded. As long as there is one, this one must not be sent.
    pub rival: Option<LetterId>,
    /// It has come back without its id. So another copy of it may be under way.
    pub was_recognised: bool,
    /// There is one exactly while the letter is scheduled.
    pub retry: Option<PendingRetry>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PendingRetry {
    pub due_at: Timestamp,
    /// The queue it goes to.
    pub queue: String,
    /// Who asks for it.
    pub by: String,
    /// It is being published, by a process that is given up for dead after this.
    pub claimed_until: Option<Timestamp>,
    /// How often it was claimed to be published, without being marked afterwards.
    pub claims: u64,
    /// The job that sends it.
    pub job: Option<Uuid>,
}

impl PendingRetry {
    /// A policy has scheduled it.
    pub fn is_automatic(&self) -> bool {
        self.by == Actor::SYSTEM
    }

    /// It is being published, or an earlier try was cut short: the message may have arrived.
    pub const fn perhaps_sent(&self) -> bool {
        self.claims > 0
    }

    /// A try was cut short, and another was begun: the message may have arrived more than once.
    pub const fn perhaps_sent_twice(&self) -> bool {
        self.claims > 1
    }
}

impl LetterState {
    /// How often it has failed.
    pub const fn count(&self) -> FailureCount {
        FailureCount { attempts: self.attempts, rounds: self.rounds }
    }

    /// `importance_by` of what a user has chosen.
    pub const BY_HAND: &str = "manual";
    /// `importance_by` of what no rule takes.
    pub const BY_DEFAULT: &str = "default";

    /// Where a retry goes: to the queue that is named, to where the retry goes that waits already, or to where it failed.
    pub fn target<'a>(&'a self, named: Option<&'a str>) -> Option<&'a str> {
        let waiting = self.retry.as_ref().map(|retry| &*retry.queue);
        named.or(waiting).or(self.queue.as_deref())
    }

    /// Its retry is scheduled and has not been published, not even perhaps.
    pub fn waits(&self) -> bool {
        self.status == Status::Scheduled && self.retry.as_ref().is_some_and(|retry| !retry.perhaps_sent())
    }

    /// The job that sends it.
    pub fn job(&self) -> Option<Uuid> {
        self.retry.as_ref()?.job
    }

    /// It was sent and has not been seen since.
    pub fn is_away(&self) -> bool {
        is_away(self.status, self.retry.as_ref().map_or(0, |retry| retry.claims))
    }

    /// Its retry is being published.
    pub(super) fn is_in_flight(&self, now: Timestamp) -> bool {
        self.retry.as_ref().and_then(|retry| retry.claimed_until).is_some_and(|until| until > now)
    }
}
