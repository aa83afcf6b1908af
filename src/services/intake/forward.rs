//! What waits in RabbitMQ instead of the database: published on, and only then acknowledged.

use std::{
    collections::{BTreeSet, HashSet},
    mem,
    time::{Duration, Instant},
};

use amqp_message::time::Timestamp;
use uuid::Uuid;

use super::{Intake, batch_acks::BatchAcks, briefly::briefly, parcel::Parcel, publisher::Publisher};
use crate::{
    crash_point,
    domain::{
        lifecycle::{PolicyOutcome, recognition::SentBack},
        retry::OutgoingRetry,
    },
    rabbitmq::{PublishOutcome, SessionError, names, reconnect::Backoff},
    services::{ids, wakeup::Wakeup},
    store::{Arrival, RetryTally, SendingOn},
};

/// How often the numbers are written to the database.
const TELL: Duration = Duration::from_secs(1);

pub(crate) struct Forwarder<'a> {
    intake: &'a Intake,
    publisher: Publisher<'a>,
    /// Notified when something waits, which may be the first to do so.
    waiting: &'a Wakeup,
    /// The queue they come from, and the connection.
    from: (&'a str, Uuid),
    /// Delay queues that the database knows of.
    remembered: HashSet<String>,
    /// What is counted and not in the database yet, by the batch that is to have it: a commit whose answer was lost may
    /// have been done.
    untold: Vec<(Uuid, RetryTally)>,
    /// Batches that were told late, of which nothing else is in the database.
    told_late: Vec<Uuid>,
    told: Instant,
}

/// So many batches that the database could not be told of are kept apart; the last one has all others.
const APART: usize = 100;

impl<'a> Forwarder<'a> {
    pub fn new(intake: &'a Intake, from: (&'a str, Uuid), waiting: &'a Wakeup) -> Self {
        Self {
            intake,
            publisher: Publisher::new(intake),
            waiting,
            from,
            remembered: HashSet::new(),
            untold: Vec::new(),
            told_late: Vec::new(),
            told: Instant::now(),
        }
    }

    /// Publishes until all is confirmed. What is confirmed is acknowledged at once: whatever else is in the batch may be
    /// held for hours, and what is delivered again goes out again.
    ///
    /// The answer is what is for the database: what RabbitMQ does not take in any form, and what would have to wait for
    /// its delay queue first. With it come the batches that the database knows of and that are acknowledged with this one.
    pub async fn forward(
        &mut self,
        arrivals: Vec<(u64, Arrival)>,
        acks: &mut BatchAcks,
    ) -> Result<(Vec<Arrival>, Vec<Uuid>), SessionError> {
        let mut parcels: Vec<Parcel> = arrivals.into_iter().map(Parcel::new).collect();
        let mut here = Vec::new();
        let mut backoff = Backoff::default();
        let at = self.intake.clock.now();
        let mut batches = self.write_down(&parcels, at).await;
        while !parcels.is_empty() {
            let before = parcels.len();
            let confirmed;
            (confirmed, parcels) = self.publish(parcels, at, &mut here).await;
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
        batches.append(&mut self.told_late);
        Ok((here, batches))
    }

    pub const fn has_numbers(&self) -> bool {
        !self.untold.is_empty()
    }

    /// Writes the numbers to the database that it has not been told. While it does not answer, they add up.
    pub async fn tell(&mut self) {
        self.told = Instant::now();
        while let Some((id, counted)) = self.untold.first() {
            let sending = self.sending(*id, self.intake.clock.now(), counted);
            if let Err(error) = self.intake.store.send_on(&sending).await {
                tracing::debug!(error = %error, "numbers of retries cannot be written yet");
                return;
            }
            self.told_late.push(self.untold.remove(0).0);
        }
    }

    /// Writes down what is about to be published. It may be back before the confirm is read; and when this process dies,
    /// whoever gets it next has to know that it was here.
    async fn write_down(&mut self, parcels: &[Parcel], at: Timestamp) -> Vec<Uuid> {
        let id = ids::uuid(at);
        let mut counted = RetryTally::default();
        for parcel in parcels.iter().filter(|parcel| parcel.arrival.sent_on.is_none()) {
            parcel.steps(at, parcel.is_obituary).iter().for_each(|step| counted.add(&self.intake.broker, step));
        }
        let due = |parcel: &'_ Parcel| at.plus(parcel.delay().unwrap_or_default());
        let arrivals = parcels.iter().map(|parcel| (&parcel.arrival, due(parcel))).collect();
        // What is published once more is perhaps under way twice, and each copy may come back without our headers. The first
        // one is remembered, unless it is back already.
        let second = |sent: SentBack| SentBack { id: ids::letter(at), automatic: 0, ..sent };
        let sent_back = |parcel: &Parcel| {
            let sent = parcel.sent_back(at)?;
            Some(if parcel.arrival.sent_on.is_some() { second(sent) } else { sent })
        };
        let sent: Vec<SentBack> = parcels.iter().filter_map(sent_back).collect();
        let sending = SendingOn { arrivals, sent, ..self.sending(id, at, &counted) };
        if parcels.is_empty() {
            return Vec::new();
        }
        let mut is_written = false;
        briefly(async {
            self.intake.store.send_on(&sending).await?;
            is_written = true;
            Ok(())
        })
        .await;
        if is_written {
            return vec![id];
        }
        self.tell_later(id, counted);
        Vec::new()
    }

    fn sending<'b>(&'b self, id: Uuid, at: Timestamp, counted: &'b RetryTally) -> SendingOn<'b> {
        let (queue, session) = self.from;
        let broker = &self.intake.broker;
        SendingOn { id, broker, queue, session, at, arrivals: Vec::new(), sent: Vec::new(), counted }
    }

    fn tell_later(&mut self, id: Uuid, counted: RetryTally) {
        match self.untold.get_mut(APART) {
            Some((_, last)) => last.append(counted),
            None if !counted.is_empty() => {
                // None of the last one has been tried, so that more may be added to it.
                let is_last = self.untold.len() == APART;
                self.untold.push((if is_last { ids::uuid(self.intake.clock.now()) } else { id }, counted));
            }
            None => {}
        }
    }

    /// One round; the answer is what is confirmed, and what has to be published again.
    async fn publish(
        &mut self,
        parcels: Vec<Parcel>,
        at: Timestamp,
        here: &mut Vec<Arrival>,
    ) -> (BTreeSet<u64>, Vec<Parcel>) {
        let mut sent = Vec::with_capacity(parcels.len());
        let mut outgoing = Vec::with_capacity(parcels.len());
        let mut other = Other { broker: &self.intake.broker, at, figures: RetryTally::default(), here };
        for mut parcel in parcels {
            let was_obituary = parcel.is_obituary;
            match parcel.pack(self.intake) {
                Some(message) => {
                    other.is_obituary(&parcel, was_obituary);
                    sent.push(parcel);
                    outgoing.push(message);
                }
                None => other.goes_here(parcel, was_obituary),
            }
        }
        self.remember(&outgoing).await;
        let outcomes = self.publisher.publish(&outgoing).await;
        self.waiting.notify();
        let (mut again, mut done) = (Vec::new(), Vec::new());
        for ((parcel, outgoing), outcome) in sent.into_iter().zip(&outgoing).zip(outcomes) {
            match outcome {
                PublishOutcome::Confirmed => done.push(parcel),
                PublishOutcome::Full(why) | PublishOutcome::Failed(why) => other.refused(parcel, &why, &mut again),
                PublishOutcome::Forbidden(_) => {
                    let was_obituary = parcel.is_obituary;
                    other.goes_here(parcel, was_obituary);
                }
                PublishOutcome::Settling(_) if self.is_remembered(outgoing) => other.goes_here(parcel, false),
                PublishOutcome::Settling(_) | PublishOutcome::Unknown | PublishOutcome::NotSent => again.push(parcel),
            }
        }
        let figures = other.figures;
        self.forget_sent(here).await;
        if !figures.is_empty() {
            self.tell_later(ids::uuid(at), figures);
            self.tell().await;
        }
        self.measure(&done);
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

    /// Counts what was received. What is an obituary now is counted when that is received, and a redelivery not at all.
    fn measure(&self, done: &[Parcel]) {
        for parcel in done.iter().filter(|parcel| parcel.delay().is_some() && parcel.arrival.sent_on.is_none()) {
            self.intake.metrics.letter_received(&self.intake.broker, parcel.arrival.failure.queue.as_deref());
        }
    }
}

/// What becomes of messages other than was written down.
struct Other<'a> {
    broker: &'a str,
    at: Timestamp,
    figures: RetryTally,
    /// What goes to the database.
    here: &'a mut Vec<Arrival>,
}

impl Other<'_> {
    fn is_obituary(&mut self, parcel: &Parcel, was_obituary: bool) {
        if parcel.is_obituary && !was_obituary {
            parcel.steps(self.at, false).iter().for_each(|step| self.figures.take_back(self.broker, step));
            parcel.steps(self.at, true).iter().for_each(|step| self.figures.add(self.broker, step));
        }
    }

    /// There it is counted once more, but for that it failed where it is delivered again.
    fn goes_here(&mut self, parcel: Parcel, was_obituary: bool) {
        let is_counted = parcel.arrival.is_counted;
        for step in parcel.steps(self.at, was_obituary) {
            if !is_counted || step.outcome == PolicyOutcome::Retried {
                self.figures.take_back(self.broker, &step);
            }
        }
        self.here.push(parcel.arrival);
    }

    /// What cannot wait becomes an obituary, and what cannot be an obituary goes to the database as it is.
    fn refused(&mut self, mut parcel: Parcel, why: &str, again: &mut Vec<Parcel>) {
        tracing::warn!(queue.name = parcel.queue(), why, "a dead letter cannot be sent on");
        let was_obituary = mem::replace(&mut parcel.is_obituary, true);
        if was_obituary {
            self.goes_here(parcel, true);
        } else {
            self.is_obituary(&parcel, false);
            again.push(parcel);
        }
    }
}
