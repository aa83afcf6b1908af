//! What has waited in RabbitMQ goes back to its queue: published, and only then acknowledged.
//!
//! A process that dies in between has sent some twice then, under the same `dlo-id`.

mod batch;
mod storing;

use std::{collections::BTreeSet, mem, time::Duration};

use amqp_message::{death::Reason, message::Message};
use failure_conventions::{Failure, dlo_queues, expiry, may_have_own_retries};
use tokio::time::{Instant, timeout, timeout_at};
use tokio_util::sync::CancellationToken;

use batch::{Batch, Parcel};

use super::{Intake, briefly::PATIENCE, paused, publisher::Publisher, source::DUE_SESSIONS};
use crate::{
    crash_point,
    domain::{
        letter::LetterId,
        lifecycle::recognition::OWN_RETRIES,
        queue_pause::is_paused,
        retry::{Destination, EXPIRED, OutgoingRetry},
    },
    metrics::RetryKind,
    rabbitmq::{
        Acknowledger, BUNDLE, ConsumingSession, Delivery, PublishOutcome, QueueConsumer, Received, SessionError,
        outgoing, reconnect::Backoff, unpack,
    },
    services::{ids, wakeup::Wakeup},
    store::StoreError,
};

/// How often it is looked whether somebody else has begun to have messages wait in this broker.
const LOOK: Duration = Duration::from_secs(10 * 60);
/// How soon an obituary is tried again that could neither be published nor stored, and the database asked again that did not
/// answer.
const PAUSE: Duration = Duration::from_secs(5);
/// How much longer a message waits whose queue is full, or cannot be had.
const FULL: Duration = Duration::from_secs(60);
/// The same where it is paused. Shorter in tests, which wait for it.
const PAUSED: Duration = Duration::from_secs(if cfg!(feature = "crash-points") { 2 } else { 60 });

/// How long a session that ends waits for what is left of a bundle, longer than a delay queue takes to settle.
const FINISH: Duration = Duration::from_secs(5);

/// How long RabbitMQ has to tell all who consumed the queue that it was deleted. RabbitMQ 3 consumes the next one for those
/// whom it has not told by then, and what it delivers to them comes to nobody.
const TOLD: Duration = Duration::from_secs(1);

/// Works until the session is over or it is told to stop.
pub(crate) async fn send_back(
    intake: &Intake,
    session: &ConsumingSession,
    waiting: &Wakeup,
    stop: &CancellationToken,
) -> Result<(), SessionError> {
    let mut due = Due { intake, publisher: Publisher::new(intake) };
    // A broker that is silent answers late, and nothing has been delivered yet.
    while let Some(consumer) = stop.run_until_cancelled(session.consume_due()).await {
        if let Some(consumer) = consumer? {
            due.remember().await;
            return due.drain(consumer, stop).await;
        }
        match due.is_remembered().await {
            // What waits has nowhere else to go.
            Ok(true) => {
                // Not all at once: RabbitMQ ends the connection of whoever looks at a queue that is just being declared.
                let pause = TOLD.mul_f64(1.0 + fastrand::f64());
                let Some(()) = stop.run_until_cancelled(tokio::time::sleep(pause)).await else { break };
                session.declare_due_queue().await?;
            }
            other => tokio::select! {
                () = stop.cancelled() => {}
                () = waiting.notified() => {}
                () = tokio::time::sleep(if other.is_ok() { LOOK } else { PAUSE }) => {}
            },
        }
    }
    Ok(())
}

struct Due<'a> {
    intake: &'a Intake,
    publisher: Publisher<'a>,
}

/// What is to become of a message whose publishing has ended.
enum Then {
    Sent,
    Again(OutgoingRetry),
    /// Not before that time.
    Later(OutgoingRetry, Instant),
    /// To the database, as RabbitMQ does not take it.
    Here(OutgoingRetry),
}

impl Due<'_> {
    /// Has the database know that messages wait in this broker.
    async fn remember(&self) {
        if let Err(error) = self.intake.store.remember_delay_queue(&self.intake.broker, dlo_queues::DUE).await {
            tracing::debug!(error = %error, queue.name = dlo_queues::DUE, "a queue is not remembered yet");
        }
    }

    async fn is_remembered(&self) -> Result<bool, StoreError> {
        Ok(!self.intake.store.delay_queues(&self.intake.broker).await?.is_empty())
    }

    async fn drain(&mut self, mut consumer: QueueConsumer, stop: &CancellationToken) -> Result<(), SessionError> {
        let acknowledger = consumer.acknowledger();
        let mut batch = Batch::default();
        loop {
            tokio::select! {
                next = consumer.next() => match next? {
                    Received::Delivery(next) => self.open(*next, &mut batch),
                    Received::Ended => return Ok(()),
                },
                () = batch.is_time() => {
                    acknowledger.is_at_work();
                    batch.take_up();
                }
                () = stop.cancelled() => return self.finish(batch, &acknowledger).await,
            }
            while (batch.parcels.len() + BUNDLE) * DUE_SESSIONS <= self.intake.batching.batch_size {
                // How the stream ended is reported again when the next is awaited.
                let Some(Ok(Received::Delivery(next))) = consumer.next_ready() else { break };
                self.open(*next, &mut batch);
            }
            crash_point::point("due");
            self.hold(&mut batch).await;
            self.send(&mut batch, &acknowledger).await?;
        }
    }

    /// Sends on what is left of bundles that were sent in part, as far as that is possible soon.
    async fn finish(&mut self, mut batch: Batch, channel: &Acknowledger) -> Result<(), SessionError> {
        let end = Instant::now() + FINISH;
        while batch.is_begun() && timeout_at(end, batch.is_time()).await.is_ok() {
            batch.take_up();
            self.hold(&mut batch).await;
            self.send(&mut batch, channel).await?;
        }
        Ok(())
    }

    /// Takes the messages out of a bundle. What is none becomes a letter, which needs attention.
    fn open(&self, delivery: Delivery, batch: &mut Batch) {
        let Delivery { tag, message, .. } = delivery;
        let retries = unpack(&message).unwrap_or_else(|why| {
            let id = ids::letter(self.intake.clock.now());
            tracing::warn!(letter.id = %id, why = %why, "unexpected message in a delay queue");
            vec![self.obituary(id, outgoing::obituary(id, &message, &Failure::default(), self.target()))]
        });
        batch.add(tag, retries);
    }

    /// Has what would go to a queue that is not allowed, or whose framework retries by itself, wait for a user, and so what its
    /// consumer would drop by now. What would go to a paused queue waits on.
    async fn hold(&self, batch: &mut Batch) {
        let (pauses, own_retries) = tokio::join!(paused::pauses(self.intake), self.own_retries(batch));
        let now = self.intake.clock.now();
        for (_, retry) in batch.parcels.iter_mut().filter(|(_, retry)| !self.is_obituary(retry)) {
            let queue = &retry.destination.queue;
            if let Err(why) = self.intake.limits.targets.check(queue) {
                *retry = self.given_up(retry, &why);
            } else if may_have_own_retries(&retry.message) && own_retries.contains(queue) {
                *retry = self.given_up(retry, OWN_RETRIES);
            } else if expiry::at(&retry.message).is_some_and(|at| at <= now) {
                *retry = self.given_up(retry, EXPIRED);
            } else if is_paused(&pauses, &self.intake.broker, queue) {
                *retry = self.later(retry.clone(), PAUSED);
            }
        }
    }

    /// The queues whose framework retries by itself, as far as it matters for these. While the database does not answer, none.
    async fn own_retries(&self, batch: &Batch) -> BTreeSet<String> {
        let asked = batch.parcels.iter().filter(|(_, retry)| may_have_own_retries(&retry.message));
        let queues: BTreeSet<&str> = asked.map(|(_, retry)| &*retry.destination.queue).collect();
        let queues: Vec<&str> = queues.into_iter().collect();
        let found = timeout(PATIENCE, self.intake.store.own_retries(&self.intake.broker, &queues)).await;
        found.ok().and_then(Result::ok).unwrap_or_default().into_keys().collect()
    }

    /// Publishes until all is confirmed, in the queues or as obituaries, but for what is put aside.
    async fn send(&mut self, batch: &mut Batch, channel: &Acknowledger) -> Result<(), SessionError> {
        let mut backoff = Backoff::default();
        loop {
            let before = batch.parcels.len();
            self.send_once(batch).await;
            crash_point::point("sent-back");
            for tag in batch.take_finished() {
                channel.ack(tag).await?;
            }
            if batch.parcels.is_empty() {
                return Ok(());
            }
            if batch.parcels.len() == before {
                tokio::time::sleep(backoff.next_delay()).await;
                // What it brought is delivered again to somebody.
                channel.check_open()?;
            }
        }
    }

    async fn send_once(&mut self, batch: &mut Batch) {
        // RabbitMQ would close the connection over them.
        let is_unfit = |(_, retry): &mut Parcel| self.is_obituary(retry) && outgoing::check(&retry.message).is_err();
        for parcel in batch.parcels.extract_if(.., is_unfit).collect::<Vec<Parcel>>() {
            self.store(parcel, batch).await;
        }
        let (tags, retries): (Vec<u64>, Vec<OutgoingRetry>) = mem::take(&mut batch.parcels).into_iter().unzip();
        let outcomes = self.publisher.publish(&retries).await;
        for ((tag, retry), outcome) in tags.into_iter().zip(retries).zip(outcomes) {
            match self.next_step(retry, outcome) {
                Then::Sent => batch.sent(tag),
                Then::Again(retry) => batch.parcels.push((tag, retry)),
                Then::Later(retry, until) => batch.put_aside((tag, retry), until),
                Then::Here(retry) => self.store((tag, retry), batch).await,
            }
        }
    }

    async fn store(&self, parcel: Parcel, batch: &mut Batch) {
        let (tag, obituary) = &parcel;
        match storing::store(self.intake, obituary).await {
            Ok(()) => batch.sent(*tag),
            Err(error) => {
                tracing::error!(letter.id = %obituary.id, error = %error, "an obituary cannot be stored yet");
                batch.put_aside(parcel, Instant::now() + PAUSE);
            }
        }
    }

    fn next_step(&self, retry: OutgoingRetry, outcome: PublishOutcome) -> Then {
        match outcome {
            PublishOutcome::Confirmed => {
                self.measure(&retry.destination);
                Then::Sent
            }
            PublishOutcome::Unknown | PublishOutcome::NotSent => Then::Again(retry),
            PublishOutcome::Settling(until) => Then::Later(at_once(retry), until),
            // It waits unacknowledged, as nobody else could send it either.
            PublishOutcome::Forbidden(_) => Then::Later(retry, Instant::now() + PAUSE),
            PublishOutcome::Full(_) => Then::Again(self.later(retry, FULL)),
            PublishOutcome::Failed(why) if self.is_obituary(&retry) => {
                tracing::warn!(letter.id = %retry.id, why, "an obituary cannot be published, and is stored");
                Then::Here(retry)
            }
            PublishOutcome::Failed(why) => Then::Again(self.given_up(&retry, &why)),
        }
    }

    /// Counts what was sent back: neither an obituary nor what waits on.
    fn measure(&self, Destination { queue, wait, .. }: &Destination) {
        if wait.is_none() && queue != self.target() {
            self.intake.metrics.retried(&self.intake.broker, queue, RetryKind::Automatic);
        }
    }

    fn later(&self, retry: OutgoingRetry, by: Duration) -> OutgoingRetry {
        let destination = retry.destination.after(by, self.intake.clock.now());
        OutgoingRetry { destination, ..retry }
    }

    /// An obituary of what cannot be brought to its queue.
    fn given_up(&self, retry: &OutgoingRetry, why: &str) -> OutgoingRetry {
        let OutgoingRetry { id, destination: Destination { queue, .. }, reason, message } = retry;
        let obituary = outgoing::undeliverable(*id, message, queue, *reason, why, self.target());
        tracing::warn!(letter.id = %id, queue.name = queue, why, "a retry failed; the message is stored as open");
        self.intake.metrics.retry_failed(&self.intake.broker, queue, RetryKind::Automatic);
        self.obituary(*id, obituary)
    }

    fn obituary(&self, id: LetterId, message: Message) -> OutgoingRetry {
        OutgoingRetry { id, destination: Destination::straight_to(self.target()), reason: Reason::Unknown, message }
    }

    fn is_obituary(&self, retry: &OutgoingRetry) -> bool {
        retry.destination.queue == self.target()
    }

    fn target(&self) -> &str {
        &self.intake.config.obituary_queue
    }
}

/// What could not be put back to wait has waited long enough when it is taken up.
fn at_once(retry: OutgoingRetry) -> OutgoingRetry {
    OutgoingRetry { destination: Destination { wait: None, ..retry.destination }, ..retry }
}
