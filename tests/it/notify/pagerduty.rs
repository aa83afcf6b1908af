//! PagerDuty.

use dead_letter_office::{
    config::values::Secret,
    demo::stand_ins::PagerDutyStandIn,
    domain::incident::Incident,
    notify::{
        Channel, Outcome,
        pagerduty::{Action, event},
    },
};
use serde_json::json;

use super::{delivered, delivery, incident, pagerduty, sender, url};

#[tokio::test]
async fn an_incident_pages_once_and_is_resolved() {
    let stand_in = PagerDutyStandIn::open().await.unwrap();
    let (sender, channel) = (sender(), pagerduty(&stand_in));
    for (action, is_open, pages) in [
        (Action::Trigger, true, 1),
        (Action::Trigger, true, 1),
        (Action::Resolve, false, 1),
        (Action::Resolve, false, 1),
        (Action::Trigger, true, 2),
    ] {
        let outcome = sender.send(&channel, &delivery(&event(&incident(), action))).await;
        assert_eq!(outcome, delivered(Some("group:7f3a")));
        let incidents = stand_in.incidents();
        let incident = &incidents["group:7f3a"];
        assert_eq!((incident.is_open, incident.pages), (is_open, pages), "{action:?}");
        assert_eq!(incident.payload["summary"], "orders: 12 dead letters, TimeoutError");
    }
}

#[tokio::test]
async fn a_hostile_incident_is_accepted() {
    let stand_in = PagerDutyStandIn::open().await.unwrap();
    let text = "\u{0}\u{202e}🦀\"\n".repeat(500_000);
    let hostile = Incident {
        key: "k".repeat(10_000),
        title: text.clone(),
        queue: Some(text.clone()),
        message_type: Some(text.clone()),
        error: Some(text),
        ..incident()
    };
    for action in [Action::Trigger, Action::Resolve] {
        let outcome = sender().send(&pagerduty(&stand_in), &delivery(&event(&hostile, action))).await;
        assert!(matches!(outcome, Outcome::Delivered { .. }), "{outcome:?}");
    }
    let incidents: Vec<_> = stand_in.incidents().into_values().collect();
    assert_eq!((incidents.len(), incidents[0].is_open, incidents[0].events), (1, false, 2));
}

#[tokio::test]
async fn what_pagerduty_refuses_is_said() {
    let stand_in = PagerDutyStandIn::open().await.unwrap();
    let sender = sender();
    let check = async |channel: &Channel, body, expected: &str| {
        let outcome = sender.send(channel, &delivery(&body)).await;
        let Outcome::Refused { why } = outcome else { panic!("{outcome:?}") };
        assert!(why.ends_with(expected), "{why}");
    };
    let resolve = json!({ "event_action": "resolve", "dedup_key": "k" });
    let other = Channel::pagerduty(&url(&stand_in.url()), &Secret::new("0".repeat(32))).unwrap();
    check(&other, resolve, "answered 400: Event object is invalid; 'routing_key' is not known").await;
    let known = pagerduty(&stand_in);
    check(&known, json!({ "event_action": "resolve" }), "'dedup_key' is missing").await;
    let bare = json!({ "event_action": "trigger", "payload": { "summary": "a", "severity": "bad", "source": "b" } });
    check(&known, bare, "'payload.severity' is invalid").await;
    check(&known, json!({ "event_action": "trigger" }), "'payload.severity' is invalid").await;
    let large = json!({ "event_action": "resolve", "dedup_key": "k", "x": "x".repeat(600_000) });
    check(&known, large, "answered 413").await;
    assert!(stand_in.incidents().is_empty());
}
