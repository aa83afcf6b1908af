//! Sending a letter back.

use super::{actor::Actor, letter::LetterId, message::Message, time::Timestamp};

/// A letter whose retry has been claimed for publishing by one process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimedRetry {
    pub id: LetterId,
    /// The queue it goes to.
    pub queue: String,
    /// The queue it failed in.
    pub failed_queue: Option<String>,
    /// Who asked for it.
    pub by: Actor,
    pub attempts: u64,
    pub due_at: Timestamp,
    /// Bytes of the body, so that a window can be cut before the contents are read.
    pub size: u64,
    /// An earlier attempt at publishing this retry was cut short, so it may go out twice.
    pub claimed_before: bool,
}

/// A message on its way to the default exchange.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutgoingRetry {
    pub id: LetterId,
    pub queue: String,
    pub message: Message,
}

/// How publishing a retry ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RetryOutcome {
    /// The broker has confirmed that the message is in the queue.
    Confirmed,
    /// It is back to open; why, for a person.
    Failed(String),
}
