//! What happened to a letter, and by whom.

use amqp_message::{time::Timestamp, word_enum};

use super::actor::Actor;

word_enum! {
    /// The kinds of events in a letter's life.
    Event, "event" {
        /// It came into dlo.
        Received = "received",
        /// It was sent back and failed again.
        FailedAgain = "failed_again",
        /// Its type, importance and group could not be found out.
        NotEnriched = "not_enriched",
        /// RabbitMQ delivered it once more after an interrupted acknowledgement.
        Redelivered = "redelivered",
        RetryScheduled = "retry_scheduled",
        /// Published and confirmed by the broker.
        Retried = "retried",
        RetryFailed = "retry_failed",
        Discarded = "discarded",
        /// A discard undone, or a scheduled retry cancelled.
        Reopened = "reopened",
        /// It has an edited copy in its place, or is that copy.
        Edited = "edited",
        ImportanceSet = "importance_set",
        NoteSet = "note_set",
        TypeSet = "type_set",
        /// Somebody has looked at values that are hidden.
        Revealed = "revealed",
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HistoryEntry {
    pub at: Timestamp,
    pub event: Event,
    pub by: Actor,
    /// A sentence for users; empty when the event says it all.
    pub detail: String,
}
