//! Gathering deliveries into batches.

use std::time::Duration;

use amqp_message::time::Timestamp;
use tokio::time::{Instant, sleep_until, timeout_at};
use tokio_util::sync::CancellationToken;

use super::{Intake, IntakeSource, arrival::arrival, parcel::is_for_broker};
use crate::{
    rabbitmq::{Delivery, QueueConsumer, Received, SessionError},
    store::Arrival,
};

/// Bytes of bodies in one commit at most, unless a single one is larger.
const BATCH_BYTES: usize = 8 * 1024 * 1024;
/// When nothing has come for this long, there is time for what has to be done in between.
const IDLE: Duration = Duration::from_millis(200);

/// Time for more to come than one. To be woken for each delivery costs more than to read it.
const PAUSE: Duration = Duration::from_millis(1);

/// Deliveries that are taken in together.
pub(crate) struct Batch {
    /// Of all of them, in ascending order.
    pub tags: Vec<u64>,
    pub received_at: Timestamp,
    /// What is for the database.
    pub here: Vec<Arrival>,
    /// What is for the broker, with its tag.
    pub onward: Vec<(u64, Arrival)>,
    bytes: usize,
}

pub(crate) enum Gathered {
    Batch(Batch),
    /// Nothing came for a while.
    Idle,
    Ended,
}

pub(crate) struct Gatherer {
    pub intake: Intake,
    pub source: IntakeSource,
    pub consumer: QueueConsumer,
    pub stop: CancellationToken,
    pub stopping: bool,
    /// How the stream ended while a batch was being gathered; told after the batch.
    pub expired: Option<Result<(), SessionError>>,
}

impl Gatherer {
    /// Gathers what has come, by count, bytes and time. From `due` on it says when nothing comes.
    pub async fn gather(&mut self, due: Option<Instant>) -> Result<Gathered, SessionError> {
        if let Some(expired) = self.expired.take() {
            return expired.map(|()| Gathered::Ended);
        }
        let idle = async {
            match due {
                Some(due) => sleep_until(due.max(Instant::now() + IDLE)).await,
                None => std::future::pending().await,
            }
        };
        let first = tokio::select! {
            first = next(&mut self.consumer, &self.stop, &mut self.stopping) => first?,
            () = idle => return Ok(Gathered::Idle),
        };
        let Received::Delivery(first) = first else { return Ok(Gathered::Ended) };
        let mut batch = Batch::begin(self.intake.clock.now());
        batch.add(*first, self);
        let deadline = Instant::now() + self.intake.batching.batch_wait;
        while batch.tags.len() < self.intake.batching.batch_size && batch.bytes < BATCH_BYTES && self.expired.is_none()
        {
            let Some(received) = self.more(deadline).await else { break };
            match received {
                Ok(Received::Delivery(delivery)) => batch.add(*delivery, self),
                Ok(Received::Ended) => self.expired = Some(Ok(())),
                Err(error) => self.expired = Some(Err(error)),
            }
        }
        Ok(Gathered::Batch(batch))
    }

    /// What is here already, or comes before the deadline.
    async fn more(&mut self, deadline: Instant) -> Option<Result<Received, SessionError>> {
        if let Some(ready) = self.consumer.next_ready() {
            return Some(ready);
        }
        sleep_until(deadline.min(Instant::now() + PAUSE)).await;
        if let Some(ready) = self.consumer.next_ready() {
            return Some(ready);
        }
        timeout_at(deadline, self.consumer.next()).await.ok()
    }
}

impl Batch {
    const fn begin(received_at: Timestamp) -> Self {
        Self { tags: Vec::new(), received_at, here: Vec::new(), onward: Vec::new(), bytes: 0 }
    }

    fn add(&mut self, delivery: Delivery, gatherer: &Gatherer) {
        let (tag, n) = (delivery.tag, self.tags.len() as u64);
        self.tags.push(tag);
        self.bytes += delivery.message.body.len();
        let arrival = arrival(delivery, &gatherer.source, &gatherer.intake.limits, self.received_at, n);
        if is_for_broker(&arrival) {
            self.onward.push((tag, arrival));
        } else {
            self.here.push(arrival);
        }
    }
}

/// The next delivery; once told to stop it asks the broker for no more and goes on with what is on its way.
async fn next(
    consumer: &mut QueueConsumer,
    stop: &CancellationToken,
    stopping: &mut bool,
) -> Result<Received, SessionError> {
    if !*stopping {
        tokio::select! {
            received = consumer.next() => return received,
            () = stop.cancelled() => {}
        }
        *stopping = true;
        consumer.stop().await?;
    }
    consumer.next().await
}
