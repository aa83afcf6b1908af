//! The services of the demo and what they do wrong.

use std::time::Duration;

use futures_util::StreamExt;
use lapin::{
    Channel,
    options::{BasicAckOptions, BasicConsumeOptions, BasicPublishOptions, BasicQosOptions, BasicRejectOptions},
    types::FieldTable,
};
use tokio::time::sleep;

use super::{
    events::{self, Event},
    queues::{BILLING, EVENTS, THUMBNAILS},
    styles,
    switches::{Service, Switches},
    types::Types,
};

/// Publishes what a day brings: orders, images, texts.
pub(super) async fn produce(channel: &Channel, types: &Types) -> anyhow::Result<()> {
    for number in 1_u64.. {
        publish(channel, events::order(types, number)?).await?;
        publish(channel, events::image(types, number)?).await?;
        // A campaign now and then: more texts at once than the counter's queue holds, and nobody counts tonight.
        let texts = if number.is_multiple_of(40) { 30 } else { 1 };
        for text in 0..texts {
            publish(channel, events::text(number * 100 + text)).await?;
        }
        sleep(Duration::from_millis(400 + fastrand::u64(..800))).await;
    }
    Ok(())
}

async fn publish(channel: &Channel, event: Event) -> anyhow::Result<()> {
    let Event { routing_key, properties, body } = event;
    let message_id = format!("{routing_key}-{:016x}", fastrand::u64(..));
    let properties = properties.with_message_id(message_id.into()).with_delivery_mode(2);
    channel.basic_publish(EVENTS.into(), routing_key.into(), BasicPublishOptions::default(), &body, properties).await?;
    Ok(())
}

/// Fails on orders without a currency; of those that are sent back it processes one of four, for which the rates are there
/// by now. Of the others, one of five times out, and none a second time.
/// Once it is mended nothing fails.
pub(super) async fn billing(
    channel: &Channel,
    types: &Types,
    switches: &Switches,
    dead_letter_exchange: &str,
) -> anyhow::Result<()> {
    let mut failures = 0;
    channel.basic_qos(10, BasicQosOptions::default()).await?;
    let mut orders =
        channel.basic_consume(BILLING.into(), "".into(), BasicConsumeOptions::default(), FieldTable::default()).await?;
    while let Some(order) = orders.next().await {
        let order = order?;
        let sent_back = order.properties.headers().as_ref().is_some_and(|headers| headers.contains_key("dlo-id"));
        let has_currency = types.has_currency(&order.data)?;
        let is_processed = match (has_currency, sent_back) {
            _ if switches.is_mended(Service::Billing) => true,
            (true, true) => true,
            (true, false) => fastrand::u8(..5) > 0,
            (false, true) => fastrand::u8(..4) == 0,
            (false, false) => false,
        };
        if is_processed {
            order.ack(BasicAckOptions::default()).await?;
            continue;
        }
        failures += 1;
        let error = if has_currency { styles::TIME_OUT } else { styles::NO_RATE };
        if let Some(properties) = styles::of_failure(failures, error, BILLING, &order.properties) {
            let (options, key) = (BasicPublishOptions::default(), order.routing_key.clone());
            channel.basic_publish(dead_letter_exchange.into(), key, options, &order.data, properties).await?;
            order.ack(BasicAckOptions::default()).await?;
        } else {
            order.reject(BasicRejectOptions { requeue: false }).await?;
        }
    }
    anyhow::bail!("the consumer of {BILLING} ended")
}

/// Takes two and a half seconds for an image, with ever more of them waiting, until it is mended.
pub(super) async fn thumbnails(channel: &Channel, switches: &Switches) -> anyhow::Result<()> {
    channel.basic_qos(1, BasicQosOptions::default()).await?;
    let mut images = channel
        .basic_consume(THUMBNAILS.into(), "".into(), BasicConsumeOptions::default(), FieldTable::default())
        .await?;
    while let Some(image) = images.next().await {
        let millis = if switches.is_mended(Service::Thumbnails) { 50 } else { 2_500 };
        sleep(Duration::from_millis(millis)).await;
        image?.ack(BasicAckOptions::default()).await?;
    }
    anyhow::bail!("the consumer of {THUMBNAILS} ended")
}
