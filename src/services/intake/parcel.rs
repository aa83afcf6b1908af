//! A dead letter on its way to wait in RabbitMQ.

use std::{mem, time::Duration};

use amqp_message::time::Timestamp;
use failure_conventions::{self, danger::Danger, dlo_headers};

use super::Intake;
use crate::{
    domain::{
        lifecycle::{PolicyOutcome, PolicyStep, recognition::SentBack},
        policy::{Decision, Verdict, Via},
        retry::{Destination, OutgoingRetry},
    },
    rabbitmq::outgoing,
    store::Arrival,
};

pub(super) struct Parcel {
    /// Of its delivery.
    pub tag: u64,
    pub arrival: Arrival,
    /// It is published as an obituary: its retries are used up, or it cannot wait.
    pub is_obituary: bool,
}

/// Whether it waits in RabbitMQ, or would have.
pub(crate) fn is_for_broker(arrival: &Arrival) -> bool {
    arrival.decision.as_ref().is_some_and(|decision| decision.via() == Via::Broker)
}

impl Parcel {
    pub fn new((tag, arrival): (u64, Arrival)) -> Self {
        let is_obituary = delay(&arrival).is_none();
        Self { tag, arrival, is_obituary }
    }

    /// How long it waits; `None` where it does not.
    pub fn delay(&self) -> Option<Duration> {
        delay(&self.arrival).filter(|_| !self.is_obituary)
    }

    pub fn queue(&self) -> &str {
        self.arrival.failure.queue.as_deref().unwrap_or_default()
    }

    /// What it is recognised by when it comes back without our headers, or more than once.
    pub fn sent_back(&self, now: Timestamp) -> Option<SentBack> {
        let Arrival { id, returning, content: key, id_key, failure, .. } = &self.arrival;
        let sent_at = now.plus(self.delay()?);
        Some(SentBack {
            key: *key,
            id_key: *id_key,
            id: returning.unwrap_or(*id),
            queue: failure.queue.clone()?,
            sent_at,
            first_sent_at: sent_at,
            automatic: failure.rounds,
            rounds: failure.rounds,
            is_stopped: false,
            letter: None,
        })
    }

    /// What is counted of it; of one copy of several only that it is sent back.
    pub fn steps(&self, at: Timestamp, is_obituary: bool) -> Vec<PolicyStep<'_>> {
        let Arrival { failure, counted_as, is_counted, sent_on, .. } = &self.arrival;
        let is_copy = *is_counted && sent_on.is_none();
        let step = |outcome, failures, at| PolicyStep { queue: self.queue(), at, failures, outcome };
        let delay = delay(&self.arrival).filter(|_| !is_obituary);
        let failed = if delay.is_some() { PolicyOutcome::Failed } else { PolicyOutcome::Exhausted };
        let failed = (!is_copy).then(|| step(failed, counted_as.unwrap_or(failure.rounds), at));
        let retried = delay.map(|delay| step(PolicyOutcome::Retried, failure.rounds, at.plus(delay)));
        failed.into_iter().chain(retried).collect()
    }

    /// The message to publish; `None` where it breaks a limit of AMQP in both forms.
    pub fn pack(&mut self, intake: &Intake) -> Option<OutgoingRetry> {
        let message = self.message(intake);
        if message.is_err() && !mem::replace(&mut self.is_obituary, true) {
            return self.message(intake).ok();
        }
        message.ok()
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
}

/// How long it has to wait by its policy; `None` where its retries are used up.
pub(super) fn delay(arrival: &Arrival) -> Option<Duration> {
    match arrival.decision.as_ref()?.verdict(arrival.failure.rounds) {
        Verdict::Retry { delay } => Some(delay),
        Verdict::Exhausted => None,
    }
}
