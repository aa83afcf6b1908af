//! A server that makes digests and sends them to a Slack of its own, by a clock that tests turn.

use std::{sync::Arc, time::Duration};

use amqp_message::time::Timestamp;
use dead_letter_office::{
    clock::Clock,
    config::{NotifyConfig, values::Secret},
    demo::stand_ins::SlackStandIn,
    domain::{letter::LetterId, notification::Channel},
    metrics::Metrics,
    notify::{Patience, Reach, Sender},
    rabbitmq::health::BrokerBoard,
    services::{
        audited_store::AuditedStore,
        change_feed::ChangeFeed,
        digests::{Digests, DueDigests},
        health::{Health, WorkerBoard},
        live::Live,
        notifications::{channels::Channels, deliveries::Deliveries},
        wakeup::Wakeup,
        worker::Worker,
    },
    store::{DigestRecord, Enriched, Recorded, Store},
};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::{
    store::{
        database::{TestDatabase, record},
        make::{InGroup, Make, NOON, an_arrival, enriched},
    },
    support::slack_rules::check_slack_message,
};

pub const SUCCEEDED_AFTER: Duration = Duration::from_secs(60 * 60);
pub const MINUTE: Duration = Duration::from_secs(60);
pub const HOUR: Duration = Duration::from_secs(60 * 60);
pub const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// `2026-03-28T09:00:00Z`
pub fn at(text: &str) -> Timestamp {
    Timestamp::from_micros(text.parse::<jiff::Timestamp>().unwrap().as_microsecond())
}

pub fn shown(at: Timestamp) -> String {
    jiff::Timestamp::from_microsecond(at.as_micros()).unwrap().to_string()
}

/// A Slack that refuses what the real one would.
pub async fn slack() -> SlackStandIn {
    SlackStandIn::open(check_slack_message).await.unwrap()
}

/// One digest, sent by this schedule to `slack`, whatever it has to tell.
pub fn config(slack: &SlackStandIn, cron: &str, zone: &str) -> NotifyConfig {
    let mut config = NotifyConfig::default();
    config.slack.webhook_url = Secret::new(slack.webhook_url());
    config.digest.schedule = cron.to_owned();
    config.digest.timezone = zone.to_owned();
    config.digest.all_quiet = true;
    config
}

/// A process with the role of telling people.
pub struct Newsroom {
    pub store: Arc<Store>,
    pub clock: Clock,
    pub digests: Digests,
    pub deliveries: Deliveries,
    due: DueDigests,
}

impl Newsroom {
    pub async fn open(database: &TestDatabase, clock: &Clock, config: &NotifyConfig) -> Self {
        Self::with_patience(database, clock, config, Duration::from_secs(20)).await
    }

    /// With so much patience for a Slack that does not answer.
    pub async fn with_patience(database: &TestDatabase, clock: &Clock, config: &NotifyConfig, total: Duration) -> Self {
        let store = Arc::new(database.second_server().await);
        store.release_abandoned_notifications().await.unwrap();
        let (clock, outbox) = (clock.clone(), Wakeup::default());
        let public_url = "http://dlo.example".parse().unwrap();
        let changes = AuditedStore::new(Arc::clone(&store), clock.clone(), ChangeFeed::default(), Wakeup::default());
        let digests = Digests::new(
            config,
            public_url,
            SUCCEEDED_AFTER,
            Arc::clone(&store),
            changes,
            clock.clone(),
            outbox.clone(),
        )
        .unwrap();
        let patience = Patience { connect: Duration::from_secs(20), total };
        let deliveries = Deliveries {
            store: Arc::clone(&store),
            channels: Live::new(Channels::new(config).unwrap()),
            sender: Sender::with_patience(clock.clone(), &Reach::default(), patience).unwrap(),
            clock: clock.clone(),
            metrics: Metrics::default(),
            health: Health::new(BrokerBoard::new([]), WorkerBoard::default(), clock.clone()),
            outbox,
        };
        let due = DueDigests::new(digests.clone());
        Self { store, clock, digests, deliveries, due }
    }

    /// Makes what is due.
    pub async fn makes(&mut self) {
        self.due.round(&CancellationToken::new()).await.unwrap();
    }

    /// Sends what is due.
    pub async fn sends(&self) {
        while self.deliveries.deliver_one(Channel::Slack).await.unwrap() {}
    }

    pub async fn works(&mut self) {
        self.makes().await;
        self.sends().await;
    }

    /// Lets time pass in steps, and works at each; before the first one too.
    pub async fn lives_until(&mut self, end: Timestamp, step: Duration) {
        self.works().await;
        while self.clock.now() < end {
            self.clock.set(self.clock.now().plus(step).min(end));
            self.works().await;
        }
    }

    /// All digests, the first one first.
    pub async fn made(&self) -> Vec<DigestRecord> {
        let mut made = self.store.digests(None, None, 10_000).await.unwrap();
        made.reverse();
        made
    }

    /// The slots of all digests that the schedule made.
    pub async fn slots(&self) -> Vec<String> {
        self.made().await.iter().filter_map(|digest| digest.slot.map(shown)).collect()
    }
}

/// The text that stands in for a message.
pub fn text(message: &Value) -> &str {
    message["text"].as_str().unwrap()
}

/// New letters, received now, that fail in `queue` with `error`.
pub async fn fail(database: &TestDatabase, clock: &Clock, n: usize, queue: &str, error: &str) -> Vec<LetterId> {
    let now = clock.now();
    let arrivals: Vec<_> = (0..n).map(|_| an_arrival().queue(queue).received(now)).collect();
    let ids: Vec<LetterId> = record(database, "main", &arrivals).await.into_iter().map(Recorded::letter).collect();
    sort(database, &ids, queue, error).await;
    ids
}

/// Puts letters into the group of what fails in `queue` with `error`.
pub async fn sort(database: &TestDatabase, ids: &[LetterId], queue: &str, error: &str) {
    let mut found = Vec::new();
    for id in ids {
        let received_at = database.shows(*id).await.received_at;
        found.push(Enriched { received_at, ..enriched(*id).in_group("main", queue, error) });
    }
    database.enrich(&found, 1, NOON).await.unwrap();
}
