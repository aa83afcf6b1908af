//! The exchange and the queues of the office.

use lapin::{
    Channel, Connection, ExchangeKind,
    options::{ExchangeDeclareOptions, QueueBindOptions, QueueDeclareOptions},
    types::{AMQPValue, FieldTable, LongString},
};

use super::{SessionError, is_not_found, short, step};
use crate::{config::BrokerConfig, topology::DELIVERY_LIMIT};

/// What the office needs in a broker.
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
        let queue_type = self.config.queue_type;
        let mut arguments = FieldTable::default();
        // Named always: a vhost may have another default.
        let value = AMQPValue::LongString(LongString::from(queue_type.as_str()));
        arguments.insert("x-queue-type".into(), value);
        if queue_type == crate::config::QueueType::Quorum {
            arguments.insert("x-delivery-limit".into(), AMQPValue::LongInt(DELIVERY_LIMIT));
        }
        arguments
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

pub(super) async fn open_channel(connection: &Connection) -> Result<Channel, SessionError> {
    step("opening a channel", connection.create_channel()).await
}
