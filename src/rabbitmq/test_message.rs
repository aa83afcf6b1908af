//! A message that is dead-lettered on purpose, to see that dead letters arrive.

use std::time::Duration;

use failure_conventions::dlo_queues;
use lapin::{
    BasicProperties, Channel,
    options::{BasicGetOptions, BasicPublishOptions, BasicRejectOptions, ConfirmSelectOptions, QueueDeclareOptions},
    types::{AMQPValue, FieldTable},
};
use uuid::Uuid;

use super::{
    SessionError, connect,
    declarations::{open_channel, text},
    short, step,
};
use crate::config::BrokerConfig;

/// The broker deletes the queue when nobody has used it for so long.
const KEPT: Duration = Duration::from_secs(60);
/// What the message says of itself.
const TYPE: &str = "dlo.test";

/// Publishes a message to a queue of dlo's own and rejects it there, so that RabbitMQ dead-letters it as it would any
/// other.
///
/// # Errors
/// A step did not work, say because the user may not declare the queue.
pub async fn dead_letter_a_test(name: &str, config: &BrokerConfig, id: Uuid) -> Result<(), SessionError> {
    let connection = connect(config, &format!("dlo {name} test")).await?;
    let channel = open_channel(&connection).await?;
    let sent = send(&channel, config, id).await;
    // Where it failed, that is what there is to say.
    _ = step("closing", connection.close(200, "bye".into())).await;
    sent
}

async fn send(channel: &Channel, config: &BrokerConfig, id: Uuid) -> Result<(), SessionError> {
    let what = format!("declaring queue {}", dlo_queues::TEST);
    let durable = QueueDeclareOptions { durable: true, ..QueueDeclareOptions::default() };
    step(&what, channel.queue_declare(dlo_queues::TEST.into(), durable, arguments(config)?)).await?;
    step("confirm.select", channel.confirm_select(ConfirmSelectOptions::default())).await?;
    let (options, body) = (BasicPublishOptions::default(), body(id));
    let publishing = channel.basic_publish("".into(), dlo_queues::TEST.into(), options, &body, properties(id)?);
    step("publishing", async { publishing.await?.await }).await?;
    reject_all(channel).await
}

fn arguments(config: &BrokerConfig) -> Result<FieldTable, SessionError> {
    let exchange = short(&config.dead_letter_exchange)?;
    let mut arguments = FieldTable::default();
    arguments.insert("x-queue-type".into(), text("classic"));
    arguments.insert("x-dead-letter-exchange".into(), text(exchange.as_str()));
    let kept = i64::try_from(KEPT.as_millis()).unwrap_or(i64::MAX);
    arguments.insert("x-expires".into(), AMQPValue::LongLongInt(kept));
    Ok(arguments)
}

fn properties(id: Uuid) -> Result<BasicProperties, SessionError> {
    let id = short(&format!("dlo-test-{id}"))?;
    let properties = BasicProperties::default().with_message_id(id).with_type(TYPE.into()).with_delivery_mode(2);
    Ok(properties.with_content_type("application/json".into()))
}

fn body(id: Uuid) -> Vec<u8> {
    let about = "A test dead letter, sent from the page Get started. It can be discarded.";
    serde_json::json!({ "test": true, "id": id, "about": about }).to_string().into_bytes()
}

/// Also what a test that was cut short has left behind.
async fn reject_all(channel: &Channel) -> Result<(), SessionError> {
    let get = || step("getting the message", channel.basic_get(dlo_queues::TEST.into(), BasicGetOptions::default()));
    while let Some(message) = get().await? {
        let reject = message.reject(BasicRejectOptions { requeue: false });
        step("rejecting the message", async { reject.await.map(drop) }).await?;
    }
    Ok(())
}
