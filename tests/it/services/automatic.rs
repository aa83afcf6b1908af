//! Automatic retries: what is rejected goes back by itself, until the policy is used up.

use std::time::{Duration, Instant};

use amqp_message::death::Reason;
use dead_letter_office::{
    clock::Clock,
    config::QueueType,
    domain::{
        history::Event,
        letter::Status,
        policy::{Delays, Policy, Via},
        retry::Destination,
    },
    rabbitmq::names,
};
use futures_util::future::join_all;
use lapin::{
    BasicProperties, ExchangeKind,
    message::BasicGetMessage,
    options::{BasicRejectOptions, ExchangeDeclareOptions, QueueBindOptions},
    types::{AMQPValue, FieldTable, LongString},
};
use serde_json::json;

use super::{
    database_outage::Lock,
    desk::{AppState, MAIN, PATIENCE, TestDatabase, broker, open_database, with_queues},
    service::{OBITUARIES, Service, confirming_channel, flood, persistent, publish, publish_to, texts},
    worker::{Answer, Worker},
};
use crate::support::{
    delay_queues,
    process::wait_until,
    rabbit::{Rabbit, Vhost},
};

const VIAS: [Via; 2] = [Via::Database, Via::Broker];

/// Retries of all queues after so many milliseconds.
fn policy<const N: usize>(delays: [u64; N], via: Via) -> Policy {
    Policy {
        queues: Policy::EVERY_QUEUE.to_owned(),
        reason: None,
        delays: Delays::Listed(delays.map(Duration::from_millis).to_vec()),
        jitter: 0.0,
        via,
        keep_routing_key: false,
    }
}

async fn server(database: &TestDatabase, vhost: &Vhost, policies: Vec<Policy>) -> AppState {
    server_with(database, vhost, QueueType::Quorum, policies).await
}

async fn server_with(database: &TestDatabase, vhost: &Vhost, queue_type: QueueType, policies: Vec<Policy>) -> AppState {
    let brokers = [(MAIN, with_queues(queue_type, vhost))];
    let server = AppState::with_policies(open_database(&database.url).await, Clock::system(), brokers, policies);
    server.await_work().await;
    server
}

fn header(message: &BasicGetMessage, name: &str) -> Option<String> {
    let value = message.properties.headers().as_ref()?.inner().get(name)?;
    Some(value.as_long_string()?.to_string())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_fails_goes_back_until_its_retries_are_used_up() {
    let Some(rabbit) = Rabbit::shared() else { return };
    let mut checks = Vec::new();
    let [one, other] = VIAS;
    for (queue_type, vias) in [(QueueType::Quorum, [one, other]), (QueueType::Classic, [other, one])] {
        let spread = TestDatabase::spread(vias).into_iter();
        checks.extend(spread.map(|(via, database)| check_rounds(rabbit.vhost(), database, queue_type, via)));
    }
    // Side by side, as most of it is waiting.
    join_all(checks).await;
}

async fn check_rounds(vhost: Vhost, database: TestDatabase, queue_type: QueueType, via: Via) {
    let server = server_with(&database, &vhost, queue_type, vec![policy([100, 300], via)]).await;
    let orders = Service::start_with(&vhost, "orders", json!({"x-queue-type": queue_type.as_str()})).await;
    let mut failed = Instant::now();
    orders.fail("body").await;
    let mut ids = Vec::new();
    for (failures, delay) in [("1", 100), ("2", 300)] {
        let back = orders.next().await;
        assert!(failed.elapsed() + Duration::from_millis(20) >= Duration::from_millis(delay), "{:?}", failed.elapsed());
        assert_eq!((header(&back, "dlo-attempts").as_deref(), &*back.data), (Some(failures), &b"body"[..]));
        assert_eq!(header(&back, "dlo-queue").as_deref(), Some("orders"));
        ids.push(header(&back, "dlo-id").unwrap());
        failed = Instant::now();
        back.reject(BasicRejectOptions { requeue: false }).await.unwrap();
    }
    let letter = server.await_status(ids[0].parse().unwrap(), Status::Open).await;
    assert_eq!((letter.attempts, letter.reason, letter.queue.as_deref()), (3, Reason::Rejected, Some("orders")));
    assert_eq!((ids[0] == ids[1], server.count().await), (true, 1), "{via}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_database_tells_what_happened_in_each_round() {
    let Some(rabbit) = Rabbit::shared() else { return };
    let (vhost, database) = (rabbit.vhost(), TestDatabase::sqlite());
    let server = server(&database, &vhost, vec![policy([1], Via::Database)]).await;
    let (orders, begun) = (Service::start(&vhost, "orders").await, server.clock.now());
    orders.fail("body").await;
    orders.reject().await;
    server.await_count(Status::Open, 1).await;
    let letter = server.await_letter().await;
    let round = [Event::RetryScheduled, Event::Retried, Event::FailedAgain];
    assert_eq!(server.events(letter.summary.id).await, [&[Event::Received][..], &round].concat());
    let counts = server.store.retry_counts(begun).await.unwrap();
    let counts: Vec<_> =
        counts.iter().map(|counts| (counts.failures, counts.failed, counts.retried, counts.exhausted)).collect();
    assert_eq!(counts, [(1, 1, 1, 0), (2, 1, 0, 1)]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_waits_in_the_broker_needs_no_letter() {
    let Some(rabbit) = Rabbit::shared() else { return };
    let (vhost, database) = (rabbit.vhost(), TestDatabase::sqlite());
    let server = server(&database, &vhost, vec![policy([50, 50], Via::Broker)]).await;
    let orders = Service::start(&vhost, "orders").await;
    let begun = server.clock.now();
    delay_queues::declare(vhost.amqp_url(), "orders", [Duration::from_millis(50)], begun).await;
    orders.fail("body").await;
    orders.work().await;
    let told = async || !server.store.retry_counts(begun).await.unwrap().is_empty();
    wait_until("the database to be told the numbers", PATIENCE, told).await;
    assert_eq!(server.count().await, 0);
}

/// What waits is received, and not sent back before it has waited, wherever that is. Nobody else says that it was counted.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_failure_is_counted_as_received_and_each_retry_as_it_is_sent() {
    let Some(rabbit) = Rabbit::shared() else { return };
    for via in VIAS {
        let (vhost, database) = (rabbit.vhost(), TestDatabase::sqlite());
        let later = Policy { queues: "later".to_owned(), ..policy([3_600_000], via) };
        let server = server(&database, &vhost, vec![policy([50], via), later]).await;
        let (later, orders) = (Service::start(&vhost, "later").await, Service::start(&vhost, "orders").await);
        if via == Via::Broker {
            let (hour, now) = (Duration::from_secs(3_600), server.clock.now());
            delay_queues::declare(vhost.amqp_url(), "later", [hour], now).await;
            delay_queues::declare(vhost.amqp_url(), "orders", [Duration::from_millis(50)], now).await;
        }
        later.fail("waits for an hour").await;
        let mut waited = FieldTable::default();
        waited.insert("dlo-waited".into(), AMQPValue::LongString("true".into()));
        orders.receive(BasicProperties::default().with_headers(waited), b"body").await;
        orders.reject().await;
        orders.reject().await;
        server.await_count(Status::Open, 1).await;
        let counted = [
            r#"dlo_letters_received_total{broker="main",queue="later"} 1"#,
            r#"dlo_letters_received_total{broker="main",queue="orders"} 2"#,
            r#"dlo_retries_total{broker="main",queue="orders",kind="automatic"} 1"#,
        ];
        wait_until("all to be counted", PATIENCE, async || {
            let numbers = server.metrics.encode();
            counted.iter().all(|sample| numbers.lines().any(|line| line == *sample))
        })
        .await;
        assert!(!server.metrics.encode().contains(r#"dlo_retries_total{broker="main",queue="later""#), "{via}");
    }
}

/// A node that is killed forgets what is in a quorum queue that is only just declared.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_would_wait_in_a_new_queue_of_the_broker_waits_in_the_database() {
    let Some(rabbit) = Rabbit::shared() else { return };
    for database in TestDatabase::both() {
        let (vhost, hour) = (rabbit.vhost(), Duration::from_secs(3_600));
        let clock = Clock::manual(Clock::system().now());
        let new = Policy { queues: "new".to_owned(), ..policy([3_600_000], Via::Broker) };
        let (store, brokers) = (open_database(&database.url).await, [(MAIN, broker(vhost.amqp_url()))]);
        let policies = vec![policy([50], Via::Broker), new];
        let server = AppState::with_policies(store, clock.clone(), brokers, policies);
        server.await_work().await;
        delay_queues::declare(vhost.amqp_url(), "used", [Duration::from_millis(50)], clock.now()).await;
        let (new, used) = (Service::start(&vhost, "new").await, Service::start(&vhost, "used").await);
        new.fail("first").await;
        used.fail("held up by nothing").await;
        used.work().await;
        server.await_count(Status::Scheduled, 1).await;

        let delay_queue = || names::delay_queue(&Destination::straight_to("new").after(hour, clock.now())).unwrap();
        assert_eq!(vhost.depth(&delay_queue()).await, 0);
        server.advance(2 * hour);
        let back = new.work().await;
        assert_eq!((header(&back, "dlo-attempts").as_deref(), &*back.data), (Some("1"), &b"first"[..]));
        server.await_count(Status::Retried, 1).await;
        let counts = server.store.retry_counts(clock.now().minus(2 * hour)).await.unwrap();
        let counts = counts.iter().find(|counts| counts.queue.as_deref() == Some("new")).unwrap();
        assert_eq!((counts.failures, counts.failed, counts.retried, counts.exhausted), (1, 1, 1, 0));
        wait_until("later ones to wait in the broker", PATIENCE, async || {
            new.fail("later").await;
            delay_queues::messages_in(&vhost, &delay_queue()).await > 0
        })
        .await;
    }
}

/// The broker settles in seconds, and who knows when the database is back.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_the_database_a_new_queue_of_the_broker_is_waited_for() {
    let Some(rabbit) = Rabbit::shared() else { return };
    let (vhost, database) = (rabbit.vhost(), TestDatabase::sqlite());
    let server = server(&database, &vhost, vec![policy([50], Via::Broker)]).await;
    let orders = Service::start(&vhost, "orders").await;
    let lock = Lock::on(&database).await;
    orders.fail("body").await;
    assert_eq!(orders.work().await.data, b"body");
    lock.lift().await;
    assert_eq!(server.count().await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_long_wait_holds_up_no_short_one() {
    let Some(rabbit) = Rabbit::shared() else { return };
    for via in VIAS {
        let (vhost, database) = (rabbit.vhost(), TestDatabase::sqlite());
        let slow = Policy { queues: "slow".to_owned(), ..policy([3_600_000], via) };
        let server = server(&database, &vhost, vec![policy([50], via), slow]).await;
        let (slow, quick) = (Service::start(&vhost, "slow").await, Service::start(&vhost, "quick").await);
        slow.fail("waits for an hour").await;
        quick.fail("waits for no time").await;
        quick.work().await;
        drop(server);
    }
}

/// A message may still carry what an older failure, in another queue, has left in its headers.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_retried_by_itself_where_its_queue_is_in_dispute() {
    let Some(rabbit) = Rabbit::shared() else { return };
    let spring = [("x-original-exchange", ""), ("x-original-routingKey", "older"), ("x-exception-message", "no")];
    let obituary = [("dlo-queue", "older"), ("dlo-reason", "rejected"), ("dlo-attempts", "1")];
    for via in VIAS {
        let (vhost, database) = (rabbit.vhost(), TestDatabase::sqlite());
        let server = server(&database, &vhost, vec![policy([50], via)]).await;
        let older = Service::start(&vhost, "older").await;
        let orders = Service::start(&vhost, "orders").await;
        for headers in [spring, obituary] {
            let text = |text: &str| AMQPValue::LongString(LongString::from(text));
            let mut table = FieldTable::default();
            for (name, value) in headers {
                table.insert(name.into(), text(value));
            }
            orders.receive(BasicProperties::default().with_headers(table), b"body").await;
            orders.reject().await;
        }
        server.await_count(Status::Open, 2).await;
        assert_eq!([vhost.depth(older.queue).await, vhost.depth(orders.queue).await], [0, 0]);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_reason_may_have_its_policy() {
    let Some(rabbit) = Rabbit::shared() else { return };
    let (vhost, database) = (rabbit.vhost(), TestDatabase::sqlite());
    let never = Policy { reason: Some(Reason::Expired), ..policy([], Via::Database) };
    let server = server(&database, &vhost, vec![policy([3_600_000], Via::Database), never]).await;
    // Each in a queue of its own: what is to be rejected must not expire before.
    Service::start(&vhost, "orders").await.fail("rejected").await;
    let texts = Service::start_with(&vhost, "texts", json!({"x-message-ttl": 100})).await;
    texts.receive(BasicProperties::default(), b"expires").await;
    server.await_count(Status::Open, 1).await;
    server.await_count(Status::Scheduled, 1).await;
    let reason = |status| {
        let letters = server.letters();
        async move { letters.await.iter().find(|letter| letter.status == status).map(|letter| letter.reason) }
    };
    assert_eq!(reason(Status::Open).await, Some(Reason::Expired));
    assert_eq!(reason(Status::Scheduled).await, Some(Reason::Rejected));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_first_routing_key_is_kept_where_it_is_asked_for() {
    let Some(rabbit) = Rabbit::shared() else { return };
    for via in VIAS {
        let (vhost, database) = (rabbit.vhost(), TestDatabase::sqlite());
        let keeping = Policy { keep_routing_key: true, ..policy([20, 20], via) };
        let _server = server(&database, &vhost, vec![keeping]).await;
        let (orders, audit) = (Service::start(&vhost, "orders").await, Service::start(&vhost, "audit").await);
        let channel = confirming_channel(&vhost).await;
        let (options, none) = (ExchangeDeclareOptions::default(), FieldTable::default());
        channel.exchange_declare("events".into(), ExchangeKind::Topic, options, none.clone()).await.unwrap();
        for queue in ["orders", "audit"] {
            let bound = channel.queue_bind(
                queue.into(),
                "events".into(),
                "order.*".into(),
                QueueBindOptions::default(),
                none.clone(),
            );
            bound.await.unwrap();
        }
        publish_to(&channel, "events", "order.placed", persistent(), b"1").await;
        audit.work().await;
        orders.reject().await;
        for _ in 0..2 {
            let back = orders.reject().await;
            assert_eq!(back.routing_key.as_str(), "order.placed", "{via}");
        }
        assert_eq!(vhost.depth("audit").await, 0, "only the queue that failed gets it back");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn several_retriers_share_the_work() {
    let Some(rabbit) = Rabbit::shared() else { return };
    let Some(database) = TestDatabase::postgres() else { return };
    let vhost = rabbit.vhost();
    let policies = || vec![policy([100], Via::Database)];
    let servers = [server(&database, &vhost, policies()).await, server(&database, &vhost, policies()).await];
    Service::start(&vhost, "orders").await;
    flood(&confirming_channel(&vhost).await, "orders", 0..200).await;
    let fail_once = |_: &str, attempts| if attempts == 0 { Answer::Reject } else { Answer::Done };
    let orders = Worker::start(&vhost, "orders", 100, fail_once).await;
    wait_until("all to be back", PATIENCE, async || orders.done().into_iter().eq(texts(0..200))).await;
    servers[0].await_count(Status::Scheduled, 0).await;
    servers[1].await_count(Status::Open, 0).await;
    assert_eq!((orders.count(), vhost.depth("orders").await), (400, 0), "each is sent by one of them");
}

/// In the form that `docs/guide/obituaries.md` describes, as a service's own retry code may write one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn anybody_may_publish_an_obituary() {
    let Some(rabbit) = Rabbit::shared() else { return };
    let (vhost, database) = (rabbit.vhost(), TestDatabase::sqlite());
    let server = server(&database, &vhost, vec![policy([1], Via::Database)]).await;
    let channel = confirming_channel(&vhost).await;
    let mut headers = FieldTable::default();
    for (name, value) in [
        ("dlo-queue", "orders"),
        ("dlo-attempts", "7"),
        ("dlo-reason", "rejected"),
        ("dlo-exchange", "events"),
        ("dlo-routing-key", "order.placed"),
    ] {
        headers.insert(name.into(), AMQPValue::LongString(LongString::from(value)));
    }
    publish(&channel, OBITUARIES, persistent().with_headers(headers), b"{}").await;
    let letter = server.await_letter().await.summary;
    assert_eq!((letter.queue.as_deref(), letter.attempts, letter.reason), (Some("orders"), 7, Reason::Rejected));
    assert_eq!((&*letter.exchange, &*letter.routing_key), ("events", "order.placed"));
    assert_eq!(letter.status, Status::Open);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_cannot_wait_in_the_broker_becomes_an_obituary() {
    let Some(rabbit) = Rabbit::shared() else { return };
    let (vhost, database) = (rabbit.vhost(), TestDatabase::sqlite());
    let orders = Service::start(&vhost, "orders").await;
    // The server has declared its queues, and is away while the message dies and its queue goes.
    server(&database, &vhost, Vec::new()).await.close().await;
    orders.fail("body").await;
    vhost.delete_queue("orders").await;
    delay_queues::declare(vhost.amqp_url(), "orders", [Duration::from_millis(1)], Clock::system().now()).await;
    let server = server(&database, &vhost, vec![policy([1], Via::Broker)]).await;
    // A broker that is slow to confirm the empty bundle has it wait in the database first.
    let letter = server.await_letter().await.summary;
    let letter = server.await_status(letter.id, Status::Open).await;
    assert_eq!((letter.queue.as_deref(), letter.attempts), (Some("orders"), 1));

    // It is received once, and all that is counted of it is counted before what comes after it.
    let received = async |queue: &str| {
        let sample = format!(r#"dlo_letters_received_total{{broker="main",queue="{queue}"}} 1"#);
        let is_counted = async || server.metrics.encode().lines().any(|line| line == sample);
        wait_until("it to be counted once", PATIENCE, is_counted).await;
    };
    received("orders").await;
    let mut headers = FieldTable::default();
    for (name, value) in [("dlo-queue", "later"), ("dlo-reason", "rejected")] {
        headers.insert(name.into(), AMQPValue::LongString(LongString::from(value)));
    }
    publish(&confirming_channel(&vhost).await, OBITUARIES, persistent().with_headers(headers), b"{}").await;
    received("later").await;
    received("orders").await;
}
