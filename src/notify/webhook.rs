//! What a webhook is sent about an incident: `type`, `timestamp` and `data`, as Standard Webhooks recommends
//! (<https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md#payload-structure>).

use amqp_message::time::Timestamp;
use serde::Serialize;

use super::text::{one_line, rfc3339};
use crate::domain::incident::{Incident, IncidentEvent};

/// Characters of names and of the title.
const MAX_NAME: usize = 255;
/// Characters of the error. The recommendation is to stay below 20 kB altogether.
const MAX_ERROR: usize = 2_048;

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Event {
    #[serde(rename = "type")]
    kind: &'static str,
    timestamp: String,
    data: Data,
}

/// What is not known is `null`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct Data {
    key: String,
    kind: &'static str,
    title: String,
    importance: &'static str,
    broker: String,
    queue: Option<String>,
    message_type: Option<String>,
    reason: Option<&'static str>,
    error: Option<String>,
    open: u64,
    first_seen: String,
    last_seen: String,
    opened_at: String,
    resolved_at: Option<String>,
    href: String,
}

/// `at` is when it happened, which stays the same however often it is sent.
pub fn event(incident: &Incident, event: IncidentEvent, at: Timestamp) -> Event {
    let kind = match event {
        IncidentEvent::Opened => "incident.opened",
        IncidentEvent::Reminded => "incident.reminded",
        IncidentEvent::Acknowledged => "incident.acknowledged",
        IncidentEvent::Updated => "incident.updated",
        IncidentEvent::Resolved => "incident.resolved",
    };
    Event { kind, timestamp: rfc3339(at), data: data(incident) }
}

fn data(incident: &Incident) -> Data {
    let name = |text: &Option<String>| text.as_deref().map(|text| one_line(text, MAX_NAME));
    Data {
        key: incident.key.clone(),
        kind: incident.kind.as_str(),
        title: one_line(&incident.title, MAX_NAME),
        importance: incident.importance.as_str(),
        broker: incident.broker.clone(),
        queue: name(&incident.queue),
        message_type: name(&incident.message_type),
        reason: incident.reason.map(|reason| reason.as_str()),
        error: incident.error.as_deref().map(|error| one_line(error, MAX_ERROR)),
        open: incident.open,
        first_seen: rfc3339(incident.first_seen),
        last_seen: rfc3339(incident.last_seen),
        opened_at: rfc3339(incident.opened_at),
        resolved_at: incident.resolved_at.map(rfc3339),
        href: incident.href.clone(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::notify::samples::{NOW, hostile, incident};

    fn written(incident: &Incident, kind: IncidentEvent) -> Value {
        serde_json::to_value(event(incident, kind, NOW)).unwrap()
    }

    #[test]
    fn an_event_tells_all_there_is() {
        let expected = json!({
            "type": "incident.opened",
            "timestamp": "2026-11-21T10:04:00Z",
            "data": {
                "key": "group:7f3a",
                "kind": "group",
                "title": "orders: 12 dead letters, TimeoutError",
                "importance": "critical",
                "broker": "main",
                "queue": "orders",
                "message_type": "acme.Order",
                "reason": "rejected",
                "error": "TimeoutError: no answer from the bank",
                "open": 12,
                "first_seen": "2026-11-21T10:03:00Z",
                "last_seen": "2026-11-21T10:04:00Z",
                "opened_at": "2026-11-21T10:04:00Z",
                "resolved_at": null,
                "href": "http://127.0.0.1:8420/groups/7f3a"
            }
        });
        assert_eq!(written(&incident(), IncidentEvent::Opened), expected);
    }

    #[test]
    fn types_are_separated_by_a_full_stop() {
        assert_eq!(written(&incident(), IncidentEvent::Reminded)["type"], "incident.reminded");
        let resolved = Incident { resolved_at: Some(NOW), ..incident() };
        let event = written(&resolved, IncidentEvent::Resolved);
        assert_eq!(event["type"], "incident.resolved");
        assert_eq!(event["data"]["resolved_at"], "2026-11-21T10:04:00Z");
    }

    #[test]
    fn hostile_texts_stay_below_what_is_recommended() {
        let text = written(&hostile(), IncidentEvent::Opened).to_string();
        assert!(text.len() < 20_000, "{}", text.len());
    }
}
