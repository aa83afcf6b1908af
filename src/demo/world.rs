//! A connection to the broker on which the services live, built again whenever it is lost.

use lapin::{
    Channel, Connection, ExchangeKind,
    options::{ExchangeDeclareOptions, QueueBindOptions, QueueDeclareOptions},
    types::{AMQPValue, FieldTable, LongString},
};
use tokio_util::sync::CancellationToken;

use super::{
    queues::{EVENTS, QUEUES, Queue},
    services,
    switches::Switches,
    types::Types,
};
use crate::{
    config::BrokerConfig,
    rabbitmq::{self, reconnect::Backoff},
};

pub(super) async fn run(name: String, config: BrokerConfig, switches: Switches, stop: CancellationToken) {
    let mut backoff = Backoff::default();
    while !stop.is_cancelled() {
        match live(&name, &config, &switches, &mut backoff, &stop).await {
            Ok(()) => return,
            Err(error) => tracing::debug!(error = %error, "the demo's services lost their connection"),
        }
        if !backoff.wait(&stop).await {
            return;
        }
    }
}

async fn live(
    name: &str,
    config: &BrokerConfig,
    switches: &Switches,
    backoff: &mut Backoff,
    stop: &CancellationToken,
) -> anyhow::Result<()> {
    let connection = rabbitmq::connect(config, &format!("dlo {name} demo services")).await?;
    let channel = connection.create_channel().await?;
    declare(&channel, &config.dead_letter_exchange).await?;
    backoff.connected();
    tokio::select! {
        () = stop.cancelled() => Ok(()),
        ended = serve(&connection, switches, &config.dead_letter_exchange) => ended,
    }
}

async fn serve(connection: &Connection, switches: &Switches, dead_letter_exchange: &str) -> anyhow::Result<()> {
    let types = Types::compile()?;
    let publisher = connection.create_channel().await?;
    let billing = connection.create_channel().await?;
    let thumbnails = connection.create_channel().await?;
    tokio::try_join!(
        services::produce(&publisher, &types),
        services::billing(&billing, &types, switches, dead_letter_exchange),
        services::thumbnails(&thumbnails, switches)
    )?;
    Ok(())
}

async fn declare(channel: &Channel, dead_letter_exchange: &str) -> anyhow::Result<()> {
    let durable = ExchangeDeclareOptions { durable: true, ..ExchangeDeclareOptions::default() };
    // The server declares it too; whoever comes first must not fail the other.
    channel.exchange_declare(dead_letter_exchange.into(), ExchangeKind::Fanout, durable, FieldTable::default()).await?;
    channel.exchange_declare(EVENTS.into(), ExchangeKind::Topic, durable, FieldTable::default()).await?;
    for queue in QUEUES {
        let durable = QueueDeclareOptions { durable: true, ..QueueDeclareOptions::default() };
        channel.queue_declare(queue.name.into(), durable, arguments(queue, dead_letter_exchange)).await?;
        let bind = QueueBindOptions::default();
        channel.queue_bind(queue.name.into(), EVENTS.into(), queue.binding.into(), bind, FieldTable::default()).await?;
    }
    Ok(())
}

fn arguments(queue: &Queue, dead_letter_exchange: &str) -> FieldTable {
    let mut arguments = FieldTable::default();
    let text = |text: &str| AMQPValue::LongString(LongString::from(text));
    arguments.insert("x-queue-type".into(), text("classic"));
    arguments.insert("x-dead-letter-exchange".into(), text(dead_letter_exchange));
    for (name, limit) in queue.limits {
        arguments.insert((*name).into(), AMQPValue::LongLongInt(*limit));
    }
    arguments
}
