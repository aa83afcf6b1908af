//! What Alertmanager is notified of incidents: alerts of its API v2
//! (<https://github.com/prometheus/alertmanager/blob/main/api/v2/openapi.yaml>).
//!
//! An alert that fires is reported together with when it ends unless it is reported again, the lease. So an incident nobody
//! follows any more resolves by itself; and a delivery that is sent only after its lease reports one that is over.

use std::{collections::BTreeMap, time::Duration};

use amqp_message::time::Timestamp;
use serde::Serialize;

use super::{
    severity::severity,
    text::{one_line, rfc3339},
};
use crate::domain::incident::{Incident, IncidentKind};

/// Characters of a label. Alertmanager keeps labels in memory and sends them on with everything.
const MAX_LABEL: usize = 255;
/// Characters of an annotation.
const MAX_ANNOTATION: usize = 2_048;

/// The labels are its identity: an alert is resolved by one with the very same.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Alert {
    labels: BTreeMap<&'static str, String>,
    annotations: BTreeMap<&'static str, String>,
    starts_at: String,
    ends_at: String,
    #[serde(rename = "generatorURL")]
    generator_url: String,
}

/// Those that are open fire until `lease` from now; those that are resolved end at `now` at the latest.
pub fn alerts(incidents: &[Incident], now: Timestamp, lease: Duration) -> Vec<Alert> {
    incidents.iter().map(|incident| alert(incident, now, lease)).collect()
}

fn alert(incident: &Incident, now: Timestamp, lease: Duration) -> Alert {
    // Alertmanager refuses an alert that ends before it starts, and one of several clocks may be behind.
    let starts_at = incident.opened_at.min(now);
    let ends_at = incident.resolved_at.map_or_else(|| now.plus(lease), |at| at.clamp(starts_at, now));
    Alert {
        labels: labels(incident),
        annotations: annotations(incident),
        starts_at: rfc3339(starts_at),
        ends_at: rfc3339(ends_at),
        generator_url: incident.href.clone(),
    }
}

/// Nothing that changes while an incident is open is among them, but for its importance: with another severity it is
/// another alert, and the one before ends with its lease.
fn labels(incident: &Incident) -> BTreeMap<&'static str, String> {
    let name = match incident.kind {
        IncidentKind::Group => "DeadLetters",
        IncidentKind::Storm => "ManyErrorGroups",
        IncidentKind::Watch => name_of_watch(incident),
    };
    let texts = [
        ("alertname", Some(name)),
        ("severity", Some(severity(incident.importance))),
        ("importance", Some(incident.importance.as_str())),
        ("broker", Some(incident.broker.as_str())),
        ("queue", incident.queue.as_deref()),
        ("incident", Some(incident.key.as_str())),
        ("message_type", incident.message_type.as_deref()),
    ];
    bounded(texts, MAX_LABEL)
}

/// By what is silenced and routed: the key of an incident says what is wrong, and its title may say it otherwise some day.
fn name_of_watch(incident: &Incident) -> &'static str {
    let key = incident.key.strip_prefix("watch:").and_then(|key| key.strip_prefix(&incident.broker));
    match key.unwrap_or_default() {
        key if key.starts_with(":stuck:") => "QueueNotDrained",
        key if key.starts_with(":retries_overdue") => "RetriesOverdue",
        key if key.starts_with(":unreachable") => "ManagementApiUnreachable",
        _ => "QueueWithoutConsumers",
    }
}

fn annotations(incident: &Incident) -> BTreeMap<&'static str, String> {
    // A watch is not about dead letters.
    let open = (incident.kind != IncidentKind::Watch).then(|| match incident.open {
        1 => "1 dead letter is open".to_owned(),
        open => format!("{open} dead letters are open"),
    });
    let error = incident.error.as_deref().or(incident.reason.map(|reason| reason.sentence()));
    let description = open.into_iter().chain(error.map(str::to_owned)).collect::<Vec<_>>().join(": ");
    let texts = [
        ("summary", Some(incident.title.as_str())),
        ("description", Some(description.as_str())),
        ("link", Some(incident.href.as_str())),
    ];
    bounded(texts, MAX_ANNOTATION)
}

/// An empty label is the same as none to Alertmanager.
fn bounded<const N: usize>(texts: [(&'static str, Option<&str>); N], limit: usize) -> BTreeMap<&'static str, String> {
    let texts = texts.into_iter().filter_map(|(name, text)| Some((name, one_line(text?, limit))));
    texts.filter(|(_, text)| !text.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::{
        domain::watch::Concern,
        notify::samples::{NOW, hostile, incident},
    };

    const LEASE: Duration = Duration::from_secs(300);

    fn written(incident: Incident, now: Timestamp) -> Value {
        serde_json::to_value(alerts(&[incident], now, LEASE)).unwrap()[0].clone()
    }

    #[test]
    fn an_open_incident_fires_until_its_lease_is_over() {
        let expected = json!({
            "labels": {
                "alertname": "DeadLetters",
                "broker": "main",
                "importance": "critical",
                "incident": "group:7f3a",
                "message_type": "acme.Order",
                "queue": "orders",
                "severity": "critical"
            },
            "annotations": {
                "description": "12 dead letters are open: TimeoutError: no answer from the bank",
                "link": "http://127.0.0.1:8420/groups/7f3a",
                "summary": "orders: 12 dead letters, TimeoutError"
            },
            "startsAt": "2026-11-21T10:04:00Z",
            "endsAt": "2026-11-21T10:09:00Z",
            "generatorURL": "http://127.0.0.1:8420/groups/7f3a"
        });
        assert_eq!(written(incident(), NOW), expected);
    }

    #[test]
    fn a_resolved_one_has_the_same_labels_and_ends_in_the_past() {
        let later = NOW.plus(Duration::from_secs(60));
        let resolved = Incident { resolved_at: Some(NOW.plus(Duration::from_secs(30))), open: 0, ..incident() };
        let alert = written(resolved, later);
        assert_eq!(alert["labels"], written(incident(), NOW)["labels"]);
        assert_eq!(alert["endsAt"], "2026-11-21T10:04:30Z");
    }

    #[test]
    fn no_alert_ends_before_it_starts_or_is_resolved_in_the_future() {
        fn check(opened: i64, resolved: i64, starts_at: &str, ends_at: &str) {
            let at = |seconds: i64| Timestamp::from_micros(NOW.as_micros() + seconds * 1_000_000);
            let resolved_at = Some(at(resolved));
            let alert = written(Incident { opened_at: at(opened), resolved_at, ..incident() }, NOW);
            assert_eq!((alert["startsAt"].as_str(), alert["endsAt"].as_str()), (Some(starts_at), Some(ends_at)));
        }
        check(-60, -120, "2026-11-21T10:03:00Z", "2026-11-21T10:03:00Z");
        check(-60, 60, "2026-11-21T10:03:00Z", "2026-11-21T10:04:00Z");
        check(60, 120, "2026-11-21T10:04:00Z", "2026-11-21T10:04:00Z");
    }

    #[test]
    fn what_is_not_known_is_no_label() {
        let watch = Incident { kind: IncidentKind::Watch, message_type: None, queue: Some(" ".into()), ..incident() };
        let labels = written(watch, NOW)["labels"].clone();
        assert_eq!(labels["alertname"], "QueueWithoutConsumers");
        assert_eq!((labels.get("queue"), labels.get("message_type")), (None, None));
    }

    #[test]
    fn what_is_watched_goes_by_what_is_wrong_with_it() {
        let check = |concern: Concern, name: &str| {
            let watch = Incident {
                kind: IncidentKind::Watch,
                key: concern.incident_key(&incident().broker),
                error: Some("It is so.".to_owned()),
                open: 0,
                ..incident()
            };
            let alert = written(watch, NOW);
            assert_eq!(
                (&alert["labels"]["alertname"], &alert["annotations"]["description"]),
                (&json!(name), &json!("It is so."))
            );
        };
        let queue = || "orders".to_owned();
        check(Concern::NoConsumers { queue: queue(), since: NOW, had: 1, interrupted: false }, "QueueWithoutConsumers");
        check(Concern::Growing { queue: queue(), from: 1, to: 9, since: NOW }, "QueueNotDrained");
        check(Concern::IntakeLags { queue: queue(), ready: 9, since: NOW }, "QueueNotDrained");
        check(Concern::RetrierLags { queue: queue(), ready: 9, since: NOW }, "QueueNotDrained");
        check(Concern::RetriesOverdue { by: LEASE, since: NOW }, "RetriesOverdue");
        check(Concern::Unreachable { since: NOW }, "ManagementApiUnreachable");
    }

    #[test]
    fn hostile_texts_are_bounded() {
        let text = written(hostile(), NOW).to_string();
        assert!(text.len() < 30_000 && !text.contains("\\n"), "{}", text.len());
    }
}
