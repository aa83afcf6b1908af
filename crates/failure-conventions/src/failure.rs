//! What a message says of its failure.

use amqp_message::{death::Reason, error_report::ErrorReport, time::Timestamp};

use crate::danger::Danger;

/// How often a message has failed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FailureCount {
    /// All tries, those that its framework made by itself included.
    pub attempts: u64,
    /// The times that dlo saw it fail.
    pub rounds: u64,
}

/// No message fails more often; whoever writes headers may say anything.
const MOST: u64 = 1_000_000;

impl FailureCount {
    /// At least once, and no more than is believed; then it says so in a whole clause.
    pub(crate) fn bounded(self) -> (Self, Option<String>) {
        let most = self.attempts.max(self.rounds);
        let why = || format!("it says that it failed {most} times, which is not believed beyond {MOST}");
        let bounded = Self { attempts: self.attempts.clamp(1, MOST), rounds: self.rounds.clamp(1, MOST) };
        (bounded, (most > MOST).then(why))
    }
}

/// Where, when and why a message failed, as far as it says so.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Failure {
    /// The queue it failed in; `None` where nothing in the message says so.
    pub queue: Option<String>,
    /// Why RabbitMQ dead-lettered it; where its framework published it itself, why that gave up.
    pub reason: Reason,
    /// The exchange it was first published to, as far as known; empty for the default exchange.
    pub exchange: String,
    /// The routing key it was first published with, as far as known.
    pub routing_key: String,
    /// How often it has failed so far, the tries that its framework made by itself included.
    pub attempts: u64,
    /// How often dlo has seen it fail, this time included.
    pub rounds: u64,
    /// When it failed for the first time.
    pub first_failed_at: Option<Timestamp>,
    /// When it failed for the last time. Only where it is recorded: RabbitMQ itself says the first of several deaths alike.
    pub last_failed_at: Option<Timestamp>,
    /// What the consumer says went wrong; most only reject and say nothing.
    pub error: Option<ErrorReport>,
    /// The type of the message, where it carries one.
    pub message_type: Option<String>,
    /// Why it must not be retried, when it must not.
    pub danger: Option<Danger>,
    /// Whether RabbitMQ says that it was rejected in another queue. One of the two is history, and nothing says which.
    pub is_disputed: bool,
}

impl Failure {
    /// How often it has failed so far.
    pub fn count(&self) -> FailureCount {
        FailureCount { attempts: self.attempts, rounds: self.rounds }
    }
}
