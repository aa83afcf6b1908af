//! Retries into a queue that are paused.

use amqp_message::time::Timestamp;

use super::{
    activity::{Area, AuditEntry, Concerns},
    actor::Actor,
};

/// Nothing is retried into this queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueuePause {
    pub broker: String,
    pub queue: String,
    /// It ends by itself as soon as the queue has a consumer.
    pub until_consumers: bool,
    /// Why; may be empty.
    pub note: String,
    pub by: Actor,
    pub at: Timestamp,
}

/// Whether one of these is of that queue.
pub fn is_paused(pauses: &[QueuePause], broker: &str, queue: &str) -> bool {
    pauses.iter().any(|pause| pause.is_of(broker, queue))
}

impl QueuePause {
    pub fn is_of(&self, broker: &str, queue: &str) -> bool {
        self.broker == broker && self.queue == queue
    }

    /// What is written down about it.
    pub fn entry(&self) -> AuditEntry {
        let until = if self.until_consumers { "until it has a consumer" } else { "until somebody resumes it" };
        let note = if self.note.is_empty() { String::new() } else { format!(": {}", self.note) };
        AuditEntry {
            detail: format!("{until}{note}"),
            concerns: Concerns::Queue(self.broker.clone(), self.queue.clone()),
            ..AuditEntry::new(self.at, &self.by, Area::Queues, "pause", &*self.queue)
        }
    }
}
