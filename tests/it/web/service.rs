//! A service around dlo: it rejects what it cannot make sense of.

use lapin::{
    BasicProperties, Channel,
    message::BasicGetMessage,
    options::{BasicAckOptions, BasicGetOptions, BasicPublishOptions, BasicRejectOptions, ConfirmSelectOptions},
};
use serde_json::json;

use super::run::PATIENCE;
use crate::support::{process::wait_for, rabbit::Vhost};

pub struct Service<'a> {
    queue: &'a str,
    channel: Channel,
}

impl<'a> Service<'a> {
    /// Has a queue whose dead letters go to dlo.
    pub async fn start(vhost: &Vhost, queue: &'a str) -> Self {
        vhost.declare_queue(queue, json!({"x-dead-letter-exchange": "dlx"})).await;
        let channel = vhost.channel().await;
        channel.confirm_select(ConfirmSelectOptions::default()).await.unwrap();
        Self { queue, channel }
    }

    /// Gets a message and rejects it.
    pub async fn fail(&self, body: &str) {
        let options = BasicPublishOptions::default();
        let properties = BasicProperties::default().with_content_type("application/json".into());
        let sent = self.channel.basic_publish("".into(), self.queue.into(), options, body.as_bytes(), properties);
        sent.await.unwrap().await.unwrap();
        self.next().await.reject(BasicRejectOptions { requeue: false }).await.unwrap();
    }

    /// Takes the next message, does its work, and says what was in it.
    pub async fn work(&self) -> String {
        let message = self.next().await;
        message.ack(BasicAckOptions::default()).await.unwrap();
        String::from_utf8(message.delivery.data).unwrap()
    }

    async fn next(&self) -> BasicGetMessage {
        let what = format!("a message in {}", self.queue);
        let options = BasicGetOptions::default;
        wait_for(&what, PATIENCE, async || self.channel.basic_get(self.queue.into(), options()).await.unwrap()).await
    }
}
