//! A server that notifies a PagerDuty and an Alertmanager of its own of incidents, by a clock that tests turn.

use std::sync::Arc;

use amqp_message::time::Timestamp;
use dead_letter_office::{
    clock::Clock,
    config::{NotifyConfig, values::Secret},
    demo::stand_ins::{AlertmanagerStandIn, Answered, PagerDutyStandIn},
    domain::{
        actor::Actor,
        group::{GroupFilter, GroupId},
        group_state::GroupCommand,
        letter::{Importance, LetterId},
        notification::Channel,
        version::Expected,
    },
    metrics::Metrics,
    rabbitmq::health::BrokerBoard,
    services::{
        change_feed::ChangeFeed,
        health::{Health, WorkerBoard},
        incidents::{Incidents, Settings, heartbeat::Heartbeat},
        live::Live,
        notifications::{channels::Channels, deliveries::Deliveries},
        wakeup::Wakeup,
        worker::Worker,
    },
    store::{Enriched, GroupOrder, Recorded, Store},
};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::{sender_at, url};
use crate::store::{
    database::{TestDatabase, record},
    make::{InGroup, Make, NOON, an_arrival, enriched},
};

/// A process with the role of notifying people.
pub struct Pager {
    pub store: Arc<Store>,
    pub clock: Clock,
    pub incidents: Incidents,
    pub heartbeat: Heartbeat,
    deliveries: Deliveries,
    pub alertmanager: AlertmanagerStandIn,
    pub pagerduty: PagerDutyStandIn,
}

/// A SQLite database, and one on Postgres where there is one.
pub async fn databases() -> Vec<TestDatabase> {
    [Some(TestDatabase::sqlite().await), TestDatabase::postgres().await].into_iter().flatten().collect()
}

impl Pager {
    pub async fn open(database: &TestDatabase, change: impl FnOnce(&mut NotifyConfig)) -> Self {
        let clock = Clock::manual(NOON);
        let alertmanager = AlertmanagerStandIn::open(clock.clone()).await.unwrap();
        let pagerduty = PagerDutyStandIn::open().await.unwrap();
        let mut config = NotifyConfig::default();
        config.alertmanager.url = Some(url(&alertmanager.url()));
        config.pagerduty.url = url(&pagerduty.url());
        config.pagerduty.routing_key = Secret::new(pagerduty.routing_key());
        change(&mut config);
        let (store, sender) = (Arc::new(database.second_server().await), sender_at(clock.clone()));
        let (channels, outbox) = (Live::new(Channels::new(&config).unwrap()), Wakeup::default());
        let settings = Live::new(Settings::new(&config.page, url("https://dlo.example/")).unwrap());
        let incidents = Incidents::new(
            Arc::clone(&store),
            channels.clone(),
            clock.clone(),
            ChangeFeed::default(),
            outbox.clone(),
            settings,
        );
        let deliveries = Deliveries {
            store: Arc::clone(&store),
            channels: channels.clone(),
            sender: sender.clone(),
            clock: clock.clone(),
            metrics: Metrics::default(),
            health: Health::new(BrokerBoard::new([]), WorkerBoard::default(), clock.clone()),
            outbox,
        };
        let heartbeat = Heartbeat { store: Arc::clone(&store), channels, sender, clock: clock.clone() };
        Self { store, clock, incidents, heartbeat, deliveries, alertmanager, pagerduty }
    }

    /// Looks at the groups at that moment, and sends what comes of it.
    pub async fn looks_at(&self, at: Timestamp) {
        self.clock.set(at);
        self.incidents.look().await.unwrap();
        for channel in Channel::ALL {
            while self.deliveries.deliver_one(*channel).await.unwrap() {}
        }
    }

    /// The channels that this server says fail.
    pub fn failing(&self) -> Vec<String> {
        self.deliveries.health.conditions().into_iter().map(|condition| condition.subject).collect()
    }

    /// The same after a round of each worker that sends.
    pub async fn failing_after_a_round(&self) -> Vec<String> {
        for mut worker in self.deliveries.workers() {
            worker.round(&CancellationToken::new()).await.unwrap();
        }
        self.failing()
    }

    /// Takes every channel out of the configuration.
    pub fn remove_channels(&self) {
        self.deliveries.channels.replace(Channels::default());
    }

    pub fn metrics(&self) -> String {
        self.deliveries.metrics.encode()
    }

    /// A letter that fails in `orders` now.
    pub async fn fail(&self, importance: Importance, error: &str) -> LetterId {
        self.fail_on("main", importance, error).await
    }

    pub async fn fail_on(&self, broker: &str, importance: Importance, error: &str) -> LetterId {
        let now = self.clock.now();
        let recorded = record(&self.store, broker, &[an_arrival().received(now)]).await;
        let letter = recorded.into_iter().map(Recorded::letter).next().unwrap();
        let found = Enriched { importance, received_at: now, ..enriched(letter).in_group(broker, "orders", error) };
        self.store.enrich(&[found], 1, now).await.unwrap();
        letter
    }

    /// A letter each of so many groups.
    pub async fn fail_in_groups(&self, n: usize, importance: Importance) -> Vec<LetterId> {
        let mut letters = Vec::new();
        for what in ('a'..='z').take(n) {
            letters.push(self.fail(importance, &format!("no {what}")).await);
        }
        letters
    }

    /// Somebody does that with all groups.
    pub async fn does(&self, command: GroupCommand) {
        let groups = self.store.matching_groups(&GroupFilter::default()).await.unwrap();
        let ids: Vec<GroupId> = groups.iter().map(|group| group.id).collect();
        let order = GroupOrder { ids: &ids, command: &command, by: &Actor::named("ada"), at: self.clock.now() };
        let report = self.store.act_on_groups(&order, &Expected::Anything).await.unwrap();
        assert_eq!(report.done.len(), ids.len(), "{:?}", report.refused);
    }

    /// What PagerDuty was sent, the first first.
    pub fn actions(&self) -> Vec<String> {
        let action = |request: &Answered| {
            let event: Value = serde_json::from_slice(&request.body).unwrap();
            event["event_action"].as_str().unwrap().to_owned()
        };
        self.pagerduty.requests().iter().map(action).collect()
    }
}
