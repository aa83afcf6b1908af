//! What the management API tells of queues, and what is made of it, on a real RabbitMQ.
//!
//! The management API tells of consumers five seconds late, of those of a quorum queue ten, however often a node
//! collects statistics.

use std::time::Duration;

use amqp_message::{glob::Globs, time::Timestamp};
use dead_letter_office::{
    domain::{
        queue_level::{QueueKind, QueueLevel},
        watch::{BrokerWatch, Change, Concern, Poll, Settings},
    },
    rabbitmq::management::{Management, ManagementError},
};
use lapin::{
    BasicProperties, Channel, Connection, Consumer,
    options::{BasicConsumeOptions, BasicPublishOptions},
    types::FieldTable,
};
use reqwest::{Client, Method, redirect::Policy};
use serde_json::json;

use crate::support::{
    PATIENCE, http,
    process::wait_to_see,
    rabbit::{Rabbit, Vhost},
};

fn client() -> Client {
    http().redirect(Policy::none()).build().unwrap()
}

pub fn management(vhost: &Vhost) -> Management {
    Management::new(vhost.management_url(), vhost.name(), client()).unwrap()
}

/// The API as another user sees it.
fn management_as(vhost: &Vhost, user: &str, password: &str) -> Management {
    let mut url = reqwest::Url::parse(vhost.management_url()).unwrap();
    url.set_username(user).unwrap();
    url.set_password(Some(password)).unwrap();
    Management::new(url.as_str(), vhost.name(), client()).unwrap()
}

/// Waits until the queue is told of as it should be.
pub async fn await_level(management: &Management, queue: &str, is_so: impl Fn(&QueueLevel) -> bool) -> QueueLevel {
    wait_to_see(&format!("{queue} to be told of"), PATIENCE, async || {
        let levels = management.queues().await.unwrap();
        levels.iter().find(|level| level.name == queue).filter(|level| is_so(level)).cloned().ok_or(levels)
    })
    .await
}

/// It consumes until it is dropped, and acknowledges nothing.
pub struct Idler {
    _channel: Channel,
    _consumer: Consumer,
}

pub async fn consume(connection: &Connection, queue: &str) -> Idler {
    let channel = connection.create_channel().await.unwrap();
    let options = BasicConsumeOptions::default();
    let consumer = channel.basic_consume(queue.into(), "".into(), options, FieldTable::default()).await.unwrap();
    Idler { _channel: channel, _consumer: consumer }
}

pub async fn publish(vhost: &Vhost, queue: &str) {
    let (options, properties) = (BasicPublishOptions::default(), BasicProperties::default());
    vhost.channel().await.basic_publish("".into(), queue.into(), options, b"body", properties).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn queues_are_told_with_their_depth_consumers_and_policy() {
    let Some(rabbit) = Rabbit::shared() else { return };
    let vhost = rabbit.vhost();
    let kinds = [("classic", QueueKind::Classic), ("quorum", QueueKind::Quorum), ("stream", QueueKind::Stream)];
    vhost.declare_queue("classic", json!({})).await;
    vhost.declare_queue("quorum", json!({"x-queue-type": "quorum", "x-max-length": 50})).await;
    vhost.declare_queue("stream", json!({"x-queue-type": "stream"})).await;
    for (queue, _) in kinds {
        publish(&vhost, queue).await;
    }
    let policy = json!({"pattern": "^classic$", "definition": {"max-length": 100}, "apply-to": "queues"});
    vhost.manage(Method::PUT, &["policies", vhost.name(), "short"], Some(&policy)).await;
    let management = management(&vhost);
    for (queue, kind) in kinds {
        let level = await_level(&management, queue, |level| level.messages == Some(1)).await;
        assert_eq!((level.kind, level.messages_ready, level.messages_unacknowledged), (kind, Some(1), Some(0)));
        assert_eq!((level.exclusive, level.auto_delete), (false, false));
    }
    let connection = vhost.connect().await;
    let _consumers = [consume(&connection, "classic").await, consume(&connection, "quorum").await];
    for queue in ["classic", "quorum"] {
        let told = |level: &QueueLevel| level.consumers == Some(1) && level.messages_unacknowledged == Some(1);
        let level = await_level(&management, queue, told).await;
        assert_eq!((level.messages_ready, level.messages), (Some(0), Some(1)));
    }
    let limited = await_level(&management, "classic", |level| level.policy.as_deref() == Some("short")).await;
    assert_eq!(limited.max_length, Some(100), "by a policy");
    let limit = async |queue| await_level(&management, queue, |_| true).await.max_length;
    assert_eq!((limit("quorum").await, limit("stream").await), (Some(50), None), "by an argument");
    assert_eq!(management.queues().await.unwrap().len(), 3);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn thousands_of_queues_are_read_by_pages() {
    const QUEUES: usize = 1_201;
    let Some(rabbit) = Rabbit::shared() else { return };
    let vhost = rabbit.vhost();
    let queue = |n| json!({"name": format!("q{n:05}"), "durable": true, "auto_delete": false, "arguments": {}});
    let definitions = json!({"queues": (0..QUEUES).map(queue).collect::<Vec<_>>()});
    vhost.manage(Method::POST, &["definitions", vhost.name()], Some(&definitions)).await;
    let names: Vec<String> = management(&vhost).queues().await.unwrap().into_iter().map(|level| level.name).collect();
    assert_eq!(names, (0..QUEUES).map(|n| format!("q{n:05}")).collect::<Vec<_>>());
}

/// A user with these tags, deleted with the node or by the next who wants one of that name.
async fn user(vhost: &Vhost, name: &str, tags: &str) {
    let body = json!({"password": "hunter2", "tags": tags});
    vhost.manage(Method::PUT, &["users", name], Some(&body)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_user_who_may_not_is_told_what_it_needs() {
    let Some(rabbit) = Rabbit::shared() else { return };
    let vhost = rabbit.vhost();
    vhost.declare_queue("orders", json!({})).await;
    user(&vhost, "watch-untagged", "").await;
    user(&vhost, "watch-stranger", "monitoring").await;
    user(&vhost, "watch-friend", "management").await;
    let least = json!({"configure": "^$", "write": "^$", "read": "^$"});
    vhost.manage(Method::PUT, &["permissions", vhost.name(), "watch-friend"], Some(&least)).await;

    let probe = async |user, password| management_as(&vhost, user, password).probe().await;
    assert!(matches!(probe("watch-friend", "wrong").await, Err(ManagementError::LoginRefused { .. })));
    assert!(matches!(probe("watch-untagged", "hunter2").await, Err(ManagementError::NoTag { .. })));
    // Since 4.3 it looks as if there were no such virtual host.
    let stranger = probe("watch-stranger", "hunter2").await;
    let is_named = matches!(stranger, Err(ManagementError::NoPermission { .. } | ManagementError::NoVhost { .. }));
    assert!(is_named, "{stranger:?}");
    let friend = probe("watch-friend", "hunter2").await.unwrap();
    assert_eq!((friend.user.as_str(), friend.n_queues), ("watch-friend", 1));
    assert!(friend.overview.has_statistics(), "{friend}");

    let nowhere = Management::new(vhost.management_url(), "no/such", client()).unwrap();
    assert!(matches!(nowhere.queues().await, Err(ManagementError::NoVhost { .. })));
    let amqp = vhost.amqp_url().replace("amqp://", "http://");
    let amqp = Management::new(&amqp, vhost.name(), client()).unwrap();
    assert!(matches!(amqp.overview().await, Err(ManagementError::NotManagement { .. })));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_statistics_consumers_are_not_told_and_not_none() {
    let Some(rabbit) = Rabbit::strict() else { return };
    let vhost = rabbit.vhost();
    vhost.declare_queue("orders", json!({"x-queue-type": "classic"})).await;
    publish(&vhost, "orders").await;
    let management = management(&vhost);
    let level = await_level(&management, "orders", |level| level.messages == Some(1)).await;
    assert_eq!((level.consumers, level.messages_ready), (None, Some(1)));
    assert!(!management.overview().await.unwrap().has_statistics());
    let told = management.probe().await.unwrap().to_string();
    assert!(told.contains("statistics are off"), "{told}");
}

/// The watch of a broker whose time goes a minute from look to look.
struct Watch {
    management: Management,
    settings: Settings,
    watch: BrokerWatch,
    at: Timestamp,
}

impl Watch {
    fn of(vhost: &Vhost) -> Self {
        let minutes = |n: u64| Duration::from_secs(60 * n);
        let settings = Settings {
            interval: minutes(1),
            no_consumers_for: minutes(15),
            growing_for: minutes(10),
            lags_for: minutes(5),
            queues: Globs::new(&[]),
            vhost: "/".to_owned(),
            dead_letter_exchange: "dlx".to_owned(),
            dead_letter_queue: "dlo.dead-letters".to_owned(),
            obituary_queue: "dlo.obituaries".to_owned(),
        };
        let at = Timestamp::from_seconds(1_000_000_000);
        Self { management: management(vhost), settings, watch: BrokerWatch::default(), at }
    }

    /// Looks until something is told, and says what, and after how many minutes.
    async fn until_told(&mut self) -> (u64, Change) {
        for minute in 1..100 {
            if let Some(change) = self.look().await.pop() {
                return (minute, change);
            }
        }
        panic!("nothing is told")
    }

    async fn look(&mut self) -> Vec<Change> {
        self.at = self.at.plus(Duration::from_secs(60));
        let queues = self.management.queues().await.ok();
        let (at, queues) = (self.at, queues.as_deref());
        let poll = Poll { begun: at, at, queues, feeds: None, is_consuming: true, overdue: None };
        self.watch.observe(&self.settings, &poll)
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_queue_that_loses_its_consumers_is_told_and_cleared_when_they_are_back() {
    let Some(rabbit) = Rabbit::shared() else { return };
    tokio::join!(lose_and_regain(rabbit, "classic"), lose_and_regain(rabbit, "quorum"));
}

async fn lose_and_regain(rabbit: &Rabbit, queue_type: &str) {
    let vhost = rabbit.vhost();
    for queue in ["texts.persist", "texts.never"] {
        vhost.declare_queue(queue, json!({"x-queue-type": queue_type})).await;
    }
    let mut watch = Watch::of(&vhost);
    let has = |n| move |level: &QueueLevel| level.consumers == Some(n);
    let connection = vhost.connect().await;
    let mut consumers = Vec::new();
    for _ in 0..3 {
        consumers.push(consume(&connection, "texts.persist").await);
    }
    await_level(&watch.management, "texts.persist", has(3)).await;
    assert_eq!(watch.look().await, []);

    connection.close(200, "done".into()).await.unwrap();
    await_level(&watch.management, "texts.persist", has(0)).await;
    let (minutes, change) = watch.until_told().await;
    assert_eq!(minutes, 16);
    let Change::Raised(concern @ Concern::NoConsumers { had: 3, .. }) = change else { panic!("{change:?}") };
    assert_eq!(concern.sentence(watch.at), "texts.persist has had no consumer for 15 min; it had 3.");

    let connection = vhost.connect().await;
    let _consumer = consume(&connection, "texts.persist").await;
    await_level(&watch.management, "texts.persist", has(1)).await;
    assert_eq!(watch.until_told().await, (2, Change::Cleared(concern)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_deleted_queue_is_over_and_one_declared_anew_is_another() {
    let Some(rabbit) = Rabbit::shared() else { return };
    let vhost = rabbit.vhost();
    vhost.declare_queue("orders", json!({})).await;
    let mut watch = Watch::of(&vhost);
    let connection = vhost.connect().await;
    let _consumer = consume(&connection, "orders").await;
    await_level(&watch.management, "orders", |level| level.consumers == Some(1)).await;
    watch.look().await;
    connection.close(200, "done".into()).await.unwrap();
    await_level(&watch.management, "orders", |level| level.consumers == Some(0)).await;
    let (_, Change::Raised(concern)) = watch.until_told().await else { panic!("it is raised first") };
    vhost.delete_queue("orders").await;
    assert_eq!(watch.until_told().await, (2, Change::Cleared(concern)));
    vhost.declare_queue("orders", json!({})).await;
    await_level(&watch.management, "orders", |level| level.consumers == Some(0)).await;
    for _ in 0..20 {
        assert_eq!(watch.look().await, []);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_broker_that_goes_down_is_told_and_its_queues_are_not() {
    let Some(mut rabbit) = Rabbit::doomed().await else { return };
    let vhost = rabbit.vhost();
    vhost.declare_queue("orders", json!({})).await;
    let mut watch = Watch::of(&vhost);
    let connection = vhost.connect().await;
    let _consumer = consume(&connection, "orders").await;
    await_level(&watch.management, "orders", |level| level.consumers == Some(1)).await;
    assert_eq!(watch.look().await, []);
    rabbit.stop().await;
    let (minutes, change) = watch.until_told().await;
    assert!(minutes == 3 && matches!(change, Change::Raised(Concern::Unreachable { .. })), "{minutes} {change:?}");
    for _ in 0..60 {
        assert_eq!(watch.look().await, []);
    }
    rabbit.start().await;
    await_level(&watch.management, "orders", |level| level.consumers == Some(0)).await;
    let (minutes, change) = watch.until_told().await;
    assert!(minutes == 2 && matches!(change, Change::Cleared(Concern::Unreachable { .. })), "{minutes} {change:?}");
    // What nobody watched does not count: it takes all of its time from now on.
    let (minutes, change) = watch.until_told().await;
    assert!(minutes == 14 && matches!(change, Change::Raised(Concern::NoConsumers { .. })), "{minutes} {change:?}");
}
