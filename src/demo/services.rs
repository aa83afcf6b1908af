//! The services of the demo and what they do wrong.

use std::time::Duration;

use futures_util::StreamExt;
use lapin::{
    BasicProperties, Channel,
    options::{BasicAckOptions, BasicConsumeOptions, BasicPublishOptions, BasicQosOptions, BasicRejectOptions},
    types::FieldTable,
};
use serde_json::json;
use tokio::time::sleep;

use super::{
    styles,
    world::{EVENTS, Queue},
};

const BILLING: &str = "billing.invoices";
const THUMBNAILS: &str = "media.thumbnails";
const COUNTERS: &str = "stats.counters";

pub(super) const QUEUES: &[Queue] = &[
    Queue { name: BILLING, binding: "order.*", limits: &[] },
    // Whoever waits longer for a thumbnail has gone.
    Queue { name: THUMBNAILS, binding: "image.*", limits: &[("x-message-ttl", 4_000)] },
    Queue { name: COUNTERS, binding: "text.*", limits: &[("x-max-length", 20)] },
];

/// Publishes what a day brings: orders, images, texts.
pub(super) async fn produce(channel: &Channel) -> anyhow::Result<()> {
    for number in 1_u64.. {
        publish(channel, "order.placed", "OrderPlaced", &order(number)).await?;
        publish(channel, "image.uploaded", "ImageUploaded", &json!({ "image": number, "width": 1_280 })).await?;
        // A campaign now and then: more texts at once than the counter's queue holds, and nobody counts tonight.
        let texts = if number.is_multiple_of(40) { 30 } else { 1 };
        for text in 0..texts {
            publish(channel, "text.sent", "TextSent", &json!({ "text": number * 100 + text, "channel": "sms" }))
                .await?;
        }
        sleep(Duration::from_millis(400 + fastrand::u64(..800))).await;
    }
    Ok(())
}

fn order(number: u64) -> serde_json::Value {
    let currency = if number.is_multiple_of(4) { json!(null) } else { json!("EUR") };
    json!({ "order": number, "total": 995 + number % 70, "currency": currency, "customer": { "name": "Zoë Ångström" } })
}

async fn publish(channel: &Channel, key: &str, kind: &str, payload: &serde_json::Value) -> anyhow::Result<()> {
    let properties = BasicProperties::default()
        .with_content_type("application/json".into())
        .with_type(kind.into())
        .with_message_id(format!("{key}-{:016x}", fastrand::u64(..)).into())
        .with_delivery_mode(2);
    let body = payload.to_string();
    channel
        .basic_publish(EVENTS.into(), key.into(), BasicPublishOptions::default(), body.as_bytes(), properties)
        .await?;
    Ok(())
}

/// Fails on orders without a currency. Of those that are sent back every other one is processed: the rates are there.
pub(super) async fn billing(channel: &Channel, dead_letter_exchange: &str) -> anyhow::Result<()> {
    let mut failures = 0;
    channel.basic_qos(10, BasicQosOptions::default()).await?;
    let mut orders =
        channel.basic_consume(BILLING.into(), "".into(), BasicConsumeOptions::default(), FieldTable::default()).await?;
    while let Some(order) = orders.next().await {
        let order = order?;
        let has_currency = !order.data.windows(15).any(|part| part == b"\"currency\":null");
        let sent_back = order.properties.headers().as_ref().is_some_and(|headers| headers.contains_key("dlo-id"));
        if has_currency || sent_back && fastrand::bool() {
            order.ack(BasicAckOptions::default()).await?;
            continue;
        }
        failures += 1;
        if let Some(properties) = styles::of_failure(failures, BILLING, &order.properties) {
            let (options, key) = (BasicPublishOptions::default(), order.routing_key.clone());
            channel.basic_publish(dead_letter_exchange.into(), key, options, &order.data, properties).await?;
            order.ack(BasicAckOptions::default()).await?;
        } else {
            order.reject(BasicRejectOptions { requeue: false }).await?;
        }
    }
    anyhow::bail!("the consumer of {BILLING} ended")
}

/// Takes two and a half seconds for an image, with ever more of them waiting.
pub(super) async fn thumbnails(channel: &Channel) -> anyhow::Result<()> {
    channel.basic_qos(1, BasicQosOptions::default()).await?;
    let mut images = channel
        .basic_consume(THUMBNAILS.into(), "".into(), BasicConsumeOptions::default(), FieldTable::default())
        .await?;
    while let Some(image) = images.next().await {
        sleep(Duration::from_millis(2_500)).await;
        image?.ack(BasicAckOptions::default()).await?;
    }
    anyhow::bail!("the consumer of {THUMBNAILS} ended")
}
