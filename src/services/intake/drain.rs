//! Draining one queue: gather a batch, commit it, acknowledge it. While one is committed the next is gathered.

use std::time::Duration;

use amqp_message::time::Timestamp;
use failure_conventions::dlo_headers;
use tokio::{
    task::JoinSet,
    time::{Instant, timeout},
};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::{
    Intake, IntakeSource,
    batch_acks::BatchAcks,
    forward::Forwarder,
    gather::{Batch, Gathered, Gatherer},
    own_retries, paused, recognition,
    unacknowledged::PendingAcks,
};
use crate::{
    crash_point,
    rabbitmq::{Acknowledger, QueueConsumer, SessionError, reconnect::Backoff},
    services::{
        halving::{Halved, halve},
        ids,
        wakeup::Wakeup,
    },
    store::{AckState, Arrival, IntakeBatch, Recorded, StoreError},
};

/// So long after it has connected, what comes may be what a killed RabbitMQ dead-letters once more: its queues come back one
/// after the other.
const FIRST: Duration = Duration::from_secs(2 * 60);

/// How long the proof of the last acknowledgement is awaited at the end.
const PROOF: Duration = Duration::from_secs(1);

/// Works until the session is over or, once told to stop, until nothing more comes.
pub(crate) async fn drain(
    intake: &Intake,
    source: &IntakeSource,
    consumer: QueueConsumer,
    waiting: &Wakeup,
    stop: &CancellationToken,
) -> Result<(), SessionError> {
    let (queue, session) = (consumer.queue().to_owned(), ids::uuid(intake.clock.now()));
    let mut filing = Filing {
        intake,
        forwarder: Forwarder::new(intake, (&queue, session), waiting),
        queue: &queue,
        session,
        since: Instant::now(),
        acknowledger: consumer.acknowledger(),
        pending_acks: PendingAcks::default(),
    };
    let (intake, source, stop) = (intake.clone(), source.clone(), stop.clone());
    let mut gatherer = Gatherer { intake, source, consumer, stop, stopping: false, expired: None };
    // What it has begun ends with it.
    let mut gathering = JoinSet::new();
    let mut batch = None;
    loop {
        let due = if batch.is_some() { Some(Instant::now()) } else { filing.due() };
        // On a thread of its own: to read what came takes as long as to write the statements for what came before.
        gathering.spawn(async move {
            let gathered = gatherer.gather(due).await;
            (gatherer, gathered)
        });
        // What has been delivered is stored before it is told that the stream is over.
        let (filed, gathered) = tokio::join!(filing.file(batch.take()), gathering.join_next());
        filed?;
        let Some(Ok((back, gathered))) = gathered else {
            return Err(SessionError::Lost("reading what was delivered has failed".to_owned()));
        };
        gatherer = back;
        match gathered? {
            Gathered::Batch(gathered) => batch = Some(gathered),
            Gathered::Idle => filing.finish().await,
            Gathered::Ended => {
                // So that whoever comes next knows what was acknowledged.
                _ = timeout(PROOF, filing.file(None)).await;
                filing.finish().await;
                return Ok(());
            }
        }
    }
}

/// Where batches go.
struct Filing<'a> {
    intake: &'a Intake,
    /// The queue they come from.
    queue: &'a str,
    /// Names this connection.
    session: Uuid,
    since: Instant,
    acknowledger: Acknowledger,
    pending_acks: PendingAcks,
    forwarder: Forwarder<'a>,
}

impl Filing<'_> {
    /// From when on there is something to [`finish`](Self::finish).
    fn due(&self) -> Option<Instant> {
        if self.forwarder.has_numbers() { Some(Instant::now()) } else { self.pending_acks.due() }
    }

    /// Does what can wait until nothing comes.
    async fn finish(&mut self) {
        self.pending_acks.settle(self.intake).await;
        self.forwarder.tell().await;
    }

    /// Files a batch and, meanwhile, awaits the proof that the broker has seen the acknowledgement of the one before.
    async fn file(&mut self, batch: Option<Batch>) -> Result<(), SessionError> {
        let proof = self.pending_acks.proof(&self.acknowledger);
        let (confirmed, filed) = tokio::join!(proof, self.store_and_acknowledge(batch));
        self.pending_acks.confirmed(confirmed?);
        let acknowledged = filed?;
        self.pending_acks.acknowledged(acknowledged);
        Ok(())
    }

    async fn store_and_acknowledge(&mut self, batch: Option<Batch>) -> Result<Vec<Uuid>, SessionError> {
        let Some(Batch { tags, received_at, mut here, mut onward, .. }) = batch else { return Ok(Vec::new()) };
        crash_point::point("delivered");
        let retries = own_retries::join_tries(&mut here, &mut onward);
        let mut acks = BatchAcks::new(self.acknowledger.clone(), tags);
        let onward = self.keep(onward, &mut here, &retries).await;
        let (sent_here, sent_on) = self.forwarder.forward(onward, &mut acks).await?;
        self.recognise(&mut here, &retries).await?;
        here.extend(sent_here);
        let mut stored = self.store(received_at, here).await?;
        stored.extend(sent_on);
        crash_point::point("committed");
        acks.acknowledge_all().await?;
        crash_point::point("acknowledged");
        Ok(stored)
    }

    /// Moves what must not wait in RabbitMQ to `here`; the others are the answer.
    async fn keep(
        &self,
        onward: Vec<(u64, Arrival)>,
        here: &mut Vec<Arrival>,
        retries: &own_retries::OwnRetries,
    ) -> Vec<(u64, Arrival)> {
        if onward.is_empty() {
            return onward;
        }
        let from = (self.queue, self.session);
        // Both at once: each waits a while for a database that does not answer.
        let (onward, pauses) = tokio::join!(
            recognition::of_those_for_broker(self.intake, from, onward, here, retries),
            paused::pauses(self.intake),
        );
        paused::keep_paused((&self.intake.broker, &pauses), onward, here)
    }

    /// Recognises what was sent back and does not say so, however long that takes.
    async fn recognise(&self, arrivals: &mut [Arrival], retries: &own_retries::OwnRetries) -> Result<(), SessionError> {
        let intake = self.intake;
        let mut backoff = Backoff::default();
        while let Err(error) = intake.patiently(self.queue, recognition::recognise(intake, arrivals, retries)).await {
            intake.hold(self.queue, &error);
            tokio::time::sleep(backoff.next_delay()).await;
            self.acknowledger.check_open()?;
        }
        Ok(())
    }

    /// Stores what has come, however long that takes, and says in which batches. It fails only when the channel is gone:
    /// what it brought is delivered again.
    ///
    /// A batch that the database refuses is halved until the message is found that it refuses. That one is stored as
    /// plain as can be, and all others go on.
    async fn store(&mut self, recorded_at: Timestamp, arrivals: Vec<Arrival>) -> Result<Vec<Uuid>, SessionError> {
        let (mut parts, mut stored) = (vec![arrivals], Vec::new());
        while let Some(part) = parts.pop() {
            if part.is_empty() {
                continue;
            }
            match self.store_batch(recorded_at, &part).await? {
                Ok(batch) => stored.push(batch),
                Err(why) => match halve(part) {
                    Some(Halved::Halves(first, second)) => parts.extend([second, first]),
                    Some(Halved::One(arrival)) => stored.push(self.store_plainly(recorded_at, arrival, &why).await?),
                    None => {}
                },
            }
        }
        self.intake.hold_no_longer(self.queue);
        Ok(stored)
    }

    /// Stores a message that is refused as it is. Where it is refused however plain, it is not the message: it is held
    /// like in an outage, and tried in both forms again.
    async fn store_plainly(
        &mut self,
        recorded_at: Timestamp,
        arrival: Arrival,
        why: &StoreError,
    ) -> Result<Uuid, SessionError> {
        let broker = &self.intake.broker;
        tracing::error!(broker.name = broker, error = %why, "a message is refused as it is; only the message itself is stored");
        let forms = [arrival.plain(why), arrival].map(|form| [form]);
        let mut backoff = Backoff::default();
        for form in forms.iter().cycle() {
            match self.store_batch(recorded_at, form).await? {
                Ok(batch) => return Ok(batch),
                Err(error) => self.intake.hold(self.queue, &error),
            }
            tokio::time::sleep(backoff.next_delay()).await;
            self.acknowledger.check_open()?;
        }
        Err(SessionError::Lost("nothing was stored".to_owned()))
    }

    /// Stores one batch and says what it is called, or why the database refuses it.
    ///
    /// A commit whose answer was lost may have been done. So each try is the same batch, which the database knows by its
    /// id.
    async fn store_batch(
        &mut self,
        recorded_at: Timestamp,
        arrivals: &[Arrival],
    ) -> Result<Result<Uuid, StoreError>, SessionError> {
        let intake = self.intake;
        let (confirmed, expired) = self.pending_acks.settled();
        let batch = IntakeBatch {
            id: ids::uuid(recorded_at),
            broker: &intake.broker,
            queue: self.queue,
            session: self.session,
            is_cut: &|| self.acknowledger.check_open().is_err(),
            is_first: self.since.elapsed() < FIRST,
            recorded_at,
            arrivals,
            settled: AckState { confirmed: &confirmed, expired: &expired },
        };
        let mut backoff = Backoff::default();
        let recorded = loop {
            match intake.patiently(self.queue, intake.store.record(&batch)).await {
                Ok(recorded) => break recorded,
                Err(error) if error.is_refusal() => return Ok(Err(error)),
                Err(error) => intake.hold(self.queue, &error),
            }
            tokio::time::sleep(backoff.next_delay()).await;
            self.acknowledger.check_open()?;
        };
        self.pending_acks.told(&confirmed, &expired);
        report(intake, &batch, &recorded);
        Ok(Ok(batch.id))
    }
}

pub(super) fn report(intake: &Intake, batch: &IntakeBatch<'_>, recorded: &[Recorded]) {
    let (mut received, mut waiting) = (0, 0);
    for (arrival, recorded) in batch.arrivals.iter().zip(recorded) {
        let queue = arrival.failure.queue.as_deref();
        match recorded {
            Recorded::Redelivered(_) => {
                intake.metrics.redelivered(&intake.broker);
                continue;
            }
            Recorded::Waits(_) => waiting += 1,
            Recorded::New(_) | Recorded::FailedAgain(_) => received += 1,
        }
        // What was sent on to wait was counted then. Others may write that header, too.
        let has_waited = arrival.is_counted && dlo_headers::has_waited(&arrival.message.headers);
        if !has_waited {
            intake.metrics.letter_received(&intake.broker, queue);
        }
    }
    tracing::debug!(broker.name = intake.broker, queue.name = batch.queue, letters = received, waiting, "stored");
    intake.feed.received(received);
    if waiting > 0 {
        intake.feed.changed(waiting);
        intake.wakeup.notify();
    }
}
