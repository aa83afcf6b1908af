//! Consuming: one connection, one channel for each queue.

use std::{sync::Arc, time::Duration};

use amqp_message::message::Message;
use failure_conventions::dlo_queues;
use futures_util::{FutureExt, StreamExt};
use lapin::{
    BasicProperties, Channel, Connection, Consumer,
    options::{
        BasicAckOptions, BasicCancelOptions, BasicConsumeOptions, BasicPublishOptions, BasicQosOptions,
        ConfirmSelectOptions,
    },
    types::FieldTable,
};

use super::{
    SessionError, Topology, connect, connect_to_receive, convert,
    declarations::{self, BindingKey, open_channel},
    is_not_found, is_refused, short, step,
    traffic::Traffic,
    utf8_guard::{NESTING, Repair, Repairs},
};
use crate::config::BrokerConfig;

/// Bundles of messages that are on their way to us at once.
const BUNDLES: u16 = 20;

/// A message that is ours to store and acknowledge.
#[derive(Debug)]
pub struct Delivery {
    pub tag: u64,
    pub message: Message,
    pub redelivered: bool,
    /// What had to be changed to read it at all.
    pub remarks: Vec<String>,
}

/// What a consumer has for us.
#[derive(Debug)]
pub enum Received {
    Delivery(Box<Delivery>),
    /// [`QueueConsumer::stop`] was called and nothing more will come.
    Ended,
}

/// What is published to a queue that is not there comes back, so that nothing remains of the attempt.
async fn may_publish(connection: &Connection) -> Result<(), SessionError> {
    let channel = open_channel(connection).await?;
    step("publisher confirms", channel.confirm_select(ConfirmSelectOptions::default())).await?;
    let nowhere = format!("dlo.check.{:016x}", fastrand::u64(..));
    let mandatory = BasicPublishOptions { mandatory: true, ..BasicPublishOptions::default() };
    let published = async {
        channel.basic_publish("".into(), nowhere.into(), mandatory, b"", BasicProperties::default()).await?.await
    };
    step("publishing to the default exchange, as retries are", published).await.map(drop)
}

/// A connection that consumes.
pub struct ConsumingSession {
    connection: Connection,
    key: BindingKey,
    repairs: Repairs,
    prefetch: u16,
    /// Held by each consumer, too.
    traffic: Arc<Traffic>,
}

impl ConsumingSession {
    /// Connects and makes sure that exchange and queues are there.
    pub async fn open(name: &str, config: &BrokerConfig) -> Result<Self, SessionError> {
        let (connection, repairs) = connect_to_receive(config, &format!("dlo {name} consuming")).await?;
        let key = Topology { config }.ensure(&connection).await?;
        Ok(Self { connection, key, repairs, prefetch: config.prefetch, traffic: Arc::default() })
    }

    /// Declares the dead-letter exchange anew where somebody has deleted it; says whether it was missing.
    pub async fn keep_exchange(&self, config: &BrokerConfig) -> Result<bool, SessionError> {
        if !config.declare {
            return Ok(false);
        }
        Topology { config }.keep_exchange(&self.connection, self.key).await
    }

    /// Connects, and finds out whether what is not declared by us is there, and whether this user may publish to any queue.
    /// Nothing is left behind.
    pub async fn check(name: &str, config: &BrokerConfig) -> Result<(), SessionError> {
        let connection = connect(config, &format!("dlo {name} check")).await?;
        let topology = Topology { config };
        if config.declare {
            topology.key(&connection).await.map(drop)?
        } else {
            topology.ensure(&connection).await.map(drop)?
        }
        may_publish(&connection).await?;
        _ = step("closing", connection.close(200, "bye".into())).await;
        Ok(())
    }

    /// Begins to consume `queue`.
    pub async fn consume(&self, queue: &str) -> Result<QueueConsumer, SessionError> {
        let channel = open_channel(&self.connection).await?;
        self.consume_on(channel, queue, self.prefetch).await
    }

    /// Begins to consume what has waited in RabbitMQ; `None` where nothing ever has, or where this user may not even look:
    /// RabbitMQ 4.3 lets nobody look who may not declare. Whoever may not has had nothing wait there.
    pub async fn consume_due(&self) -> Result<Option<QueueConsumer>, SessionError> {
        let channel = open_channel(&self.connection).await?;
        match declarations::look_at(&channel, dlo_queues::DUE).await {
            Err(SessionError::Refused { source, .. }) if is_not_found(&source) || is_refused(&source) => Ok(None),
            Err(error) => Err(error),
            Ok(_) => self.consume_on(channel, dlo_queues::DUE, BUNDLES).await.map(Some),
        }
    }

    fn is_consuming(&self) -> bool {
        Arc::strong_count(&self.traffic) > 1
    }

    /// Whether this session consumes, and nothing has come or was worked at for so long.
    pub fn is_silent(&self, length: Duration) -> bool {
        self.is_consuming() && self.traffic.silence() >= length
    }

    /// Whether this session consumes `queue` and RabbitMQ knows of nobody who does: it does not always tell that it deleted the
    /// queue. What cannot be said is not so.
    pub async fn is_forgotten(&self, queue: &str) -> bool {
        if !self.is_consuming() {
            return false;
        }
        let Ok(channel) = open_channel(&self.connection).await else { return false };
        match declarations::look_at(&channel, queue).await {
            // Of a quorum queue without a leader, or one that takes its time, RabbitMQ says that it has neither.
            Ok(queue) => queue.consumer_count() == 0 && queue.message_count() > 0,
            Err(SessionError::Refused { source, .. }) => is_not_found(&source),
            Err(_) => false,
        }
    }

    /// Declares the queue of what has waited.
    pub async fn declare_due_queue(&self) -> Result<(), SessionError> {
        let channel = open_channel(&self.connection).await?;
        step(&format!("declaring queue {}", dlo_queues::DUE), declarations::declare_due_queue(&channel)).await
    }

    async fn consume_on(&self, channel: Channel, queue: &str, prefetch: u16) -> Result<QueueConsumer, SessionError> {
        // Deliveries are buffered without bound by the client; only this limits them.
        step("basic.qos", channel.basic_qos(prefetch, BasicQosOptions::default())).await?;
        let consumed =
            channel.basic_consume(short(queue)?, "".into(), BasicConsumeOptions::default(), FieldTable::default());
        let deliveries = step(&format!("consuming {queue}"), consumed).await?;
        self.traffic.note();
        Ok(QueueConsumer {
            acknowledger: Acknowledger { channel, prefetch, traffic: Arc::clone(&self.traffic) },
            deliveries,
            queue: queue.to_owned(),
            repairs: self.repairs.clone(),
            stopping: false,
        })
    }

    /// Ends the session in good order. What is unacknowledged goes back to its queue.
    pub async fn close(self) {
        // Nothing is lost if it fails: the broker notices that the connection is gone.
        _ = step("closing", self.connection.close(200, "bye".into())).await;
    }
}

/// The deliveries of one queue, on a channel of its own.
pub struct QueueConsumer {
    acknowledger: Acknowledger,
    deliveries: Consumer,
    queue: String,
    repairs: Repairs,
    stopping: bool,
}

impl QueueConsumer {
    pub fn queue(&self) -> &str {
        &self.queue
    }

    /// For acknowledging while the next deliveries are awaited.
    pub fn acknowledger(&self) -> Acknowledger {
        self.acknowledger.clone()
    }

    /// Waits for the next delivery. It is safe to drop the future: no delivery is lost.
    pub async fn next(&mut self) -> Result<Received, SessionError> {
        let next = self.deliveries.next().await;
        self.receive(next)
    }

    /// The next delivery if it is here already.
    pub fn next_ready(&mut self) -> Option<Result<Received, SessionError>> {
        let next = self.deliveries.next().now_or_never()?;
        Some(self.receive(next))
    }

    /// Asks the broker for no more. What is on its way still comes; then [`Received::Ended`].
    pub async fn stop(&mut self) -> Result<(), SessionError> {
        self.stopping = true;
        let cancelled = self.acknowledger.channel.basic_cancel(self.deliveries.tag(), BasicCancelOptions::default());
        step("basic.cancel", cancelled).await
    }

    fn receive(&self, next: Option<lapin::Result<lapin::message::Delivery>>) -> Result<Received, SessionError> {
        self.acknowledger.traffic.note();
        match next {
            Some(Ok(delivery)) => Ok(Received::Delivery(Box::new(self.convert(delivery)))),
            Some(Err(error)) => Err(SessionError::lost(error)),
            None if self.stopping => Ok(Received::Ended),
            None if self.acknowledger.channel.status().connected() => {
                Err(SessionError::Cancelled { queue: self.queue.clone() })
            }
            None => Err(SessionError::Lost(format!("no more deliveries from {}", self.queue))),
        }
    }

    fn convert(&self, delivery: lapin::message::Delivery) -> Delivery {
        let (properties, headers) = convert::properties_from_lapin(&delivery.properties);
        Delivery {
            tag: delivery.delivery_tag,
            redelivered: delivery.redelivered,
            remarks: self.remarks(delivery.delivery_tag),
            message: Message {
                exchange: delivery.exchange.as_str().to_owned(),
                routing_key: delivery.routing_key.as_str().to_owned(),
                properties,
                headers,
                body: delivery.data,
            },
        }
    }

    fn remarks(&self, tag: u64) -> Vec<String> {
        self.repairs.take(self.acknowledger.channel.id(), tag).iter().map(remark).collect()
    }
}

/// What the guard changed, in words.
fn remark(repair: &Repair) -> String {
    let Repair { field, original } = repair;
    if field == NESTING {
        return "its headers hold tables nested deeper than can be read; the innermost are kept as bytes".to_owned();
    }
    let original = original.escape_ascii();
    format!("its {field} was not UTF-8, which AMQP asks for; each wrong byte became a ?, it was {original}")
}

/// Acknowledges deliveries of one channel.
#[derive(Clone)]
pub struct Acknowledger {
    channel: Channel,
    prefetch: u16,
    traffic: Arc<Traffic>,
}

impl Acknowledger {
    /// What was delivered waits for something, and nothing more may come until then.
    pub fn is_at_work(&self) {
        self.traffic.note();
    }

    /// Fails when the channel is gone. What it had delivered and is not acknowledged is delivered again to somebody.
    pub fn check_open(&self) -> Result<(), SessionError> {
        if self.channel.status().connected() {
            return Ok(());
        }
        Err(SessionError::Lost("the channel is closed".to_owned()))
    }

    /// Acknowledges this delivery alone.
    pub async fn ack(&self, tag: u64) -> Result<(), SessionError> {
        self.traffic.note();
        self.channel.basic_ack(tag, BasicAckOptions::default()).await.map_err(SessionError::lost)
    }

    /// Acknowledges this delivery and all before it.
    pub async fn ack_through(&self, tag: u64) -> Result<(), SessionError> {
        self.traffic.note();
        let multiple = BasicAckOptions { multiple: true };
        self.channel.basic_ack(tag, multiple).await.map_err(SessionError::lost)
    }

    /// Returns once the broker has seen all that was acknowledged before.
    ///
    /// AMQP confirms no acknowledgement, but a channel is served in order: when it answers a later request, it has
    /// taken the earlier frames. The request sets again what is set already.
    pub async fn settle(&self) -> Result<(), SessionError> {
        self.channel.basic_qos(self.prefetch, BasicQosOptions::default()).await.map_err(SessionError::lost)
    }
}
