//! Filling queues and draining them without a server.

use std::time::{Duration, Instant};

use futures_util::{StreamExt, future::join_all};
use lapin::{
    BasicProperties, Connection, Consumer,
    options::{
        BasicAckOptions, BasicConsumeOptions, BasicNackOptions, BasicPublishOptions, BasicQosOptions,
        ConfirmSelectOptions,
    },
    types::{AMQPValue, FieldArray, FieldTable, LongString},
};
use serde_json::json;

use crate::{
    BODY, MESSAGES,
    support::{process::wait_until, rabbit::Vhost},
};

/// Publishes persistent messages that look as if `failed_queue` had rejected them.
pub async fn fill(vhost: &Vhost, queue: &str, queue_type: &str, failed_queue: &str, messages: u32) {
    vhost.declare_queue(queue, json!({ "x-queue-type": queue_type })).await;
    pour(vhost, queue, failed_queue, messages).await;
    vhost.await_depth(queue, messages).await;
}

/// The same into a queue that is there already and may have a consumer.
pub async fn pour(vhost: &Vhost, queue: &str, failed_queue: &str, messages: u32) {
    publish(vhost, queue, properties().with_headers(dead(failed_queue)), messages).await;
}

/// Publishes persistent messages that never failed.
pub async fn pour_fresh(vhost: &Vhost, queue: &str) {
    publish(vhost, queue, properties(), MESSAGES).await;
}

fn properties() -> BasicProperties {
    BasicProperties::default().with_delivery_mode(2).with_content_type("application/json".into())
}

async fn publish(vhost: &Vhost, queue: &str, properties: BasicProperties, messages: u32) {
    const WINDOW: u32 = 2_000;
    let channel = vhost.channel().await;
    channel.confirm_select(ConfirmSelectOptions::default()).await.expect("confirms");
    for first in (0..messages).step_by(WINDOW as usize) {
        let mut confirms = Vec::new();
        for number in first..messages.min(first + WINDOW) {
            let body = body(number);
            let options = BasicPublishOptions::default();
            let published = channel.basic_publish("".into(), queue.into(), options, &body, properties.clone()).await;
            confirms.push(published.expect("published"));
        }
        join_all(confirms).await;
    }
}

/// A body of [`BODY`] bytes, each another.
pub fn body(number: u32) -> Vec<u8> {
    let mut body = format!("{{\"order\":{number},\"text\":\"").into_bytes();
    body.resize(BODY - 2, b'x');
    body.extend(b"\"}");
    body
}

fn dead(queue: &str) -> FieldTable {
    let text = |text: &str| AMQPValue::LongString(LongString::from(text));
    let mut death = FieldTable::default();
    death.insert("count".into(), AMQPValue::LongLongInt(1));
    death.insert("reason".into(), text("rejected"));
    death.insert("queue".into(), text(queue));
    death.insert("time".into(), AMQPValue::Timestamp(1_790_000_000));
    death.insert("exchange".into(), text("events"));
    death.insert("routing-keys".into(), AMQPValue::FieldArray(FieldArray::from(vec![text("order.placed")])));
    let mut headers = FieldTable::default();
    headers.insert("x-death".into(), AMQPValue::FieldArray(FieldArray::from(vec![AMQPValue::FieldTable(death)])));
    headers.insert("x-first-death-queue".into(), text(queue));
    headers.insert("x-first-death-reason".into(), text("rejected"));
    headers.insert("x-first-death-exchange".into(), text("events"));
    headers
}

/// Messages a second that a consumer takes which does nothing but acknowledge every hundredth with all before it.
pub async fn bare_consumer(vhost: &Vhost, queue: &str, prefetch: u16, messages: u32) -> f64 {
    let channel = vhost.channel().await;
    channel.basic_qos(prefetch, BasicQosOptions::default()).await.expect("qos");
    let begun = Instant::now();
    let consumed =
        channel.basic_consume(queue.into(), "".into(), BasicConsumeOptions::default(), FieldTable::default());
    let mut deliveries = consumed.await.expect("consuming");
    for number in 1..=messages {
        let delivery = deliveries.next().await.expect("a delivery").expect("a delivery");
        if number % 100 == 0 || number == messages {
            delivery.ack(BasicAckOptions { multiple: true }).await.expect("acknowledged");
        }
    }
    f64::from(messages) / begun.elapsed().as_secs_f64()
}

/// All messages of a queue as they come, each acknowledged by that.
pub async fn consume_all(connection: &Connection, queue: &str) -> Consumer {
    let channel = connection.create_channel().await.expect("a channel");
    let options = BasicConsumeOptions { no_ack: true, ..BasicConsumeOptions::default() };
    channel.basic_consume(queue.into(), "".into(), options, FieldTable::default()).await.expect("consuming")
}

/// Rejects the first `messages` of `queue`, by the hundred, as one whose service is broken does.
pub async fn reject(vhost: &Vhost, queue: &str, messages: u32) {
    let channel = vhost.channel().await;
    channel.basic_qos(1_000, BasicQosOptions::default()).await.expect("qos");
    let consumed =
        channel.basic_consume(queue.into(), "".into(), BasicConsumeOptions::default(), FieldTable::default());
    let mut deliveries = consumed.await.expect("consuming");
    for number in 1..=messages {
        let delivery = deliveries.next().await.expect("a delivery").expect("a delivery");
        if number % 100 == 0 {
            delivery.nack(BasicNackOptions { multiple: true, requeue: false }).await.expect("rejected");
        }
    }
    // What it had beyond them goes back to the queue.
    channel.close(200, "done".into()).await.expect("closed");
}

/// Messages a second that RabbitMQ's own shovel moves with the acknowledgement mode `on-confirm`.
pub async fn shovel(vhost: &Vhost, from: &str, to: &str) -> f64 {
    let begun = Instant::now();
    begin_shovel(vhost, from, to).await;
    filled(vhost, to).await;
    let rate = f64::from(MESSAGES) / begun.elapsed().as_secs_f64();
    end_shovel(vhost).await;
    rate
}

pub async fn begin_shovel(vhost: &Vhost, from: &str, to: &str) {
    let uri = vhost.amqp_url();
    let shovel = json!({ "value": {
        "src-protocol": "amqp091", "src-uri": uri, "src-queue": from, "src-prefetch-count": 1000,
        "dest-protocol": "amqp091", "dest-uri": uri, "dest-queue": to, "ack-mode": "on-confirm",
    }});
    vhost.manage(reqwest::Method::PUT, &shovel_path(vhost), Some(&shovel)).await;
}

pub async fn end_shovel(vhost: &Vhost) {
    vhost.manage(reqwest::Method::DELETE, &shovel_path(vhost), None).await;
}

fn shovel_path(vhost: &Vhost) -> [&str; 4] {
    ["parameters", "shovel", vhost.name(), "bench"]
}

/// Waits until all messages are in `queue`.
pub async fn filled(vhost: &Vhost, queue: &str) {
    wait_until("all messages have arrived", Duration::from_secs(300), async || vhost.depth(queue).await >= MESSAGES)
        .await;
}
