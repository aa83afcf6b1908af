//! Draining one queue: gather a batch, commit it, acknowledge it.

use std::time::Duration;

use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::{Intake, arrival::arrival};
use crate::{
    broker::{Acknowledger, Delivery, QueueConsumer, Received, SessionError, reconnect::Backoff},
    crash,
    pipeline::ids,
    store::{Arrival, IntakeBatch, Recorded},
};

/// Bytes of bodies in one commit at most, unless a single one is larger.
const BATCH_BYTES: usize = 8 * 1024 * 1024;
/// When nothing has come for this long, what is proven to be acknowledged is written down as such.
const IDLE: Duration = Duration::from_millis(200);

/// Works until the session is over or, once told to stop, until nothing more comes.
pub(super) async fn drain(
    intake: &Intake,
    consumer: QueueConsumer,
    stop: &CancellationToken,
) -> Result<(), SessionError> {
    let acknowledger = consumer.acknowledger();
    let mut gatherer = Gatherer { intake, consumer, stop, stopping: false, over: None };
    let mut unsettled = Unsettled::default();
    loop {
        let (batch, ()) = tokio::try_join!(gatherer.gather(unsettled.is_some()), unsettled.prove(&acknowledger))?;
        match batch {
            Gathered::Batch(deliveries) => {
                crash::point("delivered");
                let (tag, stored) = store(intake, gatherer.consumer.queue(), deliveries, &mut unsettled).await;
                crash::point("committed");
                acknowledger.ack_through(tag).await?;
                crash::point("acknowledged");
                unsettled.acknowledged(stored);
            }
            Gathered::Idle => unsettled.settle(intake).await,
            Gathered::Ended => {
                unsettled.settle(intake).await;
                return Ok(());
            }
        }
    }
}

/// Batches that are stored and whose acknowledgement the broker may not have seen.
#[derive(Default)]
struct Unsettled {
    acknowledged: Vec<Uuid>,
    proven: Vec<Uuid>,
}

impl Unsettled {
    const fn is_some(&self) -> bool {
        !self.acknowledged.is_empty() || !self.proven.is_empty()
    }

    fn acknowledged(&mut self, batches: Vec<Uuid>) {
        self.acknowledged = batches;
    }

    /// Awaits proof that the broker has seen the last acknowledgement, while the next batch is gathered.
    async fn prove(&mut self, acknowledger: &Acknowledger) -> Result<(), SessionError> {
        if !self.acknowledged.is_empty() {
            acknowledger.settle().await?;
            self.proven.append(&mut self.acknowledged);
        }
        Ok(())
    }

    async fn settle(&mut self, intake: &Intake) {
        if self.proven.is_empty() {
            return;
        }
        match intake.store.settle(&self.proven).await {
            Ok(()) => self.proven.clear(),
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

/// Stores a batch, however long that takes. The answer is the tag to acknowledge through and what to settle then.
async fn store(intake: &Intake, queue: &str, deliveries: Vec<Delivery>, unsettled: &mut Unsettled) -> (u64, Vec<Uuid>) {
    let recorded_at = intake.clock.now();
    let tag = deliveries.last().map_or(0, |delivery| delivery.tag);
    let mut arrivals: Vec<Arrival> =
        deliveries.into_iter().zip(0..).map(|(delivery, n)| arrival(delivery, recorded_at, n)).collect();
    let settled = std::mem::take(&mut unsettled.proven);
    let mut tries = Vec::new();
    let mut backoff = Backoff::default();
    let recorded = loop {
        let id = ids::uuid(recorded_at);
        tries.push(id);
        let batch =
            IntakeBatch { id, broker: &intake.broker, queue, recorded_at, arrivals: &arrivals, settled: &settled };
        match intake.patiently(intake.store.record(&batch)).await {
            Ok(recorded) => break recorded,
            Err(error) => {
                intake.hold(&error);
                if error.is_outage() {
                    arrivals.iter_mut().for_each(doubt);
                }
                tokio::time::sleep(backoff.next_delay()).await;
            }
        }
    };
    intake.hold_no_longer();
    report(intake, queue, &arrivals, &recorded);
    (tag, tries)
}

/// A commit whose answer was lost may have been done. Then the ledger knows the message, as it knows one that comes
/// again after a lost acknowledgement.
fn doubt(arrival: &mut Arrival) {
    arrival.redelivered = true;
    arrival.id = ids::letter(arrival.received_at);
}

fn report(intake: &Intake, queue: &str, arrivals: &[Arrival], recorded: &[Recorded]) {
    let mut received = 0;
    for (arrival, recorded) in arrivals.iter().zip(recorded) {
        if matches!(recorded, Recorded::Redelivered(_)) {
            intake.metrics.redelivered(&intake.broker);
            continue;
        }
        received += 1;
        intake.metrics.letter_received(&intake.broker, arrival.failure.queue.as_deref());
    }
    tracing::debug!(broker.name = intake.broker, queue.name = queue, letters = received, "stored");
    intake.news.received(received);
}
