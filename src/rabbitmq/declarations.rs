//! The exchange and the queues of dlo.

use failure_conventions::dlo_queues;
use lapin::{
    Channel, Connection, ExchangeKind, Queue,
    options::{ExchangeDeclareOptions, QueueBindOptions, QueueDeclareOptions},
    types::{AMQPValue, FieldTable, LongString},
};

use super::{SessionError, is_not_found, refusal, short, step};
use crate::{
    config::{BrokerConfig, QueueType},
    rabbitmq::topology::DELIVERY_LIMIT,
};

/// What dlo needs in a broker.
#[derive(Clone, Copy, Debug)]
pub struct Topology<'a> {
    pub config: &'a BrokerConfig,
}

/// What a queue is bound by to an exchange, so that all comes that is published there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BindingKey {
    /// The exchange looks at no key, or at more than a key.
    None,
    /// It is a topic exchange.
    AnyTopic,
}

impl BindingKey {
    const fn as_str(self) -> &'static str {
        match self {
            Self::None => "",
            Self::AnyTopic => "#",
        }
    }
}

impl Topology<'_> {
    /// Declares what is missing, or with `declare = false` finds out whether all is there.
    ///
    /// What exists already is taken as it is: a team may have declared it with other arguments.
    pub(super) async fn ensure(&self, connection: &Connection) -> Result<BindingKey, SessionError> {
        for queue in [&self.config.dead_letter_queue, &self.config.obituary_queue] {
            self.ensure_queue(connection, queue).await?;
        }
        if !self.config.declare {
            return Ok(BindingKey::None);
        }
        let key = self.key(connection).await?;
        self.keep_exchange(connection, key).await?;
        Ok(key)
    }

    /// Declares the exchange anew where it has been deleted, and binds the queue to it; says whether it was missing.
    pub(super) async fn keep_exchange(&self, connection: &Connection, key: BindingKey) -> Result<bool, SessionError> {
        let seen = self.exchange_seen(connection).await?;
        let is_missing = seen.is_none();
        let channel = match seen {
            Some(channel) => channel,
            None => self.declare_exchange(connection).await?,
        };
        self.bind(&channel, key).await?;
        Ok(is_missing)
    }

    /// What the queue is bound by to the exchange that is there, or is to be declared.
    ///
    /// # Errors
    /// Where no key brings all that is published to the exchange.
    pub(super) async fn key(&self, connection: &Connection) -> Result<BindingKey, SessionError> {
        if self.exchange_seen(connection).await?.is_none() {
            return Ok(BindingKey::None);
        }
        // Only by what is wrong with declaring it as another one it can be told what it is.
        let is = match self.declare_exchange(connection).await {
            Err(SessionError::Refused { source, .. }) if refusal(&source).is_some() => other_type(&source),
            declared => declared.map(|_| None)?,
        };
        match is.as_deref() {
            Some("topic") => Ok(BindingKey::AnyTopic),
            Some("direct") => Err(SessionError::DirectExchange {
                exchange: self.config.dead_letter_exchange.clone(),
                queue: self.config.dead_letter_queue.clone(),
            }),
            _ => Ok(BindingKey::None),
        }
    }

    async fn ensure_queue(&self, connection: &Connection, queue: &str) -> Result<(), SessionError> {
        // A passive declaration that fails closes its channel, so each has one of its own.
        let channel = open_channel(connection).await?;
        match look_at(&channel, queue).await {
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

    /// A channel on which the exchange was seen; `None` where there is none.
    async fn exchange_seen(&self, connection: &Connection) -> Result<Option<Channel>, SessionError> {
        let exchange = &self.config.dead_letter_exchange;
        let channel = open_channel(connection).await?;
        let passive = ExchangeDeclareOptions { passive: true, ..ExchangeDeclareOptions::default() };
        let declared = channel.exchange_declare(short(exchange)?, ExchangeKind::Fanout, passive, FieldTable::default());
        match step(&format!("exchange {exchange}"), declared).await {
            Err(SessionError::Refused { source, .. }) if is_not_found(&source) => Ok(None),
            found => found.map(|()| Some(channel)),
        }
    }

    async fn bind(&self, channel: &Channel, key: BindingKey) -> Result<(), SessionError> {
        let BrokerConfig { dead_letter_exchange: exchange, dead_letter_queue: queue, .. } = self.config;
        let (key, options) = (key.as_str().into(), QueueBindOptions::default());
        let bound = channel.queue_bind(short(queue)?, short(exchange)?, key, options, FieldTable::default());
        step(&format!("binding {queue} to {exchange}"), bound).await
    }

    /// The channel on which it did so.
    async fn declare_exchange(&self, connection: &Connection) -> Result<Channel, SessionError> {
        let exchange = &self.config.dead_letter_exchange;
        let channel = open_channel(connection).await?;
        let durable = ExchangeDeclareOptions { durable: true, ..ExchangeDeclareOptions::default() };
        let declared = channel.exchange_declare(short(exchange)?, ExchangeKind::Fanout, durable, FieldTable::default());
        step(&format!("declaring exchange {exchange}"), declared).await.map(|()| channel)
    }
}

/// Which type an exchange has that cannot be declared as one of another.
fn other_type(error: &lapin::Error) -> Option<String> {
    let said = refusal(error).filter(|said| said.contains("arg 'type'"))?;
    let (_, is) = said.rsplit_once("current is '")?;
    Some(is.trim_end_matches('\'').to_owned())
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

/// What the broker says of a queue.
pub(super) async fn look_at(channel: &Channel, queue: &str) -> Result<Queue, SessionError> {
    let passive = QueueDeclareOptions { passive: true, ..QueueDeclareOptions::default() };
    let looking = channel.queue_declare(short(queue)?, passive, FieldTable::default());
    step(&format!("queue {queue}"), looking).await
}

pub(super) async fn open_channel(connection: &Connection) -> Result<Channel, SessionError> {
    step("opening a channel", connection.create_channel()).await
}
