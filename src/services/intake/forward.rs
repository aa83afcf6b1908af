//! What waits in RabbitMQ instead of the database: published on, and only then acknowledged.

use std::{
    collections::{BTreeMap, BTreeSet, HashSet},
    mem,
    time::{Duration, Instant},
};

use amqp_message::time::Timestamp;
use failure_conventions::{self, danger::Danger, dlo_headers};

use super::{Intake, batch_acks::BatchAcks, briefly::briefly, publisher::Publisher};
use crate::{
    crash_point,
    domain::{
        lifecycle::{PolicyOutcome, PolicyStep, recognition::SentBack},
        policy::{Decision, Verdict, Via},
        retry::{Destination, OutgoingRetry},
    },
    metrics::RetryKind,
    rabbitmq::{PublishOutcome, SessionError, names, outgoing, reconnect::Backoff},
    services::wakeup::Wakeup,
    store::{Arrival, RetryTally},
};

/// How often the numbers are written to the database.
const TELL: Duration = Duration::from_secs(1);

pub(crate) struct Forwarder<'a> {
    intake: &'a Intake,
    publisher: Publisher<'a>,
    /// Notified when something waits, which may be the first to do so.
    waiting: &'a Wakeup,
    /// Delay queues that the database knows of.
    remembered: HashSet<String>,
    /// What is not in the database yet.
    tally: RetryTally,
    told: Instant,
}

/// A dead letter on its way.
struct Parcel {
    /// Of its delivery.
    tag: u64,
    arrival: Arrival,
    /// It is published as an obituary: its retries are used up, or it cannot wait.
    is_obituary: bool,
}

/// Whether it waits in RabbitMQ, or would have.
pub(crate) fn is_for_broker(arrival: &Arrival) -> bool {
    arrival.decision.as_ref().is_some_and(|decision| decision.via() == Via::Broker)
}

impl<'a> Forwarder<'a> {
    pub fn new(intake: &'a Intake, waiting: &'a Wakeup) -> Self {
        Self {
            intake,
            publisher: Publisher::new(intake),
            waiting,
            remembered: HashSet::new(),
            tally: RetryTally::default(),
            told: Instant::now(),
        }
    }

    /// Publishes until all is confirmed. What is confirmed is acknowledged at once: whatever else is in the batch may be
    /// held for hours, and what is delivered again goes out again.
    ///
    /// The answer is what is for the database: what RabbitMQ does not take in any form, and what would have to wait for
    /// its delay queue first.
    pub async fn forward(
        &mut self,
        arrivals: Vec<(u64, Arrival)>,
        acks: &mut BatchAcks,
    ) -> Result<Vec<Arrival>, SessionError> {
        let mut parcels: Vec<Parcel> = arrivals.into_iter().map(Parcel::new).collect();
        let mut here = Vec::new();
        let mut backoff = Backoff::default();
        while !parcels.is_empty() {
            let before = parcels.len();
            let confirmed;
            (confirmed, parcels) = self.publish(parcels, &mut here).await;
            crash_point::point("forwarded");
            acks.acknowledge(confirmed).await?;
            if parcels.len() == before {
                tokio::time::sleep(backoff.next_delay()).await;
                acks.check_open()?;
            }
        }
        if self.told.elapsed() > TELL {
            self.tell().await;
        }
        Ok(here)
    }

    pub fn has_numbers(&self) -> bool {
        !self.tally.is_empty()
    }

    /// Writes the numbers to the database. While it does not answer, they add up.
    pub async fn tell(&mut self) {
        self.told = Instant::now();
        if self.tally.is_empty() {
            return;
        }
        match self.intake.store.add_retries(&self.tally).await {
            Ok(()) => self.tally = RetryTally::default(),
            Err(error) => tracing::debug!(error = %error, "numbers of retries cannot be written yet"),
        }
    }

    /// One round; the answer is what is confirmed, and what has to be published again.
    async fn publish(&mut self, parcels: Vec<Parcel>, here: &mut Vec<Arrival>) -> (BTreeSet<u64>, Vec<Parcel>) {
        let mut sent = Vec::with_capacity(parcels.len());
        let mut outgoing = Vec::with_capacity(parcels.len());
        for parcel in parcels {
            match parcel.pack(self.intake) {
                Ok((parcel, message)) => {
                    sent.push(parcel);
                    outgoing.push(message);
                }
                Err(arrival) => here.push(*arrival),
            }
        }
        self.remember(&outgoing).await;
        // Before it is published: it may be back before the confirm is read.
        self.remember_sent(&sent).await;
        let outcomes = self.publisher.publish(&outgoing).await;
        self.waiting.notify();
        let (mut again, mut done) = (Vec::new(), Vec::new());
        for ((parcel, outgoing), outcome) in sent.into_iter().zip(&outgoing).zip(outcomes) {
            match outcome {
                PublishOutcome::Confirmed => done.push(parcel),
                PublishOutcome::Full(why) | PublishOutcome::Failed(why) => parcel.refused(&why, &mut again, here),
                PublishOutcome::Settling(_) if self.is_remembered(outgoing) => here.push(parcel.arrival),
                PublishOutcome::Settling(_) | PublishOutcome::Unknown | PublishOutcome::NotSent => again.push(parcel),
            }
        }
        self.forget_sent(here).await;
        self.count(&done);
        (done.iter().map(|parcel| parcel.tag).collect(), again)
    }

    /// Whoever deletes delay queues later has to know their names.
    async fn remember(&mut self, outgoing: &[OutgoingRetry]) {
        let mut names: HashSet<String> =
            outgoing.iter().filter_map(|outgoing| names::delay_queue(&outgoing.destination)).collect();
        names.retain(|name| !self.remembered.contains(name));
        for name in names {
            match self.intake.store.remember_delay_queue(&self.intake.broker, &name).await {
                Ok(()) => _ = self.remembered.insert(name),
                Err(error) => tracing::warn!(error = %error, queue.name = name, "a delay queue is not remembered yet"),
            }
        }
    }

    /// What comes back without our headers is to be recognised. What has our headers by now keeps them, most likely.
    async fn remember_sent(&self, parcels: &[Parcel]) {
        let now = self.intake.clock.now();
        let sent: Vec<SentBack> = parcels.iter().filter_map(|parcel| parcel.sent_back(now)).collect();
        if sent.is_empty() {
            return;
        }
        briefly(self.intake.store.remember_sent_back(&self.intake.broker, &sent)).await;
    }

    /// What goes to the database instead is not on its way.
    async fn forget_sent(&self, here: &[Arrival]) {
        let here: Vec<_> = here.iter().map(|arrival| (arrival.content, arrival.id)).collect();
        if here.is_empty() {
            return;
        }
        briefly(self.intake.store.forget_returned(&here)).await;
    }

    /// Whether the database knows of the delay queue and can take what would wait there. While it is away a new delay
    /// queue is waited for: that takes seconds, and the database may take hours.
    fn is_remembered(&self, outgoing: &OutgoingRetry) -> bool {
        names::delay_queue(&outgoing.destination).is_some_and(|name| self.remembered.contains(&name))
    }

    fn count(&mut self, done: &[Parcel]) {
        let (broker, now) = (&self.intake.broker, self.intake.clock.now());
        let mut retried: BTreeMap<&str, u64> = BTreeMap::new();
        for parcel in done {
            let failure = &parcel.arrival.failure;
            let queue = failure.queue.as_deref().unwrap_or_default();
            let step = |outcome, at| PolicyStep { queue, at, failures: failure.rounds, outcome };
            let Some(delay) = parcel.delay() else {
                self.tally.add(broker, &step(PolicyOutcome::Exhausted, now));
                continue;
            };
            self.tally.add(broker, &step(PolicyOutcome::Failed, now));
            self.tally.add(broker, &step(PolicyOutcome::Retried, now.plus(delay)));
            *retried.entry(queue).or_default() += 1;
        }
        for (queue, messages) in retried {
            self.intake.metrics.retried(broker, queue, RetryKind::Automatic, messages);
        }
    }
}

impl Parcel {
    fn new((tag, arrival): (u64, Arrival)) -> Self {
        let is_obituary = delay(&arrival).is_none();
        Self { tag, arrival, is_obituary }
    }

    /// How long it waits; `None` where it does not.
    fn delay(&self) -> Option<Duration> {
        delay(&self.arrival).filter(|_| !self.is_obituary)
    }

    fn sent_back(&self, now: Timestamp) -> Option<SentBack> {
        let Arrival { id, content: key, id_key, failure, .. } = &self.arrival;
        let sent_at = now.plus(self.delay().filter(|_| self.arrival.returning.is_none())?);
        let queue = failure.queue.clone()?;
        Some(SentBack {
            key: *key,
            id_key: *id_key,
            id: *id,
            queue,
            sent_at,
            first_sent_at: sent_at,
            automatic: 1,
            rounds: failure.rounds,
            is_stopped: false,
            letter: None,
        })
    }

    /// The message to publish, or the arrival back where it breaks a limit of AMQP in both forms.
    fn pack(mut self, intake: &Intake) -> Result<(Self, OutgoingRetry), Box<Arrival>> {
        let mut message = self.message(intake);
        if message.is_err() && !mem::replace(&mut self.is_obituary, true) {
            message = self.message(intake);
        }
        match message {
            Ok(message) => Ok((self, message)),
            Err(_) => Err(Box::new(self.arrival)),
        }
    }

    fn message(&self, intake: &Intake) -> Result<OutgoingRetry, String> {
        let message = self.unchecked_message(intake).map_err(|danger| danger.clause().to_owned())?;
        outgoing::check(&message.message)?;
        Ok(message)
    }

    fn unchecked_message(&self, intake: &Intake) -> Result<OutgoingRetry, Danger> {
        let Arrival { failure, message, .. } = &self.arrival;
        let id = self.arrival.returning.unwrap_or(self.arrival.id);
        let (queue, reason) = (failure.queue.as_deref().unwrap_or_default(), failure.reason);
        let Some(delay) = self.delay() else {
            let target = &intake.config.obituary_queue;
            let message = outgoing::obituary(id, message, failure, target);
            return Ok(OutgoingRetry { id, destination: Destination::straight_to(target), reason, message });
        };
        let clean = failure_conventions::clean(message.clone(), &intake.limits.bodies)?;
        let mut outgoing = outgoing::outgoing(id, clean, Some(queue), queue, failure.count());
        dlo_headers::write_address(&mut outgoing.headers, &failure.exchange, &failure.routing_key);
        let mut destination = Destination::straight_to(queue).after(delay, intake.clock.now());
        if self.arrival.decision.as_ref().is_some_and(Decision::keeps_routing_key) {
            destination = destination.with_key(&failure.routing_key);
        }
        Ok(OutgoingRetry { id, destination, reason, message: outgoing })
    }

    /// What cannot wait becomes an obituary, and what cannot be an obituary goes to the database as it is.
    fn refused(mut self, why: &str, again: &mut Vec<Self>, here: &mut Vec<Arrival>) {
        let queue = self.arrival.failure.queue.as_deref().unwrap_or_default();
        tracing::warn!(queue.name = queue, why, "a dead letter cannot be sent on");
        if mem::replace(&mut self.is_obituary, true) {
            here.push(self.arrival);
        } else {
            again.push(self);
        }
    }
}

fn delay(arrival: &Arrival) -> Option<Duration> {
    match arrival.decision.as_ref()?.verdict(arrival.failure.rounds) {
        Verdict::Retry { delay } => Some(delay),
        Verdict::Exhausted => None,
    }
}
