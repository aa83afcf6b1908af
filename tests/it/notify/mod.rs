//! What channels are told, by dlo's own hand and over real sockets.
#![expect(clippy::unwrap_used, reason = "in helpers of tests a panic is the error handling")]

mod alertmanager;
mod check;
mod incidents;
mod page;
mod pager;
mod pagerduty;
mod secrets;
mod slack;
mod trouble;
mod webhook;

use std::time::Duration;

use amqp_message::{death::Reason, time::Timestamp};
use dead_letter_office::{
    clock::Clock,
    config::values::Secret,
    demo::stand_ins::{AlertmanagerStandIn, PagerDutyStandIn, SlackStandIn, WebhookStandIn},
    domain::{
        incident::{Incident, IncidentKind},
        letter::Importance,
    },
    notify::{Channel, Delivery, Outcome, Patience, Reach, Sender},
};
use serde::Serialize;
use url::Url;
use uuid::Uuid;

/// 2026-11-21T10:04:00Z
const NOW: Timestamp = Timestamp::from_micros(1_795_255_440_000_000);

/// Long enough for a busy machine to answer.
const PATIENT: Patience = Patience { connect: Duration::from_secs(20), total: Duration::from_secs(20) };
/// For what never answers.
const IMPATIENT: Patience = Patience { connect: Duration::from_secs(20), total: Duration::from_millis(300) };

fn sender() -> Sender {
    sender_at(Clock::manual(NOW))
}

fn sender_at(clock: Clock) -> Sender {
    Sender::with_patience(clock, &Reach::default(), PATIENT).unwrap()
}

fn delivery(body: &impl Serialize) -> Delivery {
    Delivery::new(Uuid::from_u128(7), body).unwrap()
}

fn incident() -> Incident {
    Incident {
        key: "group:7f3a".to_owned(),
        kind: IncidentKind::Group,
        title: "orders: 12 dead letters, TimeoutError".to_owned(),
        importance: Importance::Critical,
        broker: "main".to_owned(),
        queue: Some("orders".to_owned()),
        message_type: Some("acme.Order".to_owned()),
        reason: Some(Reason::Rejected),
        error: Some("TimeoutError: no answer from the bank".to_owned()),
        open: 12,
        first_seen: NOW.minus(Duration::from_secs(60)),
        last_seen: NOW,
        opened_at: NOW,
        resolved_at: None,
        href: "http://127.0.0.1:8420/groups/7f3a".to_owned(),
        storm: None,
    }
}

fn slack_webhook(slack: &SlackStandIn) -> Channel {
    Channel::slack_webhook(&Secret::new(slack.webhook_url())).unwrap()
}

fn slack_bot(slack: &SlackStandIn) -> Channel {
    Channel::slack_bot(&slack.api_url(), &Secret::new(slack.token()), slack.channel()).unwrap()
}

fn pagerduty(pagerduty: &PagerDutyStandIn) -> Channel {
    Channel::pagerduty(&url(&pagerduty.url()), &Secret::new(pagerduty.routing_key())).unwrap()
}

fn alertmanager(alertmanager: &AlertmanagerStandIn) -> Channel {
    Channel::alertmanager(&url(&alertmanager.url())).unwrap()
}

fn webhook(webhook: &WebhookStandIn) -> Channel {
    Channel::webhook(&Secret::new(webhook.webhook_url()), &Secret::new(webhook.secret())).unwrap()
}

fn url(text: &str) -> Url {
    Url::parse(text).unwrap()
}

fn delivered(reference: Option<&str>) -> Outcome {
    Outcome::Delivered { reference: reference.map(str::to_owned) }
}

fn refused(why: &str) -> Outcome {
    Outcome::Refused { why: why.to_owned() }
}

fn again(why: &str, after: Option<u64>) -> Outcome {
    Outcome::TryAgain { why: why.to_owned(), after: after.map(Duration::from_secs) }
}
