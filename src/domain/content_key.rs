//! What a message has in common with itself when it comes back as another one.

use std::hash::Hash;

use amqp_message::message::Message;
use failure_conventions::{FailureReport, identity};
use xxhash_rust::xxh3::Xxh3;

/// A hash over what stays of a message when a framework publishes it anew. Two with different keys are different
/// messages; two with the same key may be, see [`identity::Identity::differs_from`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ContentKey(pub i64);

impl ContentKey {
    /// The key of a message of which `report` was read.
    pub fn of(message: &Message, report: &FailureReport) -> Self {
        let mut hash = Xxh3::new();
        identity::hash(message, report, &mut hash);
        Self(hash.digest().cast_signed())
    }

    /// Another key of it, by its `message_id` alone, where that is perhaps unlike that of any other message.
    pub fn of_id(message: &Message) -> Option<Self> {
        let (id, _) = identity::message_id(message)?;
        Some(Self::hashed(("message id", id)))
    }

    /// Stands for no message, but for all of a queue whose framework retries them by itself.
    pub fn of_own_retries(broker: &str, queue: &str) -> Self {
        Self::hashed(("own retries", broker, queue))
    }

    /// Stands for all messages of a queue that are not retried any more, as too many copies of them were.
    pub fn of_stops(broker: &str, queue: &str) -> Self {
        Self::hashed(("stops", broker, queue))
    }

    fn hashed(what: impl Hash) -> Self {
        let mut hash = Xxh3::new();
        what.hash(&mut hash);
        Self(hash.digest().cast_signed())
    }
}
