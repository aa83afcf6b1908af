//! What PagerDuty is sent about an incident: an event of its Events API v2
//! (<https://developer.pagerduty.com/docs/send-alert-event>).
//!
//! The routing key is not in it; [`Sender::send`](super::Sender::send) adds it.

use serde::Serialize;
use sha2::{Digest, Sha256};

use super::{
    severity::severity,
    text::{one_line, rfc3339},
};
use crate::domain::incident::Incident;

/// Characters of the key by which events belong together.
const MAX_DEDUP_KEY: usize = 255;
const MAX_SUMMARY: usize = 1_024;
/// Characters of names. PagerDuty sets no limit but 512 kB for all of an event.
const MAX_NAME: usize = 255;
/// Characters of the error. With all else the event stays below 30 kB, whatever a message holds.
const MAX_ERROR: usize = 4_096;
/// What an event is from where nothing says more.
const CLIENT: &str = "Dead Letter Office";

/// What is to happen to the alert.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Action {
    /// Opens the alert; one that is open already is only updated, and nobody is paged again.
    Trigger,
    /// Somebody is working on it: nobody else is paged.
    Acknowledge,
    Resolve,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Event {
    event_action: Action,
    dedup_key: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    payload: Option<Payload>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    links: Vec<Link>,
    #[serde(skip_serializing_if = "Option::is_none")]
    client: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    client_url: Option<String>,
}

/// <https://support.pagerduty.com/main/docs/pd-cef>
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct Payload {
    summary: String,
    source: String,
    severity: &'static str,
    timestamp: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    component: Option<String>,
    group: String,
    class: &'static str,
    custom_details: Details,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct Details {
    importance: &'static str,
    open_letters: u64,
    first_seen: String,
    last_seen: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    message_type: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct Link {
    href: String,
    text: &'static str,
}

/// What is no trigger holds nothing but the key: PagerDuty reads no more of it.
pub fn event(incident: &Incident, action: Action) -> Event {
    let dedup_key = dedup_key(&incident.key);
    match action {
        Action::Acknowledge | Action::Resolve => {
            Event { event_action: action, dedup_key, payload: None, links: Vec::new(), client: None, client_url: None }
        }
        Action::Trigger => Event {
            event_action: action,
            dedup_key,
            payload: Some(payload(incident)),
            links: vec![Link { href: incident.href.clone(), text: "Open in Dead Letter Office" }],
            client: Some(CLIENT),
            client_url: Some(incident.href.clone()),
        },
    }
}

fn payload(incident: &Incident) -> Payload {
    let name =
        |text: &Option<String>| text.as_deref().map(|text| one_line(text, MAX_NAME)).filter(|text| !text.is_empty());
    let queue = name(&incident.queue);
    let broker = one_line(&incident.broker, MAX_NAME);
    Payload {
        summary: summary(incident),
        source: queue.as_ref().map_or_else(|| broker.clone(), |queue| format!("{broker}/{queue}")),
        severity: severity(incident.importance),
        timestamp: rfc3339(incident.opened_at),
        component: queue,
        group: broker,
        class: incident.reason.map_or(incident.kind.as_str(), |reason| reason.as_str()),
        custom_details: Details {
            importance: incident.importance.as_str(),
            open_letters: incident.open,
            first_seen: rfc3339(incident.first_seen),
            last_seen: rfc3339(incident.last_seen),
            message_type: name(&incident.message_type),
            error: incident.error.as_deref().map(|error| one_line(error, MAX_ERROR)),
        },
    }
}

/// Never empty, for PagerDuty refuses that.
fn summary(incident: &Incident) -> String {
    let summary = one_line(&incident.title, MAX_SUMMARY);
    if summary.is_empty() { CLIENT.to_owned() } else { summary }
}

/// The key itself where it fits. Of a longer one the end gives way to a hash of all of it, so that keys that begin
/// alike stay apart.
fn dedup_key(key: &str) -> String {
    if key.chars().count() <= MAX_DEDUP_KEY {
        return key.to_owned();
    }
    let hash: String = Sha256::digest(key.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect();
    let kept = MAX_DEDUP_KEY.saturating_sub(hash.len()).saturating_sub(1);
    let beginning: String = key.chars().take(kept).collect();
    format!("{beginning}-{hash}")
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::{
        domain::letter::Importance,
        notify::samples::{hostile, incident},
    };

    fn trigger(incident: &Incident) -> Value {
        serde_json::to_value(event(incident, Action::Trigger)).unwrap()
    }

    #[test]
    fn a_trigger_has_every_field_of_the_common_event_format() {
        let expected = json!({
            "event_action": "trigger",
            "dedup_key": "group:7f3a",
            "payload": {
                "summary": "orders: 12 dead letters, TimeoutError",
                "source": "main/orders",
                "severity": "critical",
                "timestamp": "2026-11-21T10:04:00Z",
                "component": "orders",
                "group": "main",
                "class": "rejected",
                "custom_details": {
                    "importance": "critical",
                    "open_letters": 12,
                    "first_seen": "2026-11-21T10:03:00Z",
                    "last_seen": "2026-11-21T10:04:00Z",
                    "message_type": "acme.Order",
                    "error": "TimeoutError: no answer from the bank"
                }
            },
            "links": [{ "href": "http://127.0.0.1:8420/groups/7f3a", "text": "Open in Dead Letter Office" }],
            "client": "Dead Letter Office",
            "client_url": "http://127.0.0.1:8420/groups/7f3a"
        });
        assert_eq!(trigger(&incident()), expected);
    }

    #[test]
    fn a_resolve_names_the_same_key_and_nothing_else() {
        let resolve = serde_json::to_value(event(&incident(), Action::Resolve)).unwrap();
        assert_eq!(resolve, json!({ "event_action": "resolve", "dedup_key": "group:7f3a" }));
    }

    #[test]
    fn importance_becomes_severity() {
        fn check(importance: Importance, expected: &str) {
            assert_eq!(trigger(&Incident { importance, ..incident() })["payload"]["severity"], expected);
        }
        check(Importance::Critical, "critical");
        check(Importance::High, "error");
        check(Importance::Normal, "warning");
        check(Importance::Low, "info");
    }

    #[test]
    fn what_is_not_known_is_left_out() {
        let bare =
            Incident { queue: None, message_type: None, reason: None, error: None, title: "\n".into(), ..incident() };
        let payload = &trigger(&bare)["payload"];
        assert_eq!((&payload["source"], &payload["class"]), (&json!("main"), &json!("group")));
        assert_eq!(payload["summary"], "Dead Letter Office");
        assert_eq!((payload.get("component"), payload["custom_details"].get("error")), (None, None));
    }

    #[test]
    fn hostile_texts_stay_within_the_limits() {
        let text = trigger(&hostile()).to_string();
        assert!(text.len() < 30_000, "{}", text.len());
        let summary = trigger(&hostile())["payload"]["summary"].as_str().unwrap().to_owned();
        assert_eq!(summary.chars().count(), 1_024);
        assert!(summary.ends_with('…') && !summary.contains('\n'));
    }

    #[test]
    fn long_keys_fit_and_stay_apart() {
        let key = |end: &str| dedup_key(&format!("{}{end}", "ü".repeat(300)));
        assert_eq!(key("a").chars().count(), 255);
        assert_ne!(key("a"), key("b"));
        assert_eq!(key("a"), key("a"));
        assert_eq!(dedup_key(&"ü".repeat(255)), "ü".repeat(255));
    }
}
