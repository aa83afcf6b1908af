//! Alertmanager.

use std::time::Duration;

use dead_letter_office::{
    clock::Clock,
    demo::stand_ins::AlertmanagerStandIn,
    domain::{incident::Incident, letter::Importance},
    notify::{Channel, alertmanager::alerts},
};
use serde_json::{Value, json};

use super::{NOW, alertmanager, delivered, delivery, incident, refused, sender, url};

const LEASE: Duration = Duration::from_secs(300);
const MINUTE: Duration = Duration::from_secs(60);

#[tokio::test]
async fn an_alert_fires_until_it_is_resolved() {
    let clock = Clock::manual(NOW);
    let stand_in = AlertmanagerStandIn::open(clock.clone()).await.unwrap();
    let (sender, channel) = (sender(), alertmanager(&stand_in));
    let tell = async |incident: Incident| {
        let body = delivery(&alerts(&[incident], clock.now(), LEASE));
        assert_eq!(sender.send(&channel, &body).await, delivered(None));
    };
    for _ in 0..10 {
        tell(incident()).await;
        assert_eq!((stand_in.firing().len(), stand_in.resolved().len()), (1, 0));
        clock.advance(4 * MINUTE);
    }
    tell(Incident { resolved_at: Some(clock.now()), open: 0, ..incident() }).await;
    assert_eq!((stand_in.firing().len(), stand_in.resolved().len()), (0, 1));
    assert_eq!(stand_in.resolved()[0]["incident"], "group:7f3a");
}

#[tokio::test]
async fn an_alert_nobody_repeats_is_over_with_its_lease() {
    let clock = Clock::manual(NOW);
    let stand_in = AlertmanagerStandIn::open(clock.clone()).await.unwrap();
    let body = delivery(&alerts(&[incident()], NOW, LEASE));
    assert_eq!(sender().send(&alertmanager(&stand_in), &body).await, delivered(None));
    clock.advance(LEASE - Duration::from_secs(1));
    assert_eq!(stand_in.firing().len(), 1);
    clock.advance(Duration::from_secs(1));
    assert_eq!((stand_in.firing().len(), stand_in.resolved().len()), (0, 1));
}

#[tokio::test]
async fn many_incidents_go_in_one_request_whatever_they_hold() {
    let stand_in = AlertmanagerStandIn::open(Clock::manual(NOW)).await.unwrap();
    let text = Some("\u{0}\u{202e}\"\n".repeat(100_000));
    let many: Vec<Incident> = (0..100)
        .map(|n| Incident {
            key: format!("group:{n}"),
            importance: Importance::ALL[n % 4],
            queue: text.clone().filter(|_| n % 2 == 0),
            message_type: None,
            error: text.clone(),
            resolved_at: (n % 3 == 0).then_some(NOW.minus(MINUTE)),
            ..incident()
        })
        .collect();
    let body = delivery(&alerts(&many, NOW, LEASE));
    assert_eq!(sender().send(&alertmanager(&stand_in), &body).await, delivered(None));
    assert_eq!((stand_in.firing().len(), stand_in.resolved().len()), (66, 34));
    assert_eq!(stand_in.requests().len(), 1);
}

#[tokio::test]
async fn what_alertmanager_refuses_is_said() {
    let stand_in = AlertmanagerStandIn::open(Clock::manual(NOW)).await.unwrap();
    let (sender, channel) = (sender(), alertmanager(&stand_in));
    let address = stand_in.url().replace("http://", "");
    let check = async |alert: Value, expected: &str| {
        let why = format!("Alertmanager at {address} answered {expected}");
        assert_eq!(sender.send(&channel, &delivery(&[alert])).await, refused(&why));
    };
    check(json!({ "labels": {} }), "400: at least one label pair required").await;
    let backwards =
        json!({ "labels": { "a": "b" }, "startsAt": "2026-11-21T10:04:00Z", "endsAt": "2026-11-21T10:03:00Z" });
    check(backwards, "400: start time must be before end time").await;
    check(json!({ "labels": { "a": "b" }, "generatorURL": "no" }), "400: generatorURL must be of type uri").await;
    check(json!({ "labels": { "0-a": "b" } }), "400: invalid name \"0-a\"").await;
    assert_eq!((stand_in.firing().len(), stand_in.resolved().len()), (0, 0));
}

#[tokio::test]
async fn a_login_in_the_address_is_sent_as_basic_authentication() {
    let stand_in = AlertmanagerStandIn::open(Clock::manual(NOW)).await.unwrap();
    let with_login = url(&stand_in.url().replace("://", "://dlo:p%40ss@"));
    let outcome = sender().send(&Channel::alertmanager(&with_login).unwrap(), &delivery(&json!([]))).await;
    assert_eq!(outcome, delivered(None));
    assert_eq!(stand_in.requests()[0].header("authorization"), Some("Basic ZGxvOnBAc3M="));
}
