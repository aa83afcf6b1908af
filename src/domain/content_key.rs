//! What a message has in common with itself when it comes back as another one.

use std::hash::Hash;

use amqp_message::message::Message;
use failure_conventions::{FailureReport, identity};
use xxhash_rust::xxh3::Xxh3;

/// A hash over what stays of a message when a framework publishes it anew. Two with different keys are different
/// messages; two with the same key may be, see [`identity::are_different`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ContentKey(pub i64);

impl ContentKey {
    /// The key of a message of which `report` was read.
    pub fn of(message: &Message, report: &FailureReport) -> Self {
        let mut hash = Xxh3::new();
        identity::hash(message, report, &mut hash);
        Self(hash.digest().cast_signed())
    }

    /// Stands for no message, but for all of a queue whose framework retries them by itself.
    pub fn of_own_retries(queue: &str) -> Self {
        let mut hash = Xxh3::new();
        ("own retries", queue).hash(&mut hash);
        Self(hash.digest().cast_signed())
    }
}
