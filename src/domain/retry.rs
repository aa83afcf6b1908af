//! Sending a letter back.

use std::time::Duration;

use amqp_message::{death::Reason, message::Message, time::Timestamp};
use failure_conventions::FailureCount;

use super::{actor::Actor, letter::LetterId};

/// A letter whose retry has been claimed for publishing by one process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimedRetry {
    pub id: LetterId,
    /// The queue it goes to.
    pub queue: String,
    /// The queue it failed in, and why.
    pub failed_queue: Option<String>,
    pub reason: Reason,
    /// The one it was first published with, as far as known.
    pub routing_key: String,
    /// Who asked for it.
    pub by: Actor,
    /// How often it has failed.
    pub count: FailureCount,
    pub due_at: Timestamp,
    /// Bytes of the body, so that a window can be cut before the contents are read.
    pub size: u64,
    /// How often it has been claimed, this time included.
    pub claims: u64,
    /// It had expired, and went out without that: its consumer would have dropped it.
    pub without_expiry: bool,
    /// It is an edited copy of another letter.
    pub is_edited: bool,
}

/// One claim of a retry. Others of it have other numbers, but for one that was given back as if it had never been made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Claim {
    pub letter: LetterId,
    /// What is asked for anew is due at another time, and its claims may be counted from the beginning.
    pub due_at: Timestamp,
    pub number: u64,
}

impl ClaimedRetry {
    pub const fn claim(&self) -> Claim {
        Claim { letter: self.id, due_at: self.due_at, number: self.claims }
    }

    /// An earlier attempt at publishing this retry was cut short, so it may go out twice.
    pub const fn claimed_before(&self) -> bool {
        self.claims > 1
    }
}

/// A message on its way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutgoingRetry {
    pub id: LetterId,
    pub destination: Destination,
    /// Why it failed before.
    pub reason: Reason,
    pub message: Message,
}

/// The one queue a message is to reach, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Destination {
    pub queue: String,
    /// What its consumer sees as the routing key; `None` for the name of the queue.
    pub routing_key: Option<String>,
    /// A wait in the broker on the way.
    pub wait: Option<Wait>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wait {
    pub from: Timestamp,
    /// Counted in whole milliseconds; each length is a queue of its own in the broker.
    pub length: Duration,
}

impl Destination {
    pub fn straight_to(queue: impl Into<String>) -> Self {
        Self { queue: queue.into(), routing_key: None, wait: None }
    }

    #[must_use]
    pub fn with_key(self, routing_key: impl Into<String>) -> Self {
        Self { routing_key: Some(routing_key.into()), ..self }
    }

    /// After a wait of that length, which begins now.
    #[must_use]
    pub fn after(self, length: Duration, now: Timestamp) -> Self {
        Self { wait: Some(Wait { from: now, length }), ..self }
    }
}

/// Why a message is not sent back by itself whose consumer would drop it.
pub const EXPIRED: &str =
    "it has expired, and its consumer would drop it in silence; a retry by hand goes without its expiry";

/// How publishing a retry ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RetryOutcome {
    /// The broker has confirmed that the message is in the queue.
    Confirmed,
    /// It is back to open; why, in words.
    Failed(String),
}
