//! What happened to a letter, and by whom.

use std::time::Duration;

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

/// How much later than the failure it led to a retry is confirmed, at most.
const LATE_CONFIRM: Duration = Duration::from_secs(5);

/// In the order in which it happened: a retry stands before the failure that it led to, though that may be written down before
/// the broker's confirm is.
pub fn in_order(mut history: Vec<HistoryEntry>) -> Vec<HistoryEntry> {
    for n in 2..history.len() {
        let [scheduled, failed, sent] = &history[n - 2..=n] else { continue };
        let events = [scheduled.event, failed.event, sent.event];
        let (at, late) = (failed.at, sent.at.since(failed.at));
        if events == [Event::RetryScheduled, Event::FailedAgain, Event::Retried] && late < LATE_CONFIRM {
            history[n].at = at;
            history.swap(n - 1, n);
        }
    }
    history
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_retry_stands_before_the_failure_it_led_to() {
        let entry = |(at, event): (i64, Event)| {
            let at = Timestamp::from_seconds(at.unsigned_abs());
            HistoryEntry { at, event, by: Actor::system(), detail: String::new() }
        };
        let check = |written: &[(i64, Event)], expected: &[(i64, Event)]| {
            let found = in_order(written.iter().copied().map(entry).collect());
            assert_eq!(found, expected.iter().copied().map(entry).collect::<Vec<_>>());
        };
        let [received, scheduled] = [(1, Event::Received), (2, Event::RetryScheduled)];
        let (failed, sent) = ((3, Event::FailedAgain), (4, Event::Retried));
        check(&[received, scheduled, failed, sent], &[received, scheduled, (3, Event::Retried), failed]);
        let earlier = [received, failed, (4, Event::RetryScheduled), (5, Event::Retried)];
        check(&earlier, &earlier);
        // A copy of it failed while the retry waited.
        let waited = [received, scheduled, failed, (3_600, Event::Retried)];
        check(&waited, &waited);
    }
}
