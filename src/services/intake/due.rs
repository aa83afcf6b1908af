//! What has waited in RabbitMQ goes back to its queue: published, and only then acknowledged.
//!
//! A process that dies in between has sent some twice then, under the same `dlo-id`.

use std::time::Duration;

use amqp_message::{death::Reason, message::Message};
use failure_conventions::{Failure, dlo_queues};
use futures_util::future::try_join_all;
use tokio_util::sync::CancellationToken;

use super::{Intake, publisher::Publisher};
use crate::{
    crash_point,
    domain::{
        letter::LetterId,
        retry::{Destination, OutgoingRetry},
    },
    metrics::RetryKind,
    rabbitmq::{
        Acknowledger, BUNDLE, ConsumingSession, Delivery, PublishOutcome, QueueConsumer, Received, SessionError,
        outgoing, reconnect::Backoff, unpack,
    },
    services::{ids, wakeup::Wakeup},
};

/// While one awaits its confirms, the other sends.
const WORKERS: usize = 2;
/// How often it is looked whether somebody else has begun to have messages wait in this broker.
const LOOK: Duration = Duration::from_secs(10 * 60);
/// How much longer a message waits whose queue takes nothing.
const FULL: Duration = Duration::from_secs(60);

/// Works until the session is over or it is told to stop.
pub(crate) async fn send_back(
    intake: &Intake,
    session: &ConsumingSession,
    waiting: &Wakeup,
    stop: &CancellationToken,
) -> Result<(), SessionError> {
    let worker = || async {
        let mut due = Due { intake, publisher: Publisher::new(intake) };
        while !stop.is_cancelled() {
            match session.consume_due().await? {
                Some(consumer) => {
                    due.remember().await;
                    match due.drain(consumer, stop).await {
                        // Somebody has deleted the queue.
                        Err(SessionError::Cancelled { .. }) => {}
                        expired => return expired,
                    }
                }
                // What waits has nowhere else to go.
                None if due.is_remembered().await => session.declare_due_queue().await?,
                None => tokio::select! {
                    () = stop.cancelled() => {}
                    () = waiting.notified() => {}
                    () = tokio::time::sleep(LOOK) => {}
                },
            }
        }
        Ok(())
    };
    try_join_all([(); WORKERS].map(|()| worker())).await.map(drop)
}

struct Due<'a> {
    intake: &'a Intake,
    publisher: Publisher<'a>,
}

/// Bundles that are sent on together.
#[derive(Default)]
struct Batch {
    tags: Vec<u64>,
    retries: Vec<OutgoingRetry>,
}

impl Due<'_> {
    /// Has the database know that messages wait in this broker.
    async fn remember(&self) {
        if let Err(error) = self.intake.store.remember_delay_queue(&self.intake.broker, dlo_queues::DUE).await {
            tracing::debug!(error = %error, queue.name = dlo_queues::DUE, "a queue is not remembered yet");
        }
    }

    async fn is_remembered(&self) -> bool {
        self.intake.store.delay_queues(&self.intake.broker).await.is_ok_and(|queues| !queues.is_empty())
    }

    async fn drain(&mut self, mut consumer: QueueConsumer, stop: &CancellationToken) -> Result<(), SessionError> {
        let acknowledger = consumer.acknowledger();
        loop {
            let first = tokio::select! {
                first = consumer.next() => first?,
                () = stop.cancelled() => return Ok(()),
            };
            let Received::Delivery(first) = first else { return Ok(()) };
            let mut batch = Batch::default();
            self.open(*first, &mut batch);
            while (batch.retries.len() + BUNDLE) * WORKERS <= self.intake.batching.batch_size {
                // How the stream ended is reported again when the next is awaited.
                let Some(Ok(Received::Delivery(next))) = consumer.next_ready() else { break };
                self.open(*next, &mut batch);
            }
            crash_point::point("due");
            self.send(batch.retries, &acknowledger).await?;
            crash_point::point("sent-back");
            for tag in batch.tags {
                acknowledger.ack(tag).await?;
            }
        }
    }

    /// Takes the messages out of a bundle. What is none becomes a letter, which needs attention.
    fn open(&self, delivery: Delivery, batch: &mut Batch) {
        let Delivery { tag, message, .. } = delivery;
        match unpack(&message) {
            Ok(mut retries) => batch.retries.append(&mut retries),
            Err(why) => {
                let id = ids::letter(self.intake.clock.now());
                tracing::warn!(letter.id = %id, why = %why, "unexpected message in a delay queue");
                let obituary = outgoing::obituary(id, &message, &Failure::default(), self.target());
                if let Err(why) = outgoing::check(&obituary) {
                    tracing::error!(why, "it cannot become an obituary, and stays in {}", dlo_queues::DUE);
                    return;
                }
                batch.retries.push(self.obituary(id, obituary));
            }
        }
        batch.tags.push(tag);
    }

    /// Publishes until all is confirmed, in the queues or as obituaries.
    async fn send(&mut self, mut retries: Vec<OutgoingRetry>, channel: &Acknowledger) -> Result<(), SessionError> {
        let mut backoff = Backoff::default();
        while !retries.is_empty() {
            let before = retries.len();
            let outcomes = self.publisher.publish(&retries).await;
            retries = retries
                .into_iter()
                .zip(outcomes)
                .filter_map(|(retry, outcome)| self.next_try(retry, outcome))
                .collect();
            if retries.len() == before {
                tokio::time::sleep(backoff.next_delay()).await;
                // What it brought is delivered again to somebody.
                channel.check_open()?;
            }
        }
        Ok(())
    }

    /// What is to be published instead, if anything.
    fn next_try(&self, retry: OutgoingRetry, outcome: PublishOutcome) -> Option<OutgoingRetry> {
        match outcome {
            PublishOutcome::Confirmed => None,
            PublishOutcome::Unknown | PublishOutcome::NotSent => Some(retry),
            PublishOutcome::Full(_) => Some(self.later(retry)),
            PublishOutcome::Failed(why) if retry.destination.queue == self.target() => {
                tracing::error!(letter.id = %retry.id, why, "an obituary cannot be published yet");
                Some(retry)
            }
            PublishOutcome::Failed(why) => Some(self.given_up(retry, &why)),
        }
    }

    fn later(&self, retry: OutgoingRetry) -> OutgoingRetry {
        let destination = retry.destination.after(FULL, self.intake.clock.now());
        OutgoingRetry { destination, ..retry }
    }

    /// An obituary of what cannot be brought to its queue.
    fn given_up(&self, retry: OutgoingRetry, why: &str) -> OutgoingRetry {
        let OutgoingRetry { id, destination: Destination { queue, .. }, reason, message } = &retry;
        let obituary = outgoing::undeliverable(*id, message, queue, *reason, why, self.target());
        if let Err(obstacle) = outgoing::check(&obituary) {
            let target = self.target();
            tracing::error!(letter.id = %id, queue.name = queue, why, obstacle, "retry failed; cannot move it to {target}");
            return self.later(retry);
        }
        tracing::warn!(letter.id = %id, queue.name = queue, why, "a retry failed; the message is stored as open");
        self.intake.metrics.retry_failed(&self.intake.broker, queue, RetryKind::Automatic);
        self.obituary(*id, obituary)
    }

    fn obituary(&self, id: LetterId, message: Message) -> OutgoingRetry {
        OutgoingRetry { id, destination: Destination::straight_to(self.target()), reason: Reason::Unknown, message }
    }

    fn target(&self) -> &str {
        &self.intake.config.obituary_queue
    }
}
