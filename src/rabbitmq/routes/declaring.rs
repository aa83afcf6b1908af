//! Declaring exchanges, delay queues and bindings, on a channel that may be closed over it.

use std::{collections::HashMap, sync::Arc, time::Duration};

use failure_conventions::dlo_queues;
use lapin::{
    Channel, Connection, ExchangeKind, Queue,
    options::{ExchangeDeclareOptions, QueueBindOptions, QueueDeclareOptions},
    types::{AMQPValue, FieldTable},
};
use tokio::time::Instant;

use super::route::{Hop, Route};
use crate::rabbitmq::{
    SessionError,
    declarations::{self, text},
    is_not_found,
    patience::patient_step,
    short,
};

/// RabbitMQ writes down only after three seconds that a quorum queue has been declared (`delayed_write` of Erlang's dets).
/// A node that is killed before that has the queue empty when it is back, also of what it has confirmed: measured on
/// 3.10, 4.0 and 4.3. Another process that uses the queue at once does not know that it is new.
const SETTLING: Duration = Duration::from_secs(4);

/// Has a channel of its own: what the broker refuses closes it, and no message is on its way there.
pub(super) struct Declarer {
    connection: Arc<Connection>,
    channel: Option<Channel>,
    /// When queues were created that may not have settled yet.
    created: HashMap<String, Instant>,
}

impl Declarer {
    pub fn new(connection: Arc<Connection>) -> Self {
        Self { connection, channel: None, created: HashMap::new() }
    }

    /// Until when no message should be put into a delay queue: it is new, or the queue is where it would come due.
    pub fn settled(&self, delay_queue: &str) -> Option<Instant> {
        let created = [delay_queue, dlo_queues::DUE].into_iter().filter_map(|queue| self.created.get(queue)).max();
        created.map(|created| *created + SETTLING).filter(|settled| *settled > Instant::now())
    }

    fn note_creation(&mut self, queue: &str) {
        self.created.retain(|_, created| created.elapsed() < SETTLING);
        self.created.insert(queue.to_owned(), Instant::now());
    }

    pub async fn declare(&mut self, route: &Route<'_>) -> Result<(), SessionError> {
        if route.target.is_empty() {
            return Err(SessionError::NoName);
        }
        match &route.stop {
            Hop::Nothing => Ok(()),
            Hop::Relay(name) => {
                self.declare_exchange(name).await?;
                self.bind_target(route.target, name).await
            }
            Hop::DelayQueue { name, delay } => {
                self.declare_due_queue().await?;
                self.declare_delay_queue(name, *delay).await
            }
        }
    }

    /// Where everything goes that has waited. A queue of that name is taken as it is.
    pub async fn declare_due_queue(&mut self) -> Result<(), SessionError> {
        if self.look_at(dlo_queues::DUE).await?.is_some() {
            return Ok(());
        }
        let declaring = async |channel: Channel| declarations::declare_due_queue(&channel).await;
        let declared = self.step(&format!("declaring queue {}", dlo_queues::DUE), declaring).await;
        self.note_creation(dlo_queues::DUE);
        declared
    }

    /// Without `x-expires`: publishing does not count as use, and a queue that expires takes its messages with it.
    ///
    /// Only a quorum queue can wait for the confirm of what it dead-letters
    /// (<https://www.rabbitmq.com/docs/quorum-queues#activating-at-least-once-dead-lettering>). From a classic one, all
    /// that comes due while the node is down is lost at its start, as quorum queues have no leader yet.
    async fn declare_delay_queue(&mut self, name: &str, delay: Duration) -> Result<(), SessionError> {
        let milliseconds = i64::try_from(delay.as_millis()).unwrap_or(i64::MAX);
        let mut arguments = FieldTable::default();
        arguments.insert("x-queue-type".into(), text("quorum"));
        arguments.insert("x-dead-letter-strategy".into(), text("at-least-once"));
        // Or RabbitMQ falls back to at most once, without a word.
        arguments.insert("x-overflow".into(), text("reject-publish"));
        arguments.insert("x-message-ttl".into(), AMQPValue::LongLongInt(milliseconds));
        arguments.insert("x-dead-letter-exchange".into(), text(""));
        arguments.insert("x-dead-letter-routing-key".into(), text(dlo_queues::DUE));
        let durable = QueueDeclareOptions { durable: true, ..QueueDeclareOptions::default() };
        let queue = short(name)?;
        let is_new = self.look_at(name).await?.is_none();
        let declaring = async |channel: Channel| channel.queue_declare(queue, durable, arguments).await;
        let declared = self.step(&format!("declaring queue {name}"), declaring).await;
        // Also after an error: the broker may have created it, and have answered too late.
        if is_new {
            self.note_creation(name);
        }
        declared.map(drop)
    }

    async fn declare_exchange(&mut self, name: &str) -> Result<(), SessionError> {
        let durable = ExchangeDeclareOptions { durable: true, ..ExchangeDeclareOptions::default() };
        let (exchange, none) = (short(name)?, FieldTable::default());
        let declaring =
            async |channel: Channel| channel.exchange_declare(exchange, ExchangeKind::Fanout, durable, none).await;
        self.step(&format!("declaring exchange {name}"), declaring).await
    }

    async fn bind_target(&mut self, target: &str, exchange: &str) -> Result<(), SessionError> {
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

    /// What the broker says of a queue; `None` where there is none.
    pub async fn look_at(&mut self, name: &str) -> Result<Option<Queue>, SessionError> {
        let queue = short(name)?;
        let passive = QueueDeclareOptions { passive: true, ..QueueDeclareOptions::default() };
        let looking = async |channel: Channel| channel.queue_declare(queue, passive, FieldTable::default()).await;
        match self.step(&format!("looking at queue {name}"), looking).await {
            Err(SessionError::Refused { source, .. }) if is_not_found(&source) => Ok(None),
            looked => looked.map(Some),
        }
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
