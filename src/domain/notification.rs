//! What is sent out of dlo.

use amqp_message::{time::Timestamp, word_enum};
use uuid::Uuid;

word_enum! {
    /// Where users are notified.
    Channel, "channel" {
        Slack = "slack",
        PagerDuty = "pagerduty",
        Alertmanager = "alertmanager",
        Webhook = "webhook",
    }
}

impl Channel {
    /// What people call it.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Slack => "Slack",
            Self::PagerDuty => "PagerDuty",
            Self::Alertmanager => "Alertmanager",
            Self::Webhook => "webhook",
        }
    }
}

word_enum! {
    NotificationKind, "kind of notification" {
        Digest = "digest",
        IncidentOpened = "incident_opened",
        IncidentReminder = "incident_reminder",
        IncidentAcknowledged = "incident_acknowledged",
        IncidentUpdated = "incident_updated",
        IncidentResolved = "incident_resolved",
    }
}

word_enum! {
    NotificationState, "state of a notification" {
        /// It is to be sent, perhaps once more.
        Waiting = "waiting",
        Delivered = "delivered",
        /// The other side will never take it, or has not for too long.
        Refused = "refused",
    }
}

/// Something to send, as it is kept until it is sent: what it says is settled when it is made, so that another attempt
/// says the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewNotification {
    pub id: Uuid,
    pub channel: Channel,
    /// What it is about: an incident's key, or a digest's name. Of one subject a channel hears one thing after the other.
    pub subject: String,
    pub kind: NotificationKind,
    /// JSON, as it is sent.
    pub body: String,
}

/// One that is being sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimedNotification {
    pub notification: NewNotification,
    pub created_at: Timestamp,
    /// How often it was tried before.
    pub attempts: u32,
}

/// The result of an attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Attempt {
    Delivered,
    /// It is tried again then, because of this.
    Later(Timestamp, String),
    /// Because of this.
    Refused(String),
}

/// One with all that is known of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotificationRecord {
    pub id: Uuid,
    pub channel: Channel,
    pub subject: String,
    pub kind: NotificationKind,
    pub created_at: Timestamp,
    pub due_at: Timestamp,
    pub attempts: u32,
    pub state: NotificationState,
    pub ended_at: Option<Timestamp>,
    /// Why it was refused, or the last attempt failed.
    pub problem: Option<String>,
}
