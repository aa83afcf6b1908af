//! What a decision changes.

use std::time::Duration;

use amqp_message::time::Timestamp;
use uuid::Uuid;

use crate::domain::{
    actor::Actor,
    history::Event,
    letter::{Importance, Status},
};

/// What becomes of one letter. Whoever applies it also moves the letter from one count to the other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transition<'a> {
    pub status: Status,
    pub importance: Importance,
    pub columns: ColumnChanges<'a>,
    pub retry: RetryChange<'a>,
    /// What its history says of it, in this order.
    pub history: Vec<HistoryLine<'a>>,
    /// What it adds to the figures of its group.
    pub group_step: Option<GroupStep>,
    /// What it adds to the figures of automatic retries.
    pub policy_step: Option<PolicyStep<'a>>,
    /// The retry before that, where nobody knew yet that it was sent.
    pub sent_step: Option<PolicyStep<'a>>,
}

/// What becomes of single values that are kept of a letter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct ColumnChanges<'a> {
    /// When it was sent back or discarded.
    pub closed_at: Change<Timestamp>,
    /// Since when it is no longer the policy's alone; what stands there already stays.
    pub handed_over_at: Option<Timestamp>,
    pub note: Change<&'a str>,
    /// What went wrong with the last retry.
    pub problem: Change<&'a str>,
    pub importance_by: Option<&'a str>,
    /// The rules are tried as on a letter that has just come in.
    pub rules_anew: bool,
    /// The type that a user says. Where that is taken back, the type is to be found out anew.
    pub type_by_hand: Change<&'a str>,
}

/// What becomes of one value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Change<T> {
    #[default]
    Keep,
    Set(T),
    Clear,
}

impl<T> Change<T> {
    pub fn map<U>(self, to: impl FnOnce(T) -> U) -> Change<U> {
        match self {
            Self::Keep => Change::Keep,
            Self::Set(value) => Change::Set(to(value)),
            Self::Clear => Change::Clear,
        }
    }
}

/// What becomes of the retry of a letter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RetryChange<'a> {
    #[default]
    Keep,
    Cancel,
    /// In place of any there is. Whether that was perhaps sent stays known.
    Schedule(NewRetry<'a>),
    /// What there is is over; this is another.
    Replace(NewRetry<'a>),
}

impl<'a> RetryChange<'a> {
    pub const fn is_over(&self) -> bool {
        matches!(self, Self::Cancel | Self::Replace(_))
    }

    pub const fn new_retry(&self) -> Option<&NewRetry<'a>> {
        match self {
            Self::Keep | Self::Cancel => None,
            Self::Schedule(retry) | Self::Replace(retry) => Some(retry),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NewRetry<'a> {
    pub due_at: Timestamp,
    pub scheduled_at: Timestamp,
    /// The queue it goes to.
    pub queue: &'a str,
    /// Who asks for it.
    pub by: &'a str,
    /// The job that sends it.
    pub job: Option<Uuid>,
}

impl<'a> NewRetry<'a> {
    /// One that somebody asks for at this moment.
    pub(super) fn after(delay: Duration, at: Timestamp, queue: &'a str, by: &'a Actor) -> Self {
        Self { due_at: at.plus(delay), scheduled_at: at, queue, by: by.as_str(), job: None }
    }
}

/// One line of a letter's history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HistoryLine<'a> {
    pub at: Timestamp,
    pub event: Event,
    pub by: &'a str,
    /// A sentence for users; empty when the event says it all.
    pub detail: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupStep {
    /// One of its letters was sent back.
    Sent { at: Timestamp },
    /// One that was sent back then has failed again.
    FailedAgain { sent_at: Timestamp },
    /// One has failed again of which nobody knew that it was sent.
    SentAndFailedAgain { at: Timestamp },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PolicyStep<'a> {
    /// The queue, empty where nothing says which.
    pub queue: &'a str,
    pub at: Timestamp,
    /// How often the message has failed.
    pub failures: u64,
    pub outcome: PolicyOutcome,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PolicyOutcome {
    /// It has failed, and does not need attention for that.
    Failed,
    /// It has failed and needs attention: no automatic retry is left, or there was none.
    Exhausted,
    /// Its retry was sent.
    Retried,
}

impl<'a> Transition<'a> {
    /// One that changes nothing, of a letter that stands so.
    pub(super) fn stay(status: Status, importance: Importance) -> Self {
        Self {
            status,
            importance,
            columns: ColumnChanges::default(),
            retry: RetryChange::Keep,
            history: Vec::new(),
            group_step: None,
            policy_step: None,
            sent_step: None,
        }
    }

    /// Why its retry could not be sent, and when that was known.
    pub fn not_sent(&self) -> Option<(&'a str, Timestamp)> {
        match self.columns.problem {
            Change::Set(why) => self.history.last().map(|line| (why, line.at)),
            Change::Keep | Change::Clear => None,
        }
    }

    /// Moves a letter that had the status `from`, at this moment.
    pub(super) fn to(self, from: Status, status: Status, at: Timestamp) -> Self {
        let closed_at = match status {
            _ if from == status => Change::Keep,
            Status::Retried | Status::Discarded => Change::Set(at),
            Status::Open | Status::Scheduled => Change::Clear,
        };
        Self { status, columns: ColumnChanges { closed_at, ..self.columns }, ..self }
    }

    pub(super) fn retry(self, retry: RetryChange<'a>) -> Self {
        Self { retry, ..self }
    }

    pub(super) fn with(mut self, line: HistoryLine<'a>) -> Self {
        self.history.push(line);
        self
    }
}
