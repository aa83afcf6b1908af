//! Every way for a message to die, and what the letter tells of it.

use std::time::Instant;

use amqp_message::death::Reason;
use dead_letter_office::{
    config::QueueType,
    domain::letter::{Letter, Status},
};
use lapin::{
    BasicProperties,
    types::{AMQPValue, FieldArray, FieldTable},
};
use serde_json::json;

use super::{
    desk::{AppState, TestDatabase, broker, with_queues},
    service::{DEAD_LETTERS, OBITUARIES, Service, confirming_channel, publish, publish_to},
};
use crate::support::{rabbit::Rabbit, soak};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rejected_message_is_a_letter() {
    let Some(rabbit) = Rabbit::shared() else { return };
    for (queue_type, database) in TestDatabase::spread([QueueType::Classic, QueueType::Quorum]) {
        let vhost = rabbit.vhost();
        let server = AppState::open(&database, with_queues(queue_type, &vhost)).await;
        let orders = Service::start(&vhost, "orders").await;
        let mut waits = Vec::new();
        for n in 1..=5 {
            orders.receive(BasicProperties::default(), b"body").await;
            orders.reject().await;
            let rejected = Instant::now();
            server.await_letters(n).await;
            waits.push(rejected.elapsed());
        }
        let is_quick = waits.iter().any(|wait| wait.as_millis() < 1_000);
        assert!(is_quick || soak(true, false), "within a second, the quickest at least: {waits:?}");

        let letter = &server.letters().await[0];
        assert_eq!(letter.queue.as_deref(), Some("orders"));
        assert_eq!((letter.reason, letter.attempts, letter.status), (Reason::Rejected, 1, Status::Open));
        assert_eq!((&*letter.exchange, &*letter.routing_key), ("", "orders"));
        assert_eq!(server.letter(letter.id).await.message.body, b"body");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_address_is_the_one_it_was_published_to() {
    let Some(rabbit) = Rabbit::shared() else { return };
    let (vhost, database) = (rabbit.vhost(), TestDatabase::sqlite());
    let server = AppState::open(&database, broker(vhost.amqp_url())).await;
    let orders = Service::start(&vhost, "orders").await;
    let binding = json!({"routing_key": "order.#"});
    let path = ["bindings", vhost.name(), "e", "amq.topic", "q", "orders"];
    vhost.manage(reqwest::Method::POST, &path, Some(&binding)).await;

    let channel = confirming_channel(&vhost).await;
    publish_to(&channel, "amq.topic", "order.placed.eu", BasicProperties::default(), b"body").await;
    orders.reject().await;
    let letter = server.await_letter().await;
    assert_eq!((&*letter.summary.exchange, &*letter.summary.routing_key), ("amq.topic", "order.placed.eu"));
    assert_eq!((&*letter.message.exchange, &*letter.message.routing_key), ("dlx", "order.placed.eu"));
    assert_eq!(letter.deaths.len(), 1);
    assert!(letter.summary.first_failed_at.is_some());
}

/// What is published to a queue with these arguments dies by itself.
async fn check_death(arguments: serde_json::Value, properties: BasicProperties, messages: u64, expected: Reason) {
    let Some(rabbit) = Rabbit::shared() else { return };
    let (vhost, database) = (rabbit.vhost(), TestDatabase::sqlite());
    let server = AppState::open(&database, broker(vhost.amqp_url())).await;
    let orders = Service::start_with(&vhost, "orders", arguments).await;
    for n in 0..messages {
        orders.receive(properties.clone(), n.to_string().as_bytes()).await;
    }
    let letter = server.await_letter().await;
    assert_eq!(letter.summary.reason, expected);
    assert_eq!(letter.summary.queue.as_deref(), Some("orders"));
    assert_eq!(letter.message.body, b"0");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_expired_message_is_a_letter() {
    check_death(json!({"x-message-ttl": 1}), BasicProperties::default(), 1, Reason::Expired).await;
    check_death(json!({}), BasicProperties::default().with_expiration("1".into()), 1, Reason::Expired).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_that_a_full_queue_pushes_out_is_a_letter() {
    check_death(json!({"x-max-length": 1}), BasicProperties::default(), 2, Reason::MaxLen).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_delivered_too_often_is_a_letter() {
    let Some(rabbit) = Rabbit::shared() else { return };
    let (vhost, database) = (rabbit.vhost(), TestDatabase::sqlite());
    let server = AppState::open(&database, broker(vhost.amqp_url())).await;
    let quorum = json!({"x-queue-type": "quorum", "x-delivery-limit": 1});
    let orders = Service::start_with(&vhost, "orders", quorum).await;
    orders.receive(BasicProperties::default(), b"body").await;
    orders.give_back().await;
    orders.give_back().await;
    let letter = server.await_letter().await;
    assert_eq!(letter.summary.reason, Reason::DeliveryLimit);
    assert_eq!(letter.summary.queue.as_deref(), Some("orders"));
}

/// Publishes something to one of dlo's own queues and returns the letter it becomes.
async fn straight_to(queue: &str, headers: Option<FieldTable>, body: &[u8]) -> Option<Letter> {
    let (vhost, database) = (Rabbit::shared()?.vhost(), TestDatabase::sqlite());
    let server = AppState::open(&database, broker(vhost.amqp_url())).await;
    let channel = confirming_channel(&vhost).await;
    let properties = headers.map(|headers| BasicProperties::default().with_headers(headers)).unwrap_or_default();
    publish(&channel, queue, properties, body).await;
    Some(server.await_letter().await)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_tells_nothing_of_its_death_is_a_letter_of_unknown_queue() {
    for (queue, body) in [(OBITUARIES, &b"body"[..]), (DEAD_LETTERS, b""), (OBITUARIES, &[0xff, 0xfe, 0, 0xc3, 0x28])] {
        let Some(letter) = straight_to(queue, None, body).await else { return };
        assert_eq!(letter.summary.queue, None);
        assert_eq!((letter.summary.reason, letter.summary.attempts), (Reason::Unknown, 1));
        assert_eq!((&*letter.summary.exchange, &*letter.summary.routing_key), ("", queue));
        assert_eq!(letter.message.body, body);
    }
}

fn table<const N: usize>(fields: [(&str, AMQPValue); N]) -> FieldTable {
    let mut table = FieldTable::default();
    for (name, value) in fields {
        table.insert(name.into(), value);
    }
    table
}

fn string(text: &str) -> AMQPValue {
    AMQPValue::LongString(text.into())
}

async fn check_x_death(x_death: AMQPValue, expected_queue: Option<&str>) {
    let headers = table([("x-death", x_death)]);
    let Some(letter) = straight_to(OBITUARIES, Some(headers), b"body").await else { return };
    assert_eq!(letter.summary.queue.as_deref(), expected_queue);
    assert_eq!(
        letter.message.headers.len(),
        if letter.message.headers.get("x-delivery-count").is_some() { 2 } else { 1 }
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_x_death_of_the_wrong_shape_does_no_harm() {
    let array = |values: Vec<AMQPValue>| AMQPValue::FieldArray(FieldArray::from(values));
    check_x_death(string("junk"), None).await;
    check_x_death(AMQPValue::Void, None).await;
    check_x_death(array(vec![AMQPValue::LongInt(1), string("q")]), None).await;
    check_x_death(array(vec![AMQPValue::FieldTable(FieldTable::default())]), None).await;
    let odd = table([("queue", string("orders")), ("count", string("many")), ("time", AMQPValue::Boolean(true))]);
    check_x_death(array(vec![AMQPValue::Void, AMQPValue::FieldTable(odd)]), Some("orders")).await;
}
