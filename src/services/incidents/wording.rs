//! What incidents say, in the words of each channel.

use amqp_message::time::Timestamp;
use serde::Serialize;
use uuid::Uuid;

use super::heartbeat::LEASE;
use crate::{
    domain::{
        group::Group,
        incident::{Incident, IncidentEvent, IncidentKind},
        letter::Importance,
        notification::{Channel, NotificationKind},
        schedule::Zone,
    },
    notify::{Delivery, alertmanager, pagerduty, slack, webhook},
};

/// A group as an incident that begins now.
pub(crate) fn of_group(key: String, group: &Group, importance: Importance, href: String, now: Timestamp) -> Incident {
    Incident {
        key,
        kind: IncidentKind::Group,
        title: group.key.title(),
        importance,
        broker: group.key.broker.clone(),
        queue: group.key.queue.clone(),
        message_type: group.key.message_type.clone(),
        reason: Some(group.key.reason),
        error: Some(group.key.error.clone()).filter(|error| !error.is_empty()),
        open: group.n_open(),
        first_seen: group.first_seen,
        last_seen: group.last_seen,
        opened_at: now,
        resolved_at: None,
        href,
    }
}

pub(crate) const fn kind(event: IncidentEvent) -> NotificationKind {
    match event {
        IncidentEvent::Opened => NotificationKind::IncidentOpened,
        IncidentEvent::Reminded => NotificationKind::IncidentReminder,
        IncidentEvent::Resolved => NotificationKind::IncidentResolved,
    }
}

/// What a channel is sent of an incident; `None` where there is nothing to say there. `was` is what was reported of it
/// before, where it has become another.
pub(crate) fn body(
    channel: Channel,
    incident: &Incident,
    was: Option<&Incident>,
    event: IncidentEvent,
    now: Timestamp,
) -> Option<String> {
    match channel {
        Channel::Slack => json(&slack::incident(incident, event, &Zone::utc().show(incident.opened_at))),
        // PagerDuty escalates by itself what nobody has acknowledged.
        Channel::PagerDuty if event == IncidentEvent::Reminded => None,
        Channel::PagerDuty if event == IncidentEvent::Resolved => {
            json(&pagerduty::event(incident, pagerduty::Action::Resolve))
        }
        Channel::PagerDuty => json(&pagerduty::event(incident, pagerduty::Action::Trigger)),
        // It is reported again and again anyway.
        Channel::Alertmanager if event == IncidentEvent::Reminded => None,
        Channel::Alertmanager => {
            // Of another importance it is another alert there.
            let over = was.map(|was| Incident { resolved_at: Some(now), ..was.clone() });
            let alerts: Vec<Incident> = over.into_iter().chain([incident.clone()]).collect();
            json(&alertmanager::alerts(&alerts, now, LEASE))
        }
        Channel::Webhook => json(&webhook::event(incident, event, now)),
    }
}

fn json(body: &impl Serialize) -> Option<String> {
    match Delivery::new(Uuid::nil(), body) {
        Ok(delivery) => Some(delivery.body),
        Err(error) => {
            tracing::error!(error = %error, "notification cannot be rendered");
            None
        }
    }
}
