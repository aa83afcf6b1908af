//! Messages that come back as new ones: their framework, or a service, publishes a copy and drops our headers.

use std::time::Duration;

use amqp_message::time::Timestamp;
use dead_letter_office::{
    clock::Clock,
    config::QueueType,
    domain::{
        letter::{LetterSummary, Status},
        policy::{Delays, Policy, Via},
    },
};
use futures_util::future::join_all;
use lapin::{
    BasicProperties, Channel,
    message::BasicGetMessage,
    options::{BasicAckOptions, BasicRejectOptions},
    types::{AMQPValue, FieldTable, LongString},
};

use super::{
    desk::{AppState, MAIN, PATIENCE, TestDatabase, open_database, with_queues},
    identities::none_has_succeeded,
    service::{Service, confirming_channel, publish_to},
};
use crate::support::{
    delay_queues,
    process::wait_until,
    rabbit::{Rabbit, Vhost},
};

const BODY: &str = r#"{"order":1090,"total":12.5}"#;
/// What the policy grants.
pub(super) const RETRIES: usize = 2;
const DELAY: Duration = Duration::from_millis(20);

/// A service that hands its failures over by publishing a copy of the body, with a reason and nothing else.
pub(super) struct Careless<'a> {
    pub orders: Service<'a>,
    channel: Channel,
}

impl Careless<'_> {
    pub async fn start(vhost: &Vhost) -> Self {
        Self { orders: Service::start(vhost, "orders").await, channel: confirming_channel(vhost).await }
    }

    /// Takes the next message and hands over a copy, as the message `id` if it gets any.
    pub async fn fail(&self, id: Option<&str>) -> BasicGetMessage {
        let message = self.hand_over(id).await;
        message.ack(BasicAckOptions::default()).await.unwrap();
        message
    }

    /// Dies before it can acknowledge, so that the message goes to the next consumer.
    #[cfg_attr(not(feature = "crash-points"), expect(dead_code, reason = "only tests that end the process need it"))]
    pub async fn die(&self) {
        self.hand_over(None).await.reject(BasicRejectOptions { requeue: true }).await.unwrap();
    }

    async fn hand_over(&self, id: Option<&str>) -> BasicGetMessage {
        let message = self.orders.next().await;
        let mut headers = FieldTable::default();
        for (name, value) in [("dlo-queue", "orders"), ("dlo-reason", "rejected"), ("dlo-error-message", "no rate")] {
            headers.insert(name.into(), AMQPValue::LongString(LongString::from(value)));
        }
        let mut properties = BasicProperties::default().with_headers(headers);
        if let Some(id) = id {
            properties = properties.with_message_id(id.into());
        }
        publish_to(&self.channel, "dlx", "orders", properties, &message.data).await;
        message
    }
}

fn id_of(message: &BasicGetMessage) -> Option<String> {
    let value = message.properties.headers().as_ref()?.inner().get("dlo-id")?;
    Some(value.as_long_string()?.to_string())
}

pub(super) async fn server(database: &TestDatabase, vhost: &Vhost, via: Via) -> AppState {
    server_with(database, vhost, via, Clock::system(), DELAY).await
}

pub(super) async fn server_with(
    database: &TestDatabase,
    vhost: &Vhost,
    via: Via,
    clock: Clock,
    delay: Duration,
) -> AppState {
    let policy = Policy {
        queues: Policy::EVERY_QUEUE.to_owned(),
        reason: None,
        delays: Delays::Listed(vec![delay; RETRIES]),
        jitter: 0.0,
        via,
        keep_routing_key: false,
    };
    let brokers = [(MAIN, with_queues(QueueType::Classic, vhost))];
    let store = open_database(&database.url).await;
    let server = AppState::with_policies(store, clock, brokers, vec![policy]);
    server.await_work().await;
    server
}

/// A server and a careless service, for each database and each place to wait.
pub(super) async fn everywhere<F: Future<Output = ()>>(check: impl Fn(Vhost, TestDatabase, Via) -> F) {
    let Some(rabbit) = Rabbit::shared() else { return };
    let spread = TestDatabase::spread([Via::Database, Via::Broker]).into_iter();
    join_all(spread.map(|(via, database)| check(rabbit.vhost(), database, via))).await;
}

async fn open(server: &AppState) -> LetterSummary {
    server.await_count(Status::Open, 1).await;
    server.letters().await.into_iter().find(|letter| letter.status == Status::Open).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_copy_without_headers_is_the_letter_it_was() {
    everywhere(async |vhost, database, via| {
        let (server, careless) = (server(&database, &vhost, via).await, Careless::start(&vhost).await);
        careless.orders.receive(BasicProperties::default(), BODY.as_bytes()).await;
        for _ in 0..=RETRIES {
            careless.fail(None).await;
        }
        let letter = open(&server).await;
        assert_eq!((letter.attempts, server.count().await), (RETRIES as u64 + 1, 1), "{via}");
        server.retry(&[letter.id]).await;
        let back = careless.fail(None).await;
        assert_eq!(id_of(&back), Some(letter.id.to_string()));
        let again = server.await_status(letter.id, Status::Open).await;
        assert_eq!((again.attempts, server.count().await), (RETRIES as u64 + 2, 1), "{via}: by hand");
    })
    .await;
}

/// A copy that was left behind, by a death of dlo or of its consumer, comes long after the other has used up the retries.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_late_copy_of_what_needs_attention_goes_back_no_more() {
    everywhere(async |vhost, database, via| {
        let (server, orders) = (server(&database, &vhost, via).await, Service::start(&vhost, "orders").await);
        if via == Via::Broker {
            // What is the first of a new delay waits in the database.
            delay_queues::declare(vhost.amqp_url(), "orders", [DELAY], Clock::system().now()).await;
        }
        orders.fail(BODY).await;
        let copy = orders.reject().await;
        orders.reject().await;
        let letter = open(&server).await;
        let figures = async || server.store.retry_counts(Timestamp::default()).await.unwrap();
        let before = figures().await;
        orders.receive(copy.properties.clone(), &copy.data).await;
        orders.reject().await;
        let is_back = async || server.letter(letter.id).await.summary.attempts == RETRIES as u64 + 2;
        wait_until("the copy to be with its letter", PATIENCE, is_back).await;
        let again = server.letter(letter.id).await.summary;
        assert_eq!((again.status, server.count().await, vhost.depth("orders").await), (Status::Open, 1, 0), "{via}");
        assert_eq!(figures().await, before, "{via}: that it was sent was counted once");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_message_each_time_is_retried_as_often_as_the_policy_says() {
    everywhere(async |vhost, database, via| {
        let (server, careless) = (server(&database, &vhost, via).await, Careless::start(&vhost).await);
        careless.orders.receive(BasicProperties::default(), BODY.as_bytes()).await;
        let mut calls = 0;
        while server.count_of(Status::Open).await == 0 {
            if careless.orders.is_waiting().await {
                careless.fail(Some(&calls.to_string())).await;
                calls += 1;
            }
        }
        let letter = open(&server).await;
        if letter.attempts == 1 {
            let remarks = server.letter(letter.id).await.remarks;
            assert!(remarks.iter().any(|remark| remark.contains("2 times, as 2 messages")), "{remarks:?}");
            assert!(server.metrics.encode().contains(r#"dlo_retry_stops_total{broker="main",queue="orders"} 1"#));
            // What was sent back before has failed again, though each time as another message.
            assert_eq!(server.count_of(Status::Retried).await, 0, "{via}");
            wait_until("all retries to have failed", PATIENCE, async || none_has_succeeded(&server).await).await;
            // Sent back by hand it comes as yet another message, which is stopped at once.
            server.retry(&[letter.id]).await;
            careless.fail(Some("by hand")).await;
            let is_stopped = || server.metrics.encode().contains(r#"queue="orders"} 2"#);
            wait_until("the next copy to be stopped", PATIENCE, async || is_stopped()).await;
        }
        // In RabbitMQ a message has no identity but its content; the first of a new delay waits in the database.
        let most = if via == Via::Database { RETRIES + 1 } else { RETRIES + 2 };
        assert!((RETRIES + 1..=most).contains(&calls), "{via}: {calls} calls");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_two_equal_messages_both_are_kept() {
    everywhere(async |vhost, database, via| {
        let (server, careless) = (server(&database, &vhost, via).await, Careless::start(&vhost).await);
        let orders = &careless.orders;
        orders.fail(BODY).await;
        // It waits in the queue when another comes that looks like it.
        let first = orders.next().await;
        orders.receive(BasicProperties::default(), BODY.as_bytes()).await;
        careless.fail(None).await;
        let second = orders.next().await;
        for copy in [first, second] {
            copy.reject(BasicRejectOptions { requeue: false }).await.unwrap();
        }
        // What is left of the retries of both.
        let mut rejected = 0;
        while server.count_of(Status::Open).await < 2 {
            if orders.is_waiting().await {
                orders.reject().await;
                rejected += 1;
            }
            assert!(rejected <= 2 * RETRIES, "{via}: retried too often");
        }
        assert_eq!(server.count().await, 2, "{via}");
    })
    .await;
}
