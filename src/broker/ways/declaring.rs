//! Declaring exchanges, delay queues and bindings, on a channel that may be closed over it.

use std::{sync::Arc, time::Duration};

use lapin::{
    Channel, Connection, ExchangeKind,
    options::{ExchangeDeclareOptions, QueueBindOptions, QueueDeclareOptions},
    types::{AMQPValue, FieldTable, LongString},
};

use tokio::time::Instant;

use super::way::{Stop, Way};
use crate::{
    broker::{SessionError, is_not_found, patience::patient_step, short},
    own_names,
};

/// Has a channel of its own: what the broker refuses closes it, and no message is on its way there.
pub(super) struct Declarer {
    connection: Arc<Connection>,
    obituary_queue: String,
    channel: Option<Channel>,
    /// When the latest delay queue was created.
    created: Option<Instant>,
}

/// RabbitMQ writes down three seconds after it that there is a new quorum queue (`delayed_write` of Erlang's dets). A
/// node that is killed before has the queue empty when it is back, also of what it has confirmed: measured on 3.10, 4.0
/// and 4.3.
const SETTLING: Duration = Duration::from_secs(4);

impl Declarer {
    pub fn new(connection: Arc<Connection>, obituary_queue: String) -> Self {
        Self { connection, obituary_queue, channel: None, created: None }
    }

    /// Until when messages should not yet be put into delay queues.
    pub fn settled(&self) -> Option<Instant> {
        self.created.map(|created| created + SETTLING)
    }

    pub async fn declare(&mut self, way: &Way<'_>) -> Result<(), SessionError> {
        match &way.stop {
            Stop::Nothing => Ok(()),
            Stop::Relay(name) => {
                self.declare_exchange(name, None).await?;
                self.bind_target(way.target, name).await
            }
            Stop::DelayQueue { name, delay } => {
                self.declare_landing(way.target).await?;
                self.declare_delay_queue(name, *delay, way).await
            }
        }
    }

    /// Binds the target, which may be another queue of the same name by now.
    pub async fn bind_landing(&mut self, target: &str) -> Result<(), SessionError> {
        self.bind_target(target, &own_names::landing(target)).await
    }

    async fn declare_landing(&mut self, target: &str) -> Result<(), SessionError> {
        let obituary_queue = self.obituary_queue.clone();
        self.declare_exchange(own_names::ASTRAY, None).await?;
        self.bind(&obituary_queue, own_names::ASTRAY).await?;
        self.declare_exchange(&own_names::landing(target), Some(own_names::ASTRAY)).await?;
        self.bind_landing(target).await
    }

    /// Without `x-expires`: publishing does not count as use, and a queue that expires takes its messages with it.
    ///
    /// Only a quorum queue can wait for the confirm of what it dead-letters
    /// (<https://www.rabbitmq.com/docs/quorum-queues#activating-at-least-once-dead-lettering>). From a classic one, all
    /// that comes due while the node is down is lost at its start, as quorum queues have no leader yet.
    async fn declare_delay_queue(&mut self, name: &str, delay: Duration, way: &Way<'_>) -> Result<(), SessionError> {
        let milliseconds = i64::try_from(delay.as_millis()).unwrap_or(i64::MAX);
        let mut arguments = FieldTable::default();
        arguments.insert("x-queue-type".into(), text("quorum"));
        arguments.insert("x-dead-letter-strategy".into(), text("at-least-once"));
        // Or RabbitMQ falls back to at most once, without a word.
        arguments.insert("x-overflow".into(), text("reject-publish"));
        arguments.insert("x-message-ttl".into(), AMQPValue::LongLongInt(milliseconds));
        arguments.insert("x-dead-letter-exchange".into(), text(&own_names::landing(way.target)));
        if way.kept_key.is_none() {
            arguments.insert("x-dead-letter-routing-key".into(), text(way.target));
        }
        let durable = QueueDeclareOptions { durable: true, ..QueueDeclareOptions::default() };
        let queue = short(name)?;
        let is_new = self.is_empty(name).await?.is_none();
        let declaring = async |channel: Channel| channel.queue_declare(queue, durable, arguments).await;
        self.step(&format!("declaring queue {name}"), declaring).await?;
        if is_new {
            self.created = Some(Instant::now());
        }
        if way.kept_key.is_some() {
            self.declare_exchange(name, None).await?;
            self.bind(name, name).await?;
        }
        Ok(())
    }

    async fn declare_exchange(&mut self, name: &str, alternate: Option<&str>) -> Result<(), SessionError> {
        let mut arguments = FieldTable::default();
        if let Some(alternate) = alternate {
            arguments.insert("alternate-exchange".into(), text(alternate));
        }
        let durable = ExchangeDeclareOptions { durable: true, ..ExchangeDeclareOptions::default() };
        let exchange = short(name)?;
        let declaring =
            async |channel: Channel| channel.exchange_declare(exchange, ExchangeKind::Fanout, durable, arguments).await;
        self.step(&format!("declaring exchange {name}"), declaring).await
    }

    async fn bind_target(&mut self, target: &str, exchange: &str) -> Result<(), SessionError> {
        // To bind, no name means the queue that the channel has declared last.
        if target.is_empty() {
            return Err(SessionError::NoName);
        }
        self.bind(target, exchange).await.map_err(|error| match error {
            SessionError::Refused { source, .. } if is_not_found(&source) => {
                SessionError::Refused { what: format!("there is no queue {target}"), source }
            }
            error => error,
        })
    }

    async fn bind(&mut self, queue: &str, exchange: &str) -> Result<(), SessionError> {
        let (what, queue, exchange) = (format!("binding {queue} to {exchange}"), short(queue)?, short(exchange)?);
        let options = QueueBindOptions::default();
        let binding = async |channel: Channel| {
            channel.queue_bind(queue, exchange, "".into(), options, FieldTable::default()).await
        };
        self.step(&what, binding).await
    }

    /// Asks something of the broker. After a refusal, or an answer that is overdue, the channel is not used any more.
    pub async fn step<T>(
        &mut self,
        what: &str,
        ask: impl AsyncFnOnce(Channel) -> lapin::Result<T>,
    ) -> Result<T, SessionError> {
        let channel = match self.channel.take().filter(|channel| channel.status().connected()) {
            Some(channel) => channel,
            None => self.open_channel().await?,
        };
        let answer = patient_step(&self.connection, what, ask(channel.clone())).await?;
        self.channel = Some(channel);
        Ok(answer)
    }

    /// A channel's number is of no more use to this connection once the broker has closed the channel over it, as the
    /// client keeps the error. They are used in turn: after two thousand errors the session is over.
    async fn open_channel(&self) -> Result<Channel, SessionError> {
        let opened = patient_step(&self.connection, "opening a channel", self.connection.create_channel()).await;
        opened.map_err(|error| match error {
            SessionError::Refused { source, .. } => SessionError::lost(source),
            error => error,
        })
    }
}

fn text(text: &str) -> AMQPValue {
    AMQPValue::LongString(LongString::from(text))
}
