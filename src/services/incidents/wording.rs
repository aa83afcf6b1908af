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
        number::{plural, thousands},
        schedule::Zone,
        storm::Storm,
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
        storm: None,
    }
}

/// Groups that a storm names; the others are counted.
const NAMED: usize = 20;

/// Many groups as one incident, opened then. What is named of them stands where the error of a group does.
pub(crate) fn of_storm(
    key: String,
    groups: &[Incident],
    importance: Importance,
    storm: Storm,
    href: String,
    opened_at: Timestamp,
) -> Incident {
    let first = groups.first();
    let broker = first.map(|group| group.broker.as_str()).filter(|broker| groups.iter().all(|it| it.broker == *broker));
    Incident {
        key,
        kind: IncidentKind::Storm,
        title: format!("{} within a short time", plural(storm.joined, "error group")),
        importance,
        broker: broker.unwrap_or("several").to_owned(),
        queue: None,
        message_type: None,
        reason: None,
        error: Some(listing(groups)),
        open: groups.iter().map(|group| group.open).sum(),
        first_seen: groups.iter().map(|group| group.first_seen).min().unwrap_or(opened_at),
        last_seen: groups.iter().map(|group| group.last_seen).max().unwrap_or(opened_at),
        opened_at,
        resolved_at: None,
        href,
        storm: Some(storm),
    }
}

/// `orders: Timeout (12); invoices: … (3); and 7 more`: those with the most open letters first.
fn listing(groups: &[Incident]) -> String {
    let mut groups: Vec<&Incident> = groups.iter().collect();
    groups.sort_by(|one, other| other.open.cmp(&one.open).then_with(|| one.key.cmp(&other.key)));
    let named = groups.iter().take(NAMED).map(|group| {
        let title: String = group.title.chars().take(LONGEST_TITLE).collect();
        format!("{title} ({})", group.open)
    });
    let more = groups.len().saturating_sub(NAMED);
    let rest = (more > 0).then(|| format!("and {} more", thousands(more as u64)));
    named.chain(rest).collect::<Vec<_>>().join("; ")
}

/// Characters of a group's title in the list of a storm.
const LONGEST_TITLE: usize = 80;

pub(crate) const fn kind(event: IncidentEvent) -> NotificationKind {
    match event {
        IncidentEvent::Opened => NotificationKind::IncidentOpened,
        IncidentEvent::Reminded => NotificationKind::IncidentReminder,
        IncidentEvent::Acknowledged => NotificationKind::IncidentAcknowledged,
        IncidentEvent::Updated => NotificationKind::IncidentUpdated,
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
        // Those who read it see it on the page, and are not called for that.
        Channel::Slack | Channel::Alertmanager if event == IncidentEvent::Acknowledged => None,
        Channel::Slack => json(&slack::incident(incident, event, &Zone::utc().show(incident.opened_at))),
        // PagerDuty escalates by itself what nobody has acknowledged.
        Channel::PagerDuty if event == IncidentEvent::Reminded => None,
        Channel::PagerDuty if event == IncidentEvent::Resolved => {
            json(&pagerduty::event(incident, pagerduty::Action::Resolve))
        }
        Channel::PagerDuty if event == IncidentEvent::Acknowledged => {
            json(&pagerduty::event(incident, pagerduty::Action::Acknowledge))
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
