//! The watch at work: from a real broker's management API to incidents, across restarts and among several servers.

use std::{sync::Arc, time::Duration};

use amqp_message::{glob::Globs, time::Timestamp};
use dead_letter_office::{
    clock::Clock,
    config::{NotifyConfig, PageConfig},
    domain::{
        broker::ConnectionState,
        incident::IncidentKind,
        letter::Importance,
        watch::{HintKind, SettingHint, Settings},
    },
    rabbitmq::{health::BrokerBoard, management::Management},
    services::{
        change_feed::ChangeFeed,
        incidents::{Incidents, Settings as IncidentSettings},
        live::Live,
        notifications::channels::Channels,
        wakeup::Wakeup,
        watch::{Tidying, Watch, Watcher},
        worker::Worker,
    },
    store::Store,
};
use reqwest::Method;
use serde_json::json;
use sqlx::{Connection, SqliteConnection};
use url::Url;

use super::{
    desk::{MAIN, TestDatabase},
    watch::{await_level, consume, management, publish},
};
use crate::support::{
    http,
    rabbit::{Rabbit, Vhost},
};

const MINUTE: Duration = Duration::from_secs(60);

/// A server that does nothing but watch one broker, a minute from look to look.
struct Post {
    store: Arc<Store>,
    clock: Clock,
    watcher: Watcher,
}

impl Post {
    async fn begin(database: &TestDatabase, clock: &Clock, management: Management) -> Self {
        let store = Arc::new(Store::open(&database.url).await.unwrap());
        store.migrate().await.unwrap();
        store.release_abandoned_watches().await.unwrap();
        let board = BrokerBoard::new([(MAIN.to_owned(), "somewhere".to_owned())]);
        board.set_consuming(MAIN, ConnectionState::Connected { since: clock.now() });
        let watch = Watch {
            broker: MAIN.to_owned(),
            management,
            settings: settings(),
            importance: Importance::High,
            public_url: server(),
            store: Arc::clone(&store),
            board,
            clock: clock.clone(),
            incidents: incidents(&store, clock),
        };
        Self { store, clock: clock.clone(), watcher: watch.begin() }
    }

    /// Looks so often, a minute apart.
    async fn looks(&mut self, times: u64) {
        for _ in 0..times {
            self.clock.advance(MINUTE);
            self.watcher.look().await.unwrap();
        }
    }

    /// What is told and not over: the key and what is the matter.
    async fn open(&self) -> Vec<(String, String)> {
        let records = self.store.open_incidents().await.unwrap();
        let told = |incident: dead_letter_office::domain::incident::Incident| {
            assert_eq!((incident.kind, incident.importance), (IncidentKind::Watch, Importance::High));
            (incident.key, incident.error.unwrap())
        };
        records.into_iter().map(|record| told(record.incident)).collect()
    }
}

fn settings() -> Settings {
    Settings {
        interval: MINUTE,
        no_consumers_for: 15 * MINUTE,
        growing_for: 10 * MINUTE,
        lags_for: 2 * MINUTE,
        queues: Globs::new(&[]),
        vhost: "/".to_owned(),
        dead_letter_exchange: "dlx".to_owned(),
        dead_letter_queue: "dlo.dead-letters".to_owned(),
        obituary_queue: "dlo.obituaries".to_owned(),
    }
}

fn server() -> Url {
    "http://dlo.example.com".parse().unwrap()
}

fn incidents(store: &Arc<Store>, clock: &Clock) -> Incidents {
    let channels = Live::new(Channels::new(&NotifyConfig::default()).unwrap());
    let settings = Live::new(IncidentSettings::new(&PageConfig::default(), server()).unwrap());
    Incidents::new(Arc::clone(store), channels, clock.clone(), ChangeFeed::default(), Wakeup::default(), settings)
}

fn clock() -> Clock {
    Clock::manual(Timestamp::from_seconds(1_900_000_000))
}

/// How many there were of a key, those that are over too.
async fn incidents_ever(database: &TestDatabase, key: &str) -> i64 {
    const COUNT: &str = "SELECT count(*) FROM incidents WHERE key = $1";
    let mut connection = SqliteConnection::connect(&database.url).await.unwrap();
    sqlx::query_scalar(COUNT).bind(key).fetch_one(&mut connection).await.unwrap()
}

/// One that nobody answers.
fn nowhere(vhost: &Vhost) -> Management {
    Management::new("http://127.0.0.1:1", vhost.name(), http().build().unwrap()).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lost_consumers_are_an_incident_whoever_restarts_meanwhile() {
    let Some(rabbit) = Rabbit::shared() else { return };
    let (vhost, database, clock) = (rabbit.vhost(), TestDatabase::sqlite(), clock());
    vhost.declare_queue("texts.persist", json!({"x-queue-type": "classic"})).await;
    let management = management(&vhost);
    let connection = vhost.connect().await;
    let _consumer = consume(&connection, "texts.persist").await;
    await_level(&management, "texts.persist", |level| level.consumers == Some(1)).await;
    let mut post = Post::begin(&database, &clock, management.clone()).await;
    post.looks(2).await;
    connection.close(200, "done".into()).await.unwrap();
    await_level(&management, "texts.persist", |level| level.consumers == Some(0)).await;
    post.looks(10).await;
    assert_eq!(post.open().await, []);
    // A process that dies gives nothing back.
    drop(post);
    let mut post = Post::begin(&database, &clock, management.clone()).await;
    post.looks(6).await;
    let key = "watch:main:no_consumers:texts.persist".to_owned();
    let told = |minutes| format!("texts.persist has had no consumer for {minutes} min; it had 1.");
    assert_eq!(post.open().await, [(key.clone(), told(15))]);
    assert_eq!(post.store.queues_without_consumers().await.unwrap(), [(MAIN.to_owned(), "texts.persist".to_owned())]);
    let incident = post.store.open_incidents().await.unwrap().remove(0).incident;
    assert_eq!(incident.href, "http://dlo.example.com/queues?queue=texts.persist");
    drop(post);
    let mut post = Post::begin(&database, &clock, management.clone()).await;
    post.looks(30).await;
    assert_eq!(post.open().await, [(key.clone(), told(45))], "told once, and as it is now");
    let connection = vhost.connect().await;
    let _consumer = consume(&connection, "texts.persist").await;
    await_level(&management, "texts.persist", |level| level.consumers == Some(1)).await;
    post.looks(3).await;
    assert_eq!((post.open().await, incidents_ever(&database, &key).await), (vec![], 1));
    assert_eq!(post.store.queues_without_consumers().await.unwrap(), []);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dead_letter_exchange_that_leads_elsewhere_is_told() {
    let Some(rabbit) = Rabbit::shared() else { return };
    let (vhost, database, clock) = (rabbit.vhost(), TestDatabase::sqlite(), clock());
    for queue in ["dlo.dead-letters", "dlo.obituaries", "none"] {
        vhost.declare_queue(queue, json!({})).await;
    }
    let exchange = json!({"type": "fanout"});
    vhost.manage(Method::PUT, &["exchanges", vhost.name(), "graveyard"], Some(&exchange)).await;
    vhost.declare_queue("orders", json!({"x-dead-letter-exchange": "graveyard"})).await;
    let (management, connection) = (management(&vhost), vhost.connect().await);
    let _consumers = [consume(&connection, "orders").await, consume(&connection, "none").await];
    for queue in ["orders", "none"] {
        await_level(&management, queue, |level| level.consumers == Some(1)).await;
    }
    let mut post = Post::begin(&database, &clock, management.clone()).await;
    let kinds = async |post: &Post| -> Vec<(String, HintKind)> {
        let hints = post.store.watched_brokers().await.unwrap().remove(0).hints;
        hints.into_iter().map(|hint| (hint.queue, hint.kind)).collect()
    };
    post.looks(1).await;
    let none = ("none".to_owned(), HintKind::NoDeadLetterExchange);
    let elsewhere = HintKind::LeadsElsewhere { exchange: "graveyard".to_owned(), routing_key: None, by_argument: true };
    assert_eq!(kinds(&post).await, [none.clone(), ("orders".to_owned(), elsewhere)]);
    let path = ["bindings", vhost.name(), "e", "graveyard", "q", "dlo.dead-letters"];
    vhost.manage(Method::POST, &path, Some(&json!({"routing_key": ""}))).await;
    drop(post);
    let mut post = Post::begin(&database, &clock, management).await;
    post.looks(1).await;
    assert_eq!(kinds(&post).await, [none]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_policy_that_drops_dead_letters_is_told() {
    let Some(rabbit) = Rabbit::shared() else { return };
    let (vhost, database, clock) = (rabbit.vhost(), TestDatabase::sqlite(), clock());
    for queue in ["dlo.dead-letters", "orders"] {
        vhost.declare_queue(queue, json!({"x-dead-letter-exchange": "dlx"})).await;
    }
    let policy = json!({"pattern": ".*", "apply-to": "queues", "definition": {"max-length": 20, "message-ttl": 2_500}});
    vhost.manage(Method::PUT, &["policies", vhost.name(), "safety"], Some(&policy)).await;
    let management = management(&vhost);
    await_level(&management, "dlo.dead-letters", |level| level.max_length.is_some()).await;
    let mut post = Post::begin(&database, &clock, management).await;
    post.looks(1).await;
    let hints = post.store.watched_brokers().await.unwrap().remove(0).hints;
    let dropped = SettingHint {
        queue: "dlo.dead-letters".to_owned(),
        kind: HintKind::DropsOurs { max_length: Some(20), message_ttl: Some(2_500) },
        policy: Some("safety".to_owned()),
    };
    assert_eq!(hints, [dropped]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_written_down_and_not_told_is_told_by_the_next_look() {
    let Some(rabbit) = Rabbit::shared() else { return };
    let (vhost, database, clock) = (rabbit.vhost(), TestDatabase::sqlite(), clock());
    let mut post = Post::begin(&database, &clock, nowhere(&vhost)).await;
    post.looks(3).await;
    let told = post.open().await;
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].1.contains("so no queue is watched"), "{told:?}");
    let problem = post.store.watched_brokers().await.unwrap()[0].problem.clone().unwrap();
    assert!(problem.contains("cannot connect"), "{problem}");
    incidents(&post.store, &clock).clear(&told[0].0).await.unwrap();
    drop(post);
    let mut post = Post::begin(&database, &clock, nowhere(&vhost)).await;
    post.looks(1).await;
    assert_eq!(post.open().await.len(), 1, "a crash between the two is mended");
    drop(post);
    let mut post = Post::begin(&database, &clock, management(&vhost)).await;
    post.looks(2).await;
    assert_eq!(post.open().await, []);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_queue_of_ours_that_is_stuck_is_one_incident() {
    let Some(rabbit) = Rabbit::shared() else { return };
    let (vhost, database, clock) = (rabbit.vhost(), TestDatabase::sqlite(), clock());
    vhost.declare_queue("dlo.obituaries", json!({"x-queue-type": "classic"})).await;
    let management = management(&vhost);
    let mut post = Post::begin(&database, &clock, management.clone()).await;
    post.looks(2).await;
    for n in 1..=2 {
        publish(&vhost, "dlo.obituaries").await;
        await_level(&management, "dlo.obituaries", |level| level.messages_ready == Some(n)).await;
        post.looks(1).await;
    }
    post.looks(20).await;
    let open = post.open().await;
    let keys: Vec<&str> = open.iter().map(|(key, _)| key.as_str()).collect();
    assert_eq!(keys, ["watch:main:stuck:dlo.obituaries"], "it lags and grows: {open:?}");
    assert_eq!(post.store.concerns().await.unwrap().len(), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_two_servers_one_watches_and_the_other_takes_over() {
    let (Some(rabbit), Some(database)) = (Rabbit::shared(), TestDatabase::postgres()) else { return };
    let (vhost, clock) = (rabbit.vhost(), clock());
    let mut first = Post::begin(&database, &clock, nowhere(&vhost)).await;
    let mut second = Post::begin(&database, &clock, management(&vhost)).await;
    for _ in 0..4 {
        first.looks(1).await;
        second.watcher.look().await.unwrap();
    }
    assert_eq!(first.open().await.len(), 1, "only what the first one sees counts");
    Worker::end(&mut first.watcher).await;
    second.looks(2).await;
    assert_eq!(second.open().await, []);
    let mut third = Post::begin(&database, &clock, nowhere(&vhost)).await;
    drop(second);
    third.looks(4).await;
    assert_eq!(third.open().await, [], "it waits until the claim has ended");
    third.looks(4).await;
    assert_eq!(third.open().await.len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_nobody_watches_any_more_is_over() {
    let Some(rabbit) = Rabbit::shared() else { return };
    let (vhost, database, clock) = (rabbit.vhost(), TestDatabase::sqlite(), clock());
    let mut post = Post::begin(&database, &clock, nowhere(&vhost)).await;
    post.looks(3).await;
    let incidents = incidents(&post.store, &clock);
    let tidying = Tidying { store: Arc::clone(&post.store), clock: clock.clone(), incidents };
    for (hours, open) in [(24, 1), (1, 0)] {
        clock.advance(Duration::from_secs(3_600 * hours));
        tidying.tidy().await.unwrap();
        assert_eq!(post.open().await.len(), open);
    }
    assert_eq!(post.store.watched_brokers().await.unwrap(), []);
}
