//! The exchange and the queues of dlo.

use failure_conventions::dlo_queues;
use lapin::{
    Channel, Connection, ExchangeKind,
    options::{ExchangeDeclareOptions, QueueBindOptions, QueueDeclareOptions},
    types::{AMQPValue, FieldTable, LongString},
};

use super::{SessionError, is_not_found, short, step};
use crate::{
    config::{BrokerConfig, QueueType},
    rabbitmq::topology::DELIVERY_LIMIT,
};

/// What dlo needs in a broker.
#[derive(Clone, Copy, Debug)]
pub struct Topology<'a> {
    pub config: &'a BrokerConfig,
}

impl Topology<'_> {
    /// Declares what is missing, or with `declare = false` finds out whether all is there.
    ///
    /// What exists already is taken as it is: a team may have declared it with other arguments.
    pub(super) async fn ensure(&self, connection: &Connection) -> Result<(), SessionError> {
        for queue in [&self.config.dead_letter_queue, &self.config.obituary_queue] {
            self.ensure_queue(connection, queue).await?;
        }
        if self.config.declare {
            self.ensure_exchange(connection).await?;
        }
        Ok(())
    }

    async fn ensure_queue(&self, connection: &Connection, queue: &str) -> Result<(), SessionError> {
        // A passive declaration that fails closes its channel, so each has one of its own.
        let channel = open_channel(connection).await?;
        let passive = QueueDeclareOptions { passive: true, ..QueueDeclareOptions::default() };
        let what = format!("queue {queue}");
        let found = step(&what, channel.queue_declare(short(queue)?, passive, FieldTable::default())).await;
        match found {
            Err(SessionError::Refused { source, .. }) if self.config.declare && is_not_found(&source) => {
                self.declare_queue(connection, queue).await
            }
            found => found.map(drop),
        }
    }

    async fn declare_queue(&self, connection: &Connection, queue: &str) -> Result<(), SessionError> {
        let channel = open_channel(connection).await?;
        let durable = QueueDeclareOptions { durable: true, ..QueueDeclareOptions::default() };
        let what = format!("declaring queue {queue}");
        step(&what, channel.queue_declare(short(queue)?, durable, self.arguments())).await.map(drop)
    }

    fn arguments(&self) -> FieldTable {
        match self.config.queue_type {
            QueueType::Quorum => quorum_arguments(),
            QueueType::Classic => typed(QueueType::Classic),
        }
    }

    async fn ensure_exchange(&self, connection: &Connection) -> Result<(), SessionError> {
        let exchange = &self.config.dead_letter_exchange;
        let channel = open_channel(connection).await?;
        let passive = ExchangeDeclareOptions { passive: true, ..ExchangeDeclareOptions::default() };
        let declared = channel.exchange_declare(short(exchange)?, ExchangeKind::Fanout, passive, FieldTable::default());
        match step(&format!("exchange {exchange}"), declared).await {
            Err(SessionError::Refused { source, .. }) if is_not_found(&source) => {
                self.declare_exchange(connection).await?;
            }
            found => found?,
        }
        let channel = open_channel(connection).await?;
        let bound = channel.queue_bind(
            short(&self.config.dead_letter_queue)?,
            short(exchange)?,
            "".into(),
            QueueBindOptions::default(),
            FieldTable::default(),
        );
        step(&format!("binding {} to {exchange}", self.config.dead_letter_queue), bound).await
    }

    async fn declare_exchange(&self, connection: &Connection) -> Result<(), SessionError> {
        let exchange = &self.config.dead_letter_exchange;
        let channel = open_channel(connection).await?;
        let durable = ExchangeDeclareOptions { durable: true, ..ExchangeDeclareOptions::default() };
        let declared = channel.exchange_declare(short(exchange)?, ExchangeKind::Fanout, durable, FieldTable::default());
        step(&format!("declaring exchange {exchange}"), declared).await
    }
}

/// Declares the queue of what has waited in RabbitMQ. Its messages must never be delivered too often.
pub(super) async fn declare_due_queue(channel: &Channel) -> lapin::Result<()> {
    let durable = QueueDeclareOptions { durable: true, ..QueueDeclareOptions::default() };
    channel.queue_declare(dlo_queues::DUE.into(), durable, quorum_arguments()).await.map(drop)
}

fn quorum_arguments() -> FieldTable {
    let mut arguments = typed(QueueType::Quorum);
    arguments.insert("x-delivery-limit".into(), AMQPValue::LongInt(DELIVERY_LIMIT));
    arguments
}

/// Named always: a vhost may have another default.
fn typed(queue_type: QueueType) -> FieldTable {
    let mut arguments = FieldTable::default();
    arguments.insert("x-queue-type".into(), text(queue_type.as_str()));
    arguments
}

pub(super) fn text(text: &str) -> AMQPValue {
    AMQPValue::LongString(LongString::from(text))
}

pub(super) async fn open_channel(connection: &Connection) -> Result<Channel, SessionError> {
    step("opening a channel", connection.create_channel()).await
}
