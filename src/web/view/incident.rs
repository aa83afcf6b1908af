//! Incidents that are open, and whether people have heard of them.

use amqp_message::time::Timestamp;

use super::{text, time::Moment};
use crate::{
    domain::notification::{NotificationRecord, NotificationState},
    store::IncidentRecord,
};

/// An incident as a line of a list.
pub struct IncidentLine {
    pub importance: &'static str,
    pub title: String,
    pub href: String,
    pub since: Moment,
    /// Who has been notified: `pagerduty, slack`; empty: nobody yet.
    pub told: String,
    /// Why somebody has not been notified.
    pub problems: Vec<String>,
}

impl IncidentLine {
    /// `notifications` are those about open incidents, since they were opened.
    pub fn new(record: &IncidentRecord, notifications: &[NotificationRecord], now: Timestamp) -> Self {
        let incident = &record.incident;
        let mut told: Vec<&str> = Vec::new();
        let mut problems = Vec::new();
        for notification in notifications.iter().filter(|told| told.subject == incident.key) {
            match (notification.state, &notification.problem) {
                (NotificationState::Delivered, _) => told.push(notification.channel.label()),
                (_, Some(problem)) => problems.push(text::one_line(problem)),
                (_, None) => {}
            }
        }
        told.sort_unstable();
        told.dedup();
        Self {
            importance: incident.importance.as_str(),
            title: text::one_line(&incident.title),
            href: path(&incident.key),
            since: Moment::new(incident.opened_at, now),
            told: told.join(", "),
            problems,
        }
    }
}

/// The page about it.
fn path(key: &str) -> String {
    let (kind, rest) = key.split_once(':').unwrap_or_default();
    match kind {
        "group" => format!("/groups/{rest}"),
        "storm" => format!("/groups?importance={}", rest.split(':').next().unwrap_or_default()),
        _ => "/queues".to_owned(),
    }
}
