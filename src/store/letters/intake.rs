//! What is taken in together, and its result.

use std::collections::HashSet;

use amqp_message::{message::Message, time::Timestamp, xdeath};
use failure_conventions::{Failure, OwnRetry};
use uuid::Uuid;

use crate::{
    domain::{
        content_key::ContentKey,
        letter::{Importance, LetterId},
        lifecycle::{LetterState, Transition, failures::FailedMessage},
        policy::Decision,
    },
    grouping,
    store::{StoreError, counts::facets::FacetKey},
};

/// What two deliveries of one message have in common: in the upper half a hash over all that was published and what
/// RabbitMQ added, in the lower one a hash over when it was dead-lettered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Fingerprint(pub u128);

impl Fingerprint {
    pub fn new(message: u64, times: u64) -> Self {
        Self(u128::from(message) << 64 | u128::from(times))
    }

    /// What is the same when it is dead-lettered at another time.
    pub(super) const fn message(self) -> u128 {
        self.0 >> 64
    }
}

/// What a delivery was when it was to be sent on, and in which batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SentOn {
    pub(in crate::store) batch: Uuid,
    pub id: LetterId,
    pub rounds: u64,
}

/// A message that has come into dlo.
#[derive(Clone, Debug)]
pub struct Arrival {
    /// The id it gets if it turns out to be new.
    pub id: LetterId,
    /// The letter it says it is, when it was sent back by this server before and failed in the same queue again.
    pub returning: Option<LetterId>,
    /// It does not say so itself: it was recognised by what it brings.
    pub is_recognised: bool,
    /// It is a copy that its framework published to retry it by itself, though it rejects each.
    pub own_retry: Option<OwnRetry>,
    pub content: ContentKey,
    /// Its other key, by its `message_id`.
    pub id_key: Option<ContentKey>,
    pub fingerprint: Fingerprint,
    /// RabbitMQ has delivered it before.
    pub redelivered: bool,
    pub received_at: Timestamp,
    pub failure: Failure,
    /// What the retry policy rules for it; `None` for an obituary, which needs attention in any case.
    pub decision: Option<Decision>,
    /// dlo sent it on itself, and counted it then.
    pub is_counted: bool,
    /// As which failure the figures have it, where that is not how often it has failed.
    pub counted_as: Option<u64>,
    /// What it was while it waited in RabbitMQ, among what was sent back: it is that no more.
    pub waited: Option<(ContentKey, LetterId)>,
    /// It was to be sent on before, and is delivered once more.
    pub sent_on: Option<SentOn>,
    pub importance: Importance,
    pub importance_by: &'static str,
    pub message: Message,
    /// What was found and decided this time.
    pub remarks: Vec<String>,
    /// What of it could not be kept as it was sent. That stays so whenever it comes back.
    pub losses: Vec<String>,
}

impl Arrival {
    /// The message, and nothing of what it says of itself, which the database refuses for this reason.
    pub fn plain(&self, why: &StoreError) -> Self {
        let remark = format!("what it says of its failure could not be stored ({why}), so only the message itself was");
        Self {
            returning: None,
            is_recognised: false,
            own_retry: None,
            failure: Failure {
                attempts: self.failure.attempts,
                rounds: self.failure.rounds,
                danger: self.failure.danger,
                ..Failure::default()
            },
            decision: None,
            remarks: vec![remark],
            ..self.clone()
        }
    }

    /// Where a letter of `broker` is counted that has failed like this.
    pub(super) fn facet(&self, broker: &str, transition: &Transition<'_>) -> FacetKey {
        FacetKey {
            broker: broker.to_owned(),
            queue: self.failure.queue.clone().unwrap_or_default(),
            reason: self.failure.reason,
            status: transition.status,
            importance: transition.importance,
        }
    }

    /// When it failed: as it says or, where it says nothing or something impossible, when it came in.
    pub(crate) fn failed_at(&self) -> Timestamp {
        self.failure.last_failed_at.filter(|at| *at < self.received_at).unwrap_or(self.received_at)
    }

    /// Whether our headers say which letter it is, and which of its failures.
    pub(super) const fn names_its_letter(&self) -> bool {
        self.returning.is_some() && !self.is_recognised
    }

    fn is_dead_lettered(&self) -> bool {
        !xdeath::deaths(&self.message.headers).is_empty()
    }

    /// Whether something in it is another with each failure: our headers, or those of RabbitMQ.
    pub(in crate::store) fn says_which(&self) -> bool {
        self.names_its_letter() || self.is_dead_lettered()
    }

    /// Whether it could be told that RabbitMQ has dead-lettered it once more.
    pub(super) fn may_be_dead_lettered_again(&self) -> bool {
        let is_named = self.names_its_letter() || self.message.properties.message_id.is_some();
        is_named && self.own_retry.is_none() && self.is_dead_lettered()
    }

    /// All that its retry policy looks at.
    pub(super) fn failed_message(&self) -> FailedMessage<'_> {
        FailedMessage {
            received_at: self.received_at,
            queue: self.failure.queue.as_deref().unwrap_or_default(),
            attempts: self.failure.attempts,
            is_recognised: self.is_recognised,
            is_own_retry: self.own_retry.is_some(),
            rounds: self.failure.rounds,
            decision: self.decision.as_ref(),
            is_another: false,
            is_counted: self.is_counted,
        }
    }

    pub(crate) fn error_type(&self) -> Option<&str> {
        self.failure.error.as_ref()?.kind.as_deref().map(listed)
    }

    /// Where there is only a stack trace, its first line.
    pub(crate) fn error_message(&self) -> Option<&str> {
        let error = self.failure.error.as_ref()?;
        let first_line = || error.stacktrace.as_deref().filter(|_| error.kind.is_none())?.lines().next();
        error.message.as_deref().or_else(first_line).map(listed)
    }

    /// Whether it has failed as this letter did, with an error that has `error` in common with those that are alike.
    pub(super) fn fails_like(&self, was: &LetterState, error: &str) -> bool {
        let Failure { queue, reason, .. } = &self.failure;
        was.queue.as_deref().unwrap_or_default() == queue.as_deref().unwrap_or_default()
            && was.reason == *reason
            && error == grouping::alike(self.error_type(), self.error_message())
    }
}

/// As much of a text as lists show, and letters are told apart by.
fn listed(text: &str) -> &str {
    const CHARACTERS: usize = 1_000;
    text.char_indices().nth(CHARACTERS).and_then(|(end, _)| text.get(..end)).unwrap_or(text)
}

/// Arrivals that are committed and then acknowledged together.
pub struct IntakeBatch<'a> {
    pub id: Uuid,
    pub broker: &'a str,
    /// The queue they were consumed from.
    pub queue: &'a str,
    /// Names the connection that they came by.
    pub session: Uuid,
    /// Whether that connection is gone by now: RabbitMQ delivers to others what it brought, and they may be quicker.
    pub is_cut: &'a (dyn Fn() -> bool + Send + Sync),
    /// That connection is new: RabbitMQ may have been killed, and dead-letter again what was rejected just before.
    pub is_first: bool,
    pub recorded_at: Timestamp,
    pub arrivals: &'a [Arrival],
    /// Earlier batches of which more is known by now.
    pub settled: AckState<'a>,
}

impl IntakeBatch<'_> {
    /// Whether some of it may be here already.
    pub(crate) fn may_repeat(&self) -> bool {
        self.arrivals
            .iter()
            .any(|arrival| arrival.redelivered || (self.is_first && arrival.may_be_dead_lettered_again()))
    }

    /// Whether some of it may have come by its own connection already.
    pub(super) fn may_repeat_itself(&self) -> bool {
        let may = |arrival: &Arrival| arrival.names_its_letter() && arrival.may_be_dead_lettered_again();
        self.is_first && self.arrivals.iter().any(may)
    }
}

/// The outcome of an arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recorded {
    /// A letter that needs attention and was not here before.
    New(LetterId),
    /// One that was sent back, failed again and needs attention.
    FailedAgain(LetterId),
    /// New or not, it waits for its retry.
    Waits(LetterId),
    /// Already here: the broker had not seen the acknowledgement.
    Redelivered(LetterId),
}

impl Recorded {
    pub const fn letter(self) -> LetterId {
        match self {
            Self::New(id) | Self::FailedAgain(id) | Self::Waits(id) | Self::Redelivered(id) => id,
        }
    }

    pub(super) fn or_waits(self, waiting: &HashSet<LetterId>) -> Self {
        match self {
            Self::New(id) | Self::FailedAgain(id) if waiting.contains(&id) => Self::Waits(id),
            _ => self,
        }
    }
}

/// Batches whose acknowledgements the broker has seen.
#[derive(Clone, Copy, Debug, Default)]
pub struct AckState<'a> {
    /// Just now; a broker that is killed may forget it again.
    pub confirmed: &'a [Uuid],
    /// So long ago that they may be forgotten.
    pub expired: &'a [Uuid],
}

impl AckState<'_> {
    pub(super) const fn is_empty(&self) -> bool {
        self.confirmed.is_empty() && self.expired.is_empty()
    }
}
