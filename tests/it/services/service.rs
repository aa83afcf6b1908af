//! What the services around a server do: publish, consume, reject.

use std::ops::Range;

use futures_util::{StreamExt, future::join_all};
use lapin::{
    BasicProperties, Channel, Confirmation,
    message::BasicGetMessage,
    options::{
        BasicAckOptions, BasicConsumeOptions, BasicGetOptions, BasicPublishOptions, BasicQosOptions,
        BasicRejectOptions, ConfirmSelectOptions, QueueDeclareOptions,
    },
    types::FieldTable,
};
use serde_json::{Value, json};

use super::desk::PATIENCE;
use crate::support::{process::wait_for, rabbit::Vhost};

/// Where RabbitMQ puts what it dead-letters, and where obituaries go.
pub const DEAD_LETTERS: &str = "dlo.dead-letters";
pub const OBITUARIES: &str = "dlo.obituaries";

/// A service with one queue, whose dead letters go to dlo.
pub struct Service<'a> {
    pub queue: &'a str,
    channel: Channel,
}

impl<'a> Service<'a> {
    pub async fn start(vhost: &Vhost, queue: &'a str) -> Self {
        Self::start_with(vhost, queue, json!({})).await
    }

    /// `arguments` of the queue beside the dead letter exchange.
    pub async fn start_with(vhost: &Vhost, queue: &'a str, mut arguments: Value) -> Self {
        arguments["x-dead-letter-exchange"] = json!("dlx");
        vhost.declare_queue(queue, arguments).await;
        Self::at(vhost, queue).await
    }

    /// At a queue that is there already.
    pub async fn at(vhost: &Vhost, queue: &'a str) -> Self {
        Self { queue, channel: confirming_channel(vhost).await }
    }

    /// Publishes a message to the service's queue, by the default exchange.
    pub async fn receive(&self, properties: BasicProperties, body: &[u8]) {
        publish(&self.channel, self.queue, properties, body).await;
    }

    /// Publishes a message to the queue and rejects it, as a consumer does that cannot make sense of it.
    pub async fn fail(&self, body: &str) {
        self.receive(BasicProperties::default(), body.as_bytes()).await;
        self.reject().await;
    }

    /// Takes the next message and rejects it. The queue has dead-lettered it then, and may be deleted.
    pub async fn reject(&self) -> BasicGetMessage {
        let message = self.next().await;
        message.reject(BasicRejectOptions { requeue: false }).await.unwrap();
        // Rejections are not answered, so something else is asked of the queue after it.
        self.ask().await;
        message
    }

    /// Takes the next message and gives it back to the queue.
    pub async fn give_back(&self) {
        self.next().await.reject(BasicRejectOptions { requeue: true }).await.unwrap();
    }

    /// Takes the next message and has done its work.
    pub async fn work(&self) -> BasicGetMessage {
        let message = self.next().await;
        message.ack(BasicAckOptions::default()).await.unwrap();
        message
    }

    /// Works on `count` messages and returns their bodies as text, in order.
    pub async fn work_on(&self, count: usize) -> Vec<String> {
        self.channel.basic_qos(1_000, BasicQosOptions::default()).await.unwrap();
        let options = BasicConsumeOptions { no_ack: true, ..BasicConsumeOptions::default() };
        let consumer =
            self.channel.basic_consume(self.queue.into(), "".into(), options, FieldTable::default()).await.unwrap();
        let bodies = consumer.take(count).map(|delivery| String::from_utf8(delivery.unwrap().data).unwrap()).collect();
        tokio::time::timeout(PATIENCE, bodies).await.expect("as many messages as asked for")
    }

    /// Whether there is a message that nobody has taken.
    pub async fn is_waiting(&self) -> bool {
        self.ask().await > 0
    }

    /// How many messages are there; RabbitMQ has done by then what it was told before.
    async fn ask(&self) -> u32 {
        let passive = QueueDeclareOptions { passive: true, ..QueueDeclareOptions::default() };
        let queue = self.channel.queue_declare(self.queue.into(), passive, FieldTable::default()).await.unwrap();
        queue.message_count()
    }

    /// Takes the next message and leaves open what becomes of it.
    pub async fn next(&self) -> BasicGetMessage {
        let what = format!("a message in {}", self.queue);
        wait_for(&what, PATIENCE, async || {
            self.channel.basic_get(self.queue.into(), BasicGetOptions::default()).await.unwrap()
        })
        .await
    }
}

/// A message that outlives a restart of the broker.
pub fn persistent() -> BasicProperties {
    BasicProperties::default().with_delivery_mode(2)
}

/// The text of the `n`th message of a flood; sorted as text they are in order.
pub fn text(n: usize) -> String {
    format!("message {n:06}")
}

pub fn texts(range: Range<usize>) -> Vec<String> {
    range.map(text).collect()
}

/// Publishes distinct persistent messages to `queue` and waits until the broker has all of them.
pub async fn flood(channel: &Channel, queue: &str, range: Range<usize>) {
    flood_of(channel, queue, range, |_| persistent()).await;
}

/// A flood whose messages have ids of their own.
pub async fn flood_with_ids(channel: &Channel, queue: &str, range: Range<usize>) {
    flood_of(channel, queue, range, |n| persistent().with_message_id(text(n).into())).await;
}

async fn flood_of(channel: &Channel, queue: &str, range: Range<usize>, properties: impl Fn(usize) -> BasicProperties) {
    publish_all(channel, queue, range.map(|n| (properties(n), text(n).into_bytes()))).await;
}

/// Publishes all in this order and waits until the broker has them: it writes many to disk in the time that one takes.
pub async fn publish_all(
    channel: &Channel,
    queue: &str,
    messages: impl IntoIterator<Item = (BasicProperties, Vec<u8>)>,
) {
    let mut confirms = Vec::new();
    for (properties, body) in messages {
        let options = BasicPublishOptions::default();
        let published = channel.basic_publish("".into(), queue.into(), options, &body, properties);
        confirms.push(published.await.unwrap());
    }
    for confirm in in_time("all confirms of a flood", join_all(confirms)).await {
        assert_eq!(confirm.unwrap(), Confirmation::Ack(None));
    }
}

pub async fn confirming_channel(vhost: &Vhost) -> Channel {
    let channel = vhost.channel().await;
    channel.confirm_select(ConfirmSelectOptions::default()).await.unwrap();
    channel
}

/// Publishes by the default exchange and waits until the broker has it.
pub async fn publish(channel: &Channel, queue: &str, properties: BasicProperties, body: &[u8]) {
    publish_to(channel, "", queue, properties, body).await;
}

pub async fn publish_to(channel: &Channel, exchange: &str, key: &str, properties: BasicProperties, body: &[u8]) {
    let options = BasicPublishOptions { mandatory: true, ..BasicPublishOptions::default() };
    let published = channel.basic_publish(exchange.into(), key.into(), options, body, properties).await.unwrap();
    assert_eq!(in_time("a confirm", published).await.unwrap(), Confirmation::Ack(None));
}

/// An answer of the broker, which may be lost with its connection.
async fn in_time<T>(what: &str, answer: impl Future<Output = T>) -> T {
    let answered = tokio::time::timeout(PATIENCE, answer).await;
    answered.unwrap_or_else(|_| panic!("waited {PATIENCE:?} in vain for {what}"))
}
