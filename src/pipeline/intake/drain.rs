//! Draining one queue: gather a batch, commit it, acknowledge it.

use std::{collections::VecDeque, time::Duration};

use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::{
    Door, Intake,
    arrival::arrival,
    forward::{Forwarder, is_for_broker},
};
use crate::{
    broker::{Acknowledger, Delivery, QueueConsumer, Received, SessionError, reconnect::Backoff},
    crash,
    domain::time::Timestamp,
    pipeline::ids,
    store::{Arrival, IntakeBatch, Recorded, Settled},
};

/// Bytes of bodies in one commit at most, unless a single one is larger.
const BATCH_BYTES: usize = 8 * 1024 * 1024;
/// When nothing has come for this long, what is proven to be acknowledged is written down as such.
const IDLE: Duration = Duration::from_millis(200);
/// How long a batch is remembered after the broker has seen its acknowledgement. RabbitMQ writes acknowledgements to
/// disk some time later; a node that is killed before delivers the messages again.
const REST: Duration = Duration::from_secs(30);

/// Works until the session is over or, once told to stop, until nothing more comes.
pub(super) async fn drain(
    intake: &Intake,
    door: &Door,
    consumer: QueueConsumer,
    stop: &CancellationToken,
) -> Result<(), SessionError> {
    let acknowledger = consumer.acknowledger();
    let mut gatherer = Gatherer { intake, consumer, stop, stopping: false, over: None };
    let mut unsettled = Unsettled::default();
    let mut forwarder = Forwarder::new(intake);
    loop {
        let idles = unsettled.is_some() || forwarder.has_numbers();
        let (batch, ()) = tokio::try_join!(gatherer.gather(idles), unsettled.prove(&acknowledger))?;
        match batch {
            Gathered::Batch(deliveries) => {
                crash::point("delivered");
                let tag = deliveries.last().map_or(0, |delivery| delivery.tag);
                let now = intake.clock.now();
                let arrivals = deliveries.into_iter().zip(0..).map(|(delivery, n)| arrival(delivery, door, now, n));
                let (onward, mut here): (Vec<_>, Vec<_>) = arrivals.partition(is_for_broker);
                here.extend(forwarder.forward(onward, &gatherer.consumer).await?);
                let stored = store(intake, &gatherer.consumer, now, &here, &mut unsettled).await?;
                crash::point("committed");
                acknowledger.ack_through(tag).await?;
                crash::point("acknowledged");
                unsettled.acknowledged = stored;
            }
            Gathered::Idle => {
                unsettled.settle(intake).await;
                forwarder.tell().await;
            }
            Gathered::Ended => {
                unsettled.settle(intake).await;
                forwarder.tell().await;
                return Ok(());
            }
        }
    }
}

/// Batches that are stored and whose acknowledgement the broker may not have seen, or may forget.
#[derive(Default)]
struct Unsettled {
    acknowledged: Option<Uuid>,
    /// Seen by the broker; the ledger does not know that yet.
    proven: Vec<Uuid>,
    /// Seen by the broker at that time; the oldest first.
    resting: VecDeque<(Instant, Uuid)>,
}

impl Unsettled {
    fn is_some(&self) -> bool {
        self.acknowledged.is_some() || !self.proven.is_empty() || self.is_over()
    }

    fn is_over(&self) -> bool {
        self.resting.front().is_some_and(|(proven, _)| proven.elapsed() > REST)
    }

    /// Awaits proof that the broker has seen the last acknowledgement, while the next batch is gathered.
    async fn prove(&mut self, acknowledger: &Acknowledger) -> Result<(), SessionError> {
        if self.acknowledged.is_some() {
            acknowledger.settle().await?;
            self.proven.extend(self.acknowledged.take());
        }
        Ok(())
    }

    /// What the ledger is to be told.
    fn settled(&self) -> (Vec<Uuid>, Vec<Uuid>) {
        let over = self.resting.iter().take_while(|(proven, _)| proven.elapsed() > REST).map(|(_, batch)| *batch);
        (self.proven.clone(), over.collect())
    }

    /// The ledger has been told.
    fn told(&mut self, proven: &[Uuid], over: &[Uuid]) {
        self.proven.retain(|batch| !proven.contains(batch));
        self.resting.drain(..over.len());
        self.resting.extend(proven.iter().map(|batch| (Instant::now(), *batch)));
    }

    async fn settle(&mut self, intake: &Intake) {
        let (proven, over) = self.settled();
        match intake.store.settle(Settled { proven: &proven, over: &over }).await {
            Ok(()) => self.told(&proven, &over),
            // The next batch takes them along.
            Err(error) => tracing::debug!(error = %error, "batches cannot be settled yet"),
        }
    }
}

enum Gathered {
    Batch(Vec<Delivery>),
    /// Nothing came for a while, and there is something to settle meanwhile.
    Idle,
    Ended,
}

struct Gatherer<'a> {
    intake: &'a Intake,
    consumer: QueueConsumer,
    stop: &'a CancellationToken,
    stopping: bool,
    /// How the stream ended while a batch was being gathered; told after the batch.
    over: Option<Result<(), SessionError>>,
}

impl Gatherer<'_> {
    /// Gathers what has come, by count, bytes and time.
    async fn gather(&mut self, idles: bool) -> Result<Gathered, SessionError> {
        if let Some(over) = self.over.take() {
            return over.map(|()| Gathered::Ended);
        }
        let first = tokio::select! {
            first = next(&mut self.consumer, self.stop, &mut self.stopping) => first?,
            () = tokio::time::sleep(IDLE), if idles => return Ok(Gathered::Idle),
        };
        let Received::Delivery(first) = first else { return Ok(Gathered::Ended) };
        let mut bytes = first.message.body.len();
        let mut batch = vec![*first];
        let deadline = Instant::now() + self.intake.batching.batch_wait;
        while batch.len() < self.intake.batching.batch_size && bytes < BATCH_BYTES && self.over.is_none() {
            let Some(received) = self.more(deadline).await else { break };
            match received {
                Ok(Received::Delivery(delivery)) => {
                    bytes += delivery.message.body.len();
                    batch.push(*delivery);
                }
                Ok(Received::Ended) => self.over = Some(Ok(())),
                Err(error) => self.over = Some(Err(error)),
            }
        }
        Ok(Gathered::Batch(batch))
    }

    /// What is here already, or comes before the deadline.
    async fn more(&mut self, deadline: Instant) -> Option<Result<Received, SessionError>> {
        if let Some(ready) = self.consumer.next_ready() {
            return Some(ready);
        }
        timeout_at(deadline, self.consumer.next()).await.ok()
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

/// Stores a batch, however long that takes, and says what it is called; `None` where there is nothing to store. It fails
/// only when the channel is gone: what it brought is delivered again.
///
/// A commit whose answer was lost may have been done. So each try is the same batch, which the ledger knows by its id.
async fn store(
    intake: &Intake,
    consumer: &QueueConsumer,
    recorded_at: Timestamp,
    arrivals: &[Arrival],
    unsettled: &mut Unsettled,
) -> Result<Option<Uuid>, SessionError> {
    if arrivals.is_empty() {
        return Ok(None);
    }
    let (proven, over) = unsettled.settled();
    let batch = IntakeBatch {
        id: ids::uuid(recorded_at),
        broker: &intake.broker,
        queue: consumer.queue(),
        recorded_at,
        arrivals,
        settled: Settled { proven: &proven, over: &over },
    };
    let mut backoff = Backoff::default();
    let recorded = loop {
        match intake.patiently(intake.store.record(&batch)).await {
            Ok(recorded) => break recorded,
            Err(error) => intake.hold(&error),
        }
        tokio::time::sleep(backoff.next_delay()).await;
        consumer.check_open()?;
    };
    intake.hold_no_longer();
    unsettled.told(&proven, &over);
    report(intake, &batch, &recorded);
    Ok(Some(batch.id))
}

fn report(intake: &Intake, batch: &IntakeBatch<'_>, recorded: &[Recorded]) {
    let (mut received, mut waiting) = (0, 0);
    for (arrival, recorded) in batch.arrivals.iter().zip(recorded) {
        let queue = arrival.failure.queue.as_deref();
        match recorded {
            Recorded::Redelivered(_) => intake.metrics.redelivered(&intake.broker),
            Recorded::Waits(_) => waiting += 1,
            Recorded::New(_) | Recorded::CameBack(_) => {
                received += 1;
                intake.metrics.letter_received(&intake.broker, queue);
                intake.metrics.exhausted(&intake.broker, queue, arrival.importance);
            }
        }
    }
    tracing::debug!(broker.name = intake.broker, queue.name = batch.queue, letters = received, waiting, "stored");
    intake.news.received(received);
    if waiting > 0 {
        intake.news.changed(waiting);
        intake.bell.ring();
    }
}
