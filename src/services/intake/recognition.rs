//! Recognising what was sent back and comes as a new message, without our headers.

use std::collections::BTreeSet;

use uuid::Uuid;

use super::{
    Intake,
    briefly::briefly,
    known::Known,
    own_retries::{self, OwnRetries},
    parcel::{self, is_for_broker},
};
use crate::{
    domain::{
        letter::LetterId,
        lifecycle::recognition::{Recognised, Superseded, recognise as compare},
        number::plural,
    },
    store::{Arrival, KnownDelivery, StoppedRetry, StoreError},
};

/// Looks whether arrivals are something that was sent back, and notes in each what it is. To do so again changes nothing.
/// What the batch says of frameworks that retry by themselves is in `retries`.
pub(crate) async fn recognise(
    intake: &Intake,
    arrivals: &mut [Arrival],
    retries: &OwnRetries,
) -> Result<(), StoreError> {
    recognise_all(intake, arrivals.iter_mut().collect(), retries).await.map(drop)
}

/// The same for what is to wait in RabbitMQ: what must not be retried any more is moved to `here`, the others are the
/// answer. While the database does not answer they go on unrecognised.
pub(crate) async fn of_those_for_broker(
    intake: &Intake,
    (queue, session): (&str, Uuid),
    mut onward: Vec<(u64, Arrival)>,
    here: &mut Vec<Arrival>,
    retries: &OwnRetries,
) -> Vec<(u64, Arrival)> {
    let mut arrivals: Vec<&mut Arrival> = onward.iter_mut().map(|(_, arrival)| arrival).collect();
    let mut stored = BTreeSet::new();
    briefly(async {
        stored = find_known(intake, (queue, session), &mut arrivals).await?;
        stored.extend(recognise_all(intake, arrivals, retries).await?);
        Ok(())
    })
    .await;
    // A letter stands in the database, and so does how often it has failed.
    let is_stored = |arrival: &Arrival| stored.contains(&arrival.returning.unwrap_or(arrival.id));
    let stays = |arrival: &Arrival| !is_for_broker(arrival) || arrival.is_recognised || is_stored(arrival);
    here.extend(onward.extract_if(.., |(_, arrival)| stays(arrival)).map(|(_, arrival)| arrival));
    onward
}

/// Has what was to be sent on before be what it was then: it is the same failure. The answer is what is in the database.
async fn find_known(
    intake: &Intake,
    (queue, session): (&str, Uuid),
    arrivals: &mut [&mut Arrival],
) -> Result<BTreeSet<LetterId>, StoreError> {
    let asked: Vec<&Arrival> = arrivals.iter().map(|arrival| &**arrival).collect();
    let known = intake.store.known_deliveries(&intake.broker, queue, session, &asked).await?;
    let mut stored = BTreeSet::new();
    for (arrival, known) in arrivals.iter_mut().zip(known) {
        match known {
            None => {}
            Some(KnownDelivery::Stored) => _ = stored.insert(arrival.returning.unwrap_or(arrival.id)),
            Some(KnownDelivery::SentOn(sent_on)) => {
                intake.metrics.redelivered(&intake.broker);
                arrival.id = sent_on.id;
                arrival.failure.rounds = sent_on.rounds;
                arrival.failure.attempts = arrival.failure.attempts.max(sent_on.rounds);
                arrival.is_counted = true;
                arrival.sent_on = Some(sent_on);
            }
        }
    }
    Ok(stored)
}

/// The answer is which letters some of the arrivals may be.
async fn recognise_all(
    intake: &Intake,
    mut arrivals: Vec<&mut Arrival>,
    retries: &OwnRetries,
) -> Result<BTreeSet<LetterId>, StoreError> {
    arrivals.retain(|arrival| arrival.failure.queue.is_some());
    let mut known = Known::load(intake, &arrivals).await?;
    let mut retries = retries.clone();
    own_retries::hold_all(intake, &mut arrivals, &known, &retries);
    compare_all(intake, &mut arrivals, &mut known, &mut retries).await?;
    own_retries::find_tries_before(intake, &mut arrivals, &mut retries).await?;
    own_retries::hold_all(intake, &mut arrivals, &known, &retries);
    own_retries::remember(intake, &arrivals, &known, &retries).await?;
    Ok(known.letters().clone())
}

async fn compare_all(
    intake: &Intake,
    arrivals: &mut [&mut Arrival],
    known: &mut Known,
    retries: &mut OwnRetries,
) -> Result<(), StoreError> {
    let mut stopped = Vec::new();
    for arrival in arrivals {
        if arrival.sent_on.is_some() || retries.is_joined(arrival) {
            continue;
        }
        if let Some(id) = arrival.returning {
            if is_for_broker(arrival) && !arrival.is_recognised && !known.letters().contains(&id) {
                if let Some(rounds) = known.rounds_of_copies(arrival) {
                    // Its failure is counted: this is the other copy's.
                    arrival.is_counted = true;
                    came_again(arrival, rounds.saturating_add(1));
                }
                goes_on(arrival, known);
            }
            continue;
        }
        let queue = arrival.failure.queue.clone().unwrap_or_default();
        let (decision, received_at) = (arrival.decision.as_ref(), arrival.received_at);
        match compare(&arrival.message, &queue, received_at, decision, &known.compared(arrival)) {
            Recognised::New => continue,
            Recognised::Letter(id) => {
                arrival.returning = Some(id);
                arrival.is_recognised = true;
                known.take(id);
            }
            Recognised::Waited { key, id, left, rounds, is_counted } => {
                arrival.is_counted |= !is_counted;
                let is_own_retry = arrival.own_retry.is_some();
                if left.is_some() || is_own_retry {
                    known.take(id);
                    arrival.waited = Some((key, id));
                }
                if is_own_retry {
                    // Most likely the one that is on its way already, which its framework retries meanwhile.
                    arrival.id = id;
                } else {
                    // The failure of what was counted when it was sent back; of one more that nobody has counted, its first.
                    arrival.counted_as = Some(left.unwrap_or_default().saturating_add(1));
                }
                came_again(arrival, rounds.saturating_add(u64::from(!is_own_retry)));
                goes_on(arrival, known);
            }
            Recognised::Stopped { retries: times, identities, superseded } => {
                stop(intake, arrival, times, identities);
                stopped.push(stopped_retry(arrival, queue, superseded));
                continue;
            }
        }
        if arrival.own_retry.is_some() {
            retries.queues.insert(queue);
        }
    }
    if !stopped.is_empty() {
        intake.store.stop_retries(&intake.broker, &stopped).await?;
    }
    Ok(())
}

/// Has those after it in its batch know that it goes back, where it does.
fn goes_on(arrival: &Arrival, known: &mut Known) {
    if parcel::delay(arrival).is_some() {
        known.goes_on(arrival);
    }
}

fn came_again(arrival: &mut Arrival, rounds: u64) {
    let failure = &mut arrival.failure;
    failure.rounds = failure.rounds.max(rounds);
    failure.attempts = failure.attempts.max(failure.rounds);
}

/// Has it wait for a user.
fn stop(intake: &Intake, arrival: &mut Arrival, times: u64, identities: usize) {
    let queue = arrival.failure.queue.as_deref();
    intake.metrics.retry_stopped(&intake.broker, queue);
    arrival.decision = None;
    arrival.remarks.push(format!(
        "no automatic retry: the same content or message_id was sent back to {} {times} times, as {}, and comes as another \
         one now; its policy allows no more",
        queue.unwrap_or_default(),
        plural(identities as u64, "message")
    ));
}

fn stopped_retry(arrival: &Arrival, queue: String, superseded: Vec<Superseded>) -> StoppedRetry {
    let has_id = arrival.message.properties.message_id.is_some();
    StoppedRetry { letter: arrival.id, queue, at: arrival.received_at, has_id, superseded }
}
