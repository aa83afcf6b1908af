//! Something users are notified of once, however many letters it makes, and notified again when it is over.

use amqp_message::{death::Reason, time::Timestamp, word_enum};

use super::{letter::Importance, storm::Storm};

word_enum! {
    /// What an incident is about.
    IncidentKind, "kind of incident" {
        /// Letters that failed for the same cause.
        Group = "group",
        /// A queue that lost its consumers.
        Watch = "watch",
        /// Many groups that began together.
        Storm = "storm",
    }
}

word_enum! {
    /// What has become of an incident.
    IncidentEvent, "event of an incident" {
        Opened = "opened",
        /// It is still open, and users are notified once more.
        Reminded = "reminded",
        /// Somebody is working on it.
        Acknowledged = "acknowledged",
        /// There are more groups in a storm than users were notified of.
        Updated = "updated",
        Resolved = "resolved",
    }
}

/// What a channel is sent about an incident. All texts but `key`, `broker` and `href` come with messages, so anybody may
/// have written them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Incident {
    /// The same from opening to resolving, and of no other incident.
    pub key: String,
    pub kind: IncidentKind,
    pub title: String,
    pub importance: Importance,
    pub broker: String,
    pub queue: Option<String>,
    pub message_type: Option<String>,
    /// Why the letters of a group were dead-lettered; a watch has none.
    pub reason: Option<Reason>,
    /// `type: message` in one line, where the consumer recorded it.
    pub error: Option<String>,
    /// Letters that are open now.
    pub open: u64,
    /// Of its letters, the first and the latest failure.
    pub first_seen: Timestamp,
    pub last_seen: Timestamp,
    /// When it began to be worth telling.
    pub opened_at: Timestamp,
    pub resolved_at: Option<Timestamp>,
    /// Its page about it, an absolute URL.
    pub href: String,
    /// Its groups, where it is a storm.
    pub storm: Option<Storm>,
}

impl Incident {
    /// What it is known by outside, where an alert is resolved by one of the same identity only.
    pub fn identity(&self) -> (&str, Importance, [Option<&str>; 3]) {
        let of = [Some(self.broker.as_str()), self.queue.as_deref(), self.message_type.as_deref()];
        (self.key.as_str(), self.importance, of)
    }

    /// The same, known by what `was` is known by, but for its importance.
    #[must_use]
    pub fn known_as(self, was: &Self) -> Self {
        let (broker, queue, message_type) = (was.broker.clone(), was.queue.clone(), was.message_type.clone());
        Self { broker, queue, message_type, ..self }
    }
}
