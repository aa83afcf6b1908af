//! Sending letters back.

use std::time::Duration;

use amqp_message::time::Timestamp;
use dead_letter_office::{
    clock::Clock,
    config::QueueType,
    domain::{
        command::Command,
        history::Event,
        letter::{LetterId, Status},
    },
};
use lapin::{
    BasicProperties, Channel, Connection, ConnectionProperties, Consumer,
    options::{BasicConsumeOptions, ConfirmSelectOptions},
    types::{AMQPValue, FieldArray, FieldTable},
};
use reqwest::Method;
use serde_json::json;

use super::{
    desk::{AppState, MAIN, TestDatabase, broker, with_queues},
    service::{Service, publish},
};
use crate::support::{
    process::block_on,
    rabbit::{Rabbit, Vhost},
};

const HOUR: Duration = Duration::from_secs(3_600);

/// Any moment will do.
fn some_time() -> Timestamp {
    Timestamp::from_seconds(1_900_000_000)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_fails_again_comes_back_to_its_letter() {
    let Some(rabbit) = Rabbit::shared() else { return };
    for (queue_type, database) in TestDatabase::spread([QueueType::Quorum, QueueType::Classic]) {
        let vhost = rabbit.vhost();
        let server = AppState::open(&database, with_queues(queue_type, &vhost)).await;
        let service_queue = json!({"x-queue-type": queue_type.as_str()});
        let orders = Service::start_with(&vhost, "orders", service_queue).await;
        orders.fail("body").await;
        let id = server.await_letter().await.summary.id;
        for attempts in [2, 3] {
            server.retry(&[id]).await;
            server.await_status(id, Status::Retried).await;
            let came = orders.reject().await;
            assert_eq!((came.exchange.as_str(), came.routing_key.as_str()), ("", "orders"));
            assert_eq!(server.await_status(id, Status::Open).await.attempts, attempts);
        }
        assert_eq!(server.count().await, 1);
        assert_eq!(server.letter(id).await.deaths.len(), 3);
        let round = [Event::RetryScheduled, Event::Retried, Event::FailedAgain];
        assert_eq!(server.events(id).await, [&[Event::Received][..], &round, &round].concat());
    }
}

/// Has the first two messages of a service fail, and names their letters. By a manual clock both come at the same time, so
/// that their order in the database says nothing.
async fn fail_two(server: &AppState, service: &Service<'_>, [one, other]: [&str; 2]) -> [LetterId; 2] {
    service.fail(one).await;
    let first = server.await_letter().await.summary.id;
    service.fail(other).await;
    let letters = server.await_letters(2).await;
    let second = letters.iter().map(|letter| letter.id).find(|id| *id != first).unwrap();
    [first, second]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_retry_leaves_when_it_is_due_and_not_before() {
    let Some(rabbit) = Rabbit::shared() else { return };
    let (vhost, database) = (rabbit.vhost(), TestDatabase::sqlite());
    let server = AppState::begin(&database.url, Clock::manual(some_time()), [(MAIN, broker(vhost.amqp_url()))]).await;
    server.await_work().await;
    let orders = Service::start(&vhost, "orders").await;
    let [early, late] = fail_two(&server, &orders, ["early", "late"]).await;
    server.retry_later(&[early], HOUR).await;
    server.retry_later(&[late], 2 * HOUR).await;
    assert_eq!(server.await_status(early, Status::Scheduled).await.retry_at, Some(some_time().plus(HOUR)));

    server.advance(HOUR);
    server.await_status(early, Status::Retried).await;
    assert_eq!(orders.work().await.data, b"early");
    assert_eq!(server.await_status(late, Status::Scheduled).await.retry_at, Some(some_time().plus(2 * HOUR)));
    assert_eq!(vhost.depth("orders").await, 0);

    server.advance(HOUR);
    assert_eq!(orders.work().await.data, b"late");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cancelled_retry_never_leaves() {
    let Some(rabbit) = Rabbit::shared() else { return };
    let (vhost, database) = (rabbit.vhost(), TestDatabase::sqlite());
    let server = AppState::begin(&database.url, Clock::manual(some_time()), [(MAIN, broker(vhost.amqp_url()))]).await;
    server.await_work().await;
    let orders = Service::start(&vhost, "orders").await;
    let [cancelled, not] = fail_two(&server, &orders, ["cancelled", "not"]).await;
    for letter in [cancelled, not] {
        server.retry_later(&[letter], HOUR).await;
    }
    server.act(cancelled, Command::Reopen).await;
    server.advance(HOUR);
    // Both would have left together.
    server.await_status(not, Status::Retried).await;
    assert_eq!(orders.work().await.data, b"not");
    assert_eq!(vhost.depth("orders").await, 0);
    assert_eq!(server.await_status(cancelled, Status::Open).await.retry_at, None);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn scheduled_retries_survive_a_restart() {
    let Some(rabbit) = Rabbit::shared() else { return };
    for database in TestDatabase::both() {
        let vhost = rabbit.vhost();
        let clock = Clock::manual(some_time());
        let begin = || AppState::begin(&database.url, clock.clone(), [(MAIN, broker(vhost.amqp_url()))]);
        let server = begin().await;
        server.await_work().await;
        let orders = Service::start(&vhost, "orders").await;
        orders.fail("body").await;
        let id = server.await_letter().await.summary.id;
        server.retry_later(&[id], HOUR).await;
        server.close().await;

        clock.advance(HOUR);
        let server = begin().await;
        assert_eq!(orders.work().await.data, b"body");
        server.await_status(id, Status::Retried).await;
        let last = server.history(id).await.pop().unwrap();
        assert_eq!((last.event, &*last.detail), (Event::Retried, "to orders"));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_letter_can_go_to_another_queue() {
    let Some(rabbit) = Rabbit::shared() else { return };
    let (vhost, database) = (rabbit.vhost(), TestDatabase::sqlite());
    let server = AppState::open(&database, broker(vhost.amqp_url())).await;
    let (orders, repairs) = (Service::start(&vhost, "orders").await, Service::start(&vhost, "repairs").await);
    orders.fail("body").await;
    let id = server.await_letter().await.summary.id;
    server.retry_to("repairs", &[id]).await;
    repairs.reject().await;
    let letter = server.await_status(id, Status::Open).await;
    assert_eq!(letter.queue.as_deref(), Some("repairs"));
    assert_eq!(vhost.depth("orders").await, 0);
    assert_eq!(server.count().await, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_retry_to_no_queue_is_open_again_and_says_why() {
    let Some(rabbit) = Rabbit::shared() else { return };
    let (vhost, database) = (rabbit.vhost(), TestDatabase::sqlite());
    let server = AppState::open(&database, broker(vhost.amqp_url())).await;
    let orders = Service::start(&vhost, "orders").await;
    orders.fail("body").await;
    let id = server.await_letter().await.summary.id;
    vhost.delete_queue("orders").await;
    server.retry(&[id]).await;
    let letter = server.await_status(id, Status::Open).await;
    assert_eq!(letter.problem.as_deref(), Some("there is no queue orders (312 NO_ROUTE)"));
    let last = server.history(id).await.pop().unwrap();
    assert_eq!((last.event, Some(last.detail)), (Event::RetryFailed, letter.problem));

    // Once there is such a queue, it goes.
    let orders = Service::start(&vhost, "orders").await;
    server.retry(&[id]).await;
    assert_eq!(orders.work().await.data, b"body");
    assert_eq!(server.await_status(id, Status::Retried).await.problem, None);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_retry_to_a_full_queue_is_open_again_and_says_why() {
    let Some(rabbit) = Rabbit::shared() else { return };
    let (vhost, database) = (rabbit.vhost(), TestDatabase::sqlite());
    let server = AppState::open(&database, broker(vhost.amqp_url())).await;
    let full = json!({"x-max-length": 1, "x-overflow": "reject-publish", "x-queue-type": "classic"});
    let orders = Service::start_with(&vhost, "orders", full).await;
    orders.fail("body").await;
    let id = server.await_letter().await.summary.id;
    orders.receive(BasicProperties::default(), b"another").await;
    server.retry(&[id]).await;
    let letter = server.await_status(id, Status::Open).await;
    assert!(letter.problem.unwrap().contains("full"));
    assert_eq!(orders.work().await.data, b"another");
    assert_eq!(vhost.depth("orders").await, 0);
}

/// Properties and headers that would misroute a message or have it refused.
fn difficult() -> BasicProperties {
    let mut headers = FieldTable::default();
    let other = || AMQPValue::FieldArray(FieldArray::from(vec![AMQPValue::LongString("other".into())]));
    headers.insert("CC".into(), other());
    headers.insert("x-delay".into(), AMQPValue::LongInt(60_000));
    BasicProperties::default().with_headers(headers).with_expiration("3600000".into()).with_user_id("guest".into())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_would_hinder_a_retry_stays_in_the_database() {
    let Some(rabbit) = Rabbit::shared() else { return };
    let (vhost, database) = (rabbit.vhost(), TestDatabase::sqlite());
    let server = AppState::open(&database, broker(vhost.amqp_url())).await;
    let orders = Service::start(&vhost, "orders").await;
    vhost.declare_queue("other", json!({})).await;
    orders.receive(difficult(), b"body").await;
    vhost.purge("other").await;
    orders.reject().await;
    let letter = server.await_letter().await;
    assert_eq!(letter.message.properties.user_id.as_deref(), Some("guest"));
    assert_eq!(letter.deaths[0].original_expiration.as_deref(), Some("3600000"));
    assert!(letter.message.headers.get("CC").is_some());

    server.retry(&[letter.summary.id]).await;
    let came = orders.work().await;
    // The confirm is one of all queues that it went to.
    server.await_status(letter.summary.id, Status::Retried).await;
    let headers = came.properties.headers().clone().unwrap();
    let names: Vec<&str> = headers.inner().keys().map(|name| name.as_str()).collect();
    assert_eq!(names, ["dlo-attempts", "dlo-id", "dlo-queue", "dlo-rounds"]);
    assert_eq!((came.properties.expiration(), came.properties.user_id()), (&None, &None));
    assert_eq!(vhost.depth("other").await, 0);
}

/// Who published a message and where its answer goes are told in words that hold for one connection only.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_user_and_a_direct_reply_do_not_break_a_retry() {
    let Some(rabbit) = Rabbit::shared() else { return };
    let (vhost, database) = (rabbit.vhost(), TestDatabase::sqlite());
    let server = AppState::open(&database, broker(vhost.amqp_url())).await;
    let orders = Service::start(&vhost, "orders").await;
    let customer = Customer::of(&vhost).await;
    customer.ask("orders", b"body").await;
    orders.reject().await;
    let letter = server.await_letter().await;
    assert_eq!(letter.message.properties.user_id, Some(customer.name.clone()));
    let reply_to = letter.message.properties.reply_to.unwrap();
    assert!(reply_to.starts_with("amq.rabbitmq.reply-to."), "{reply_to}");

    server.retry(&[letter.summary.id]).await;
    let came = orders.work().await;
    assert_eq!(came.properties.user_id(), &None);
    assert_eq!(came.properties.reply_to().as_ref().map(|reply_to| reply_to.as_str()), Some(&*reply_to));
    server.await_status(letter.summary.id, Status::Retried).await;
}

/// A user of its own who awaits answers, by RabbitMQ's direct reply-to.
struct Customer<'a> {
    name: String,
    vhost: &'a Vhost,
    channel: Channel,
    _answers: Consumer,
}

impl<'a> Customer<'a> {
    async fn of(vhost: &'a Vhost) -> Self {
        let name = format!("customer-of-{}", vhost.name().replace('/', "-"));
        let user = json!({"password": "secret", "tags": ""});
        vhost.manage(Method::PUT, &["users", &name], Some(&user)).await;
        let all = json!({"configure": ".*", "write": ".*", "read": ".*"});
        vhost.manage(Method::PUT, &["permissions", vhost.name(), &name], Some(&all)).await;
        let url = vhost.amqp_url().replace("guest:guest", &format!("{name}:secret"));
        let connection = Connection::connect(&url, ConnectionProperties::default()).await.unwrap();
        let channel = connection.create_channel().await.unwrap();
        channel.confirm_select(ConfirmSelectOptions::default()).await.unwrap();
        let options = BasicConsumeOptions { no_ack: true, ..BasicConsumeOptions::default() };
        let answers = channel
            .basic_consume("amq.rabbitmq.reply-to".into(), "".into(), options, FieldTable::default())
            .await
            .unwrap();
        Self { name, vhost, channel, _answers: answers }
    }

    async fn ask(&self, queue: &str, body: &[u8]) {
        let properties = BasicProperties::default()
            .with_user_id(self.name.as_str().into())
            .with_reply_to("amq.rabbitmq.reply-to".into());
        publish(&self.channel, queue, properties, body).await;
    }
}

impl Drop for Customer<'_> {
    fn drop(&mut self) {
        block_on(self.vhost.manage(Method::DELETE, &["users", &self.name], None));
    }
}
