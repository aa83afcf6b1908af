//! Channels that do not answer as they should.

use dead_letter_office::{
    clock::Clock,
    config::values::Secret,
    demo::stand_ins::{Misbehaviour, PagerDutyStandIn, SlackStandIn, WebhookStandIn},
    domain::incident::IncidentEvent,
    notify::{Channel, Delivery, Outcome, Reach, Sender, pagerduty, webhook::event},
};
use serde_json::json;

use super::{
    IMPATIENT, NOW, again, delivered, delivery, incident, refused, sender, slack_bot, slack_webhook, url, webhook,
};

fn opened() -> Delivery {
    delivery(&event(&incident(), IncidentEvent::Opened, NOW))
}

async fn receiver() -> WebhookStandIn {
    WebhookStandIn::open(Clock::manual(NOW)).await.unwrap()
}

/// What comes of it if the receiver answers like this once, and that the next attempt gets through.
async fn check(status: u16, headers: &[(&'static str, &str)], expected: Outcome) {
    let stand_in = receiver().await;
    let headers = headers.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
    stand_in.misbehave(1, Misbehaviour::Answer { status, headers, body: b"s3cr3t".to_vec() });
    assert_eq!(sender().send(&webhook(&stand_in), &opened()).await, expected, "{status}");
    assert_eq!(stand_in.requests().len(), 1, "it repeats nothing by itself");
    assert_eq!(sender().send(&webhook(&stand_in), &opened()).await, delivered(None));
}

#[tokio::test]
async fn a_wait_that_is_asked_for_is_passed_on() {
    check(429, &[("retry-after", "30")], again("the webhook answered 429", Some(30))).await;
    check(503, &[("retry-after", "Sat, 21 Nov 2026 10:06:00 GMT")], again("the webhook answered 503", Some(120))).await;
    check(429, &[("retry-after", "9999999")], again("the webhook answered 429", Some(3_600))).await;
    check(500, &[("retry-after", "soon")], again("the webhook answered 500", None)).await;
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let stand_in = receiver().await;
    for status in [301, 302, 303, 307, 308] {
        let headers = vec![("location", stand_in.webhook_url())];
        stand_in.misbehave(1, Misbehaviour::Answer { status, headers, body: Vec::new() });
        let why = format!(
            "the webhook answered {status}, a redirect, and these are not followed; configure the address it leads to"
        );
        assert_eq!(sender().send(&webhook(&stand_in), &opened()).await, refused(&why));
    }
    assert_eq!((stand_in.requests().len(), stand_in.events().len()), (5, 0));
}

#[tokio::test]
async fn a_connection_that_is_closed_is_tried_again() {
    let stand_in = receiver().await;
    let channel = webhook(&stand_in);
    for misbehaviour in [Misbehaviour::CloseBeforeReading, Misbehaviour::CloseAfterReading] {
        stand_in.misbehave(1, misbehaviour.clone());
        let lost = again("the connection to the webhook was lost before it answered", None);
        assert_eq!(sender().send(&channel, &opened()).await, lost, "{misbehaviour:?}");
    }
    assert_eq!(sender().send(&channel, &opened()).await, delivered(None));
}

#[tokio::test]
async fn who_does_not_answer_in_time_is_tried_again() {
    let stand_in = receiver().await;
    let impatient = Sender::with_patience(Clock::manual(NOW), &Reach::default(), IMPATIENT).unwrap();
    stand_in.misbehave(1, Misbehaviour::Hang);
    let outcome = impatient.send(&webhook(&stand_in), &opened()).await;
    assert_eq!(outcome, again("the webhook did not answer within 0.3 s", None));
    stand_in.release();
    assert_eq!(sender().send(&webhook(&stand_in), &opened()).await, delivered(None));
}

#[tokio::test]
async fn one_that_hangs_and_is_released_gets_through() {
    let stand_in = receiver().await;
    stand_in.misbehave(1, Misbehaviour::Hang);
    let (sender, channel, delivery) = (sender(), webhook(&stand_in), opened());
    let release = async {
        stand_in.has_heard(1).await;
        stand_in.release();
    };
    let (outcome, ()) = tokio::join!(sender.send(&channel, &delivery), release);
    assert_eq!(outcome, delivered(None));
}

#[tokio::test]
async fn an_address_where_nobody_listens_is_tried_again() {
    let address = "127.0.0.1:1";
    let channel = Channel::alertmanager(&url(&format!("http://{address}"))).unwrap();
    let why = format!("cannot connect to Alertmanager at {address}: the connection was refused");
    assert_eq!(sender().send(&channel, &delivery(&json!([]))).await, again(&why, None));
}

#[tokio::test]
async fn https_where_http_is_spoken_is_said() {
    let stand_in = PagerDutyStandIn::open().await.unwrap();
    let address = stand_in.url().replace("http://", "");
    let channel =
        Channel::pagerduty(&url(&format!("https://{address}")), &Secret::new(stand_in.routing_key())).unwrap();
    let body = delivery(&pagerduty::event(&incident(), pagerduty::Action::Trigger));
    let why = "TLS is not spoken on this port; is it http instead of https?";
    let expected = again(&format!("cannot connect to PagerDuty at {address}: {why}"), None);
    assert_eq!(sender().send(&channel, &body).await, expected);
}

#[tokio::test]
async fn rubbish_is_no_ok() {
    let slack = SlackStandIn::open(|_| Ok(())).await.unwrap();
    let (sender, message) = (sender(), delivery(&json!({ "text": "a" })));
    slack.misbehave(2, Misbehaviour::garbage());
    let why = "Slack's `ok` is missing from the answer; is this the address of an incoming webhook?";
    assert_eq!(sender.send(&slack_webhook(&slack), &message).await, again(why, None));
    assert_eq!(sender.send(&slack_bot(&slack), &message).await, again("Slack's answer cannot be read", None));

    let stand_in = PagerDutyStandIn::open().await.unwrap();
    stand_in.misbehave(1, Misbehaviour::garbage());
    let outcome = sender.send(&super::pagerduty(&stand_in), &message).await;
    assert!(matches!(outcome, Outcome::TryAgain { .. }), "{outcome:?}");
}

#[tokio::test]
async fn slack_that_is_flooded_says_when_to_come_back() {
    let slack = SlackStandIn::open(|_| Ok(())).await.unwrap();
    let (sender, message) = (sender(), delivery(&json!({ "text": "a" })));
    let limited = |status, body: &str| Misbehaviour::Answer {
        status,
        headers: vec![("retry-after", "7".to_owned())],
        body: body.as_bytes().to_vec(),
    };
    slack.misbehave(1, limited(429, "rate_limited"));
    let expected = again("Slack answered 429: rate_limited", Some(7));
    assert_eq!(sender.send(&slack_webhook(&slack), &message).await, expected);
    slack.misbehave(1, limited(200, r#"{"ok":false,"error":"ratelimited"}"#));
    assert_eq!(sender.send(&slack_bot(&slack), &message).await, again("Slack answered ratelimited", Some(7)));
    assert!(slack.messages().is_empty());
}

#[tokio::test]
async fn many_are_sent_at_once() {
    let stand_in = receiver().await;
    let (sender, channel) = (sender(), webhook(&stand_in));
    let mut running = tokio::task::JoinSet::new();
    for n in 0..50_u128 {
        let (sender, channel, body) = (sender.clone(), channel.clone(), opened().body);
        running.spawn(async move { sender.send(&channel, &Delivery { id: uuid::Uuid::from_u128(n), body }).await });
    }
    while let Some(outcome) = running.join_next().await {
        assert_eq!(outcome.unwrap(), delivered(None));
    }
    assert_eq!(stand_in.events().len(), 50);
}

#[tokio::test]
async fn what_a_host_that_does_not_exist_is_like() {
    let channel = Channel::alertmanager(&url("http://alerts.invalid")).unwrap();
    let Outcome::TryAgain { why, after: None } = sender().send(&channel, &delivery(&json!([]))).await else { panic!() };
    assert!(why.starts_with("cannot connect to Alertmanager at alerts.invalid: "), "{why}");
}
