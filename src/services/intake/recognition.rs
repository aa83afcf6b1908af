//! Recognising what was sent back and comes as a new message, without our headers.

use super::{
    Intake,
    briefly::briefly,
    forward::is_for_broker,
    known::Known,
    own_retries::{self, OwnRetries},
};
use crate::{
    domain::{
        lifecycle::recognition::{Recognised, Superseded, recognise as compare},
        number::plural,
    },
    store::{Arrival, StoppedRetry, StoreError},
};

/// Looks whether arrivals are something that was sent back, and notes in each what it is. To do so again changes nothing.
/// What the batch says of frameworks that retry by themselves is in `retries`.
pub(crate) async fn recognise(
    intake: &Intake,
    arrivals: &mut [Arrival],
    retries: &OwnRetries,
) -> Result<(), StoreError> {
    recognise_all(intake, arrivals.iter_mut().collect(), retries).await
}

/// The same for what is to wait in RabbitMQ: what must not be retried any more is moved to `here`, the others are the
/// answer. While the database does not answer they go on unrecognised.
pub(crate) async fn of_those_for_broker(
    intake: &Intake,
    mut onward: Vec<(u64, Arrival)>,
    here: &mut Vec<Arrival>,
    retries: &OwnRetries,
) -> Vec<(u64, Arrival)> {
    let arrivals = onward.iter_mut().map(|(_, arrival)| arrival).collect();
    briefly(recognise_all(intake, arrivals, retries)).await;
    // A letter stands in the database, and so does how often it has failed.
    let stays = |arrival: &Arrival| !is_for_broker(arrival) || arrival.is_recognised;
    here.extend(onward.extract_if(.., |(_, arrival)| stays(arrival)).map(|(_, arrival)| arrival));
    onward
}

async fn recognise_all(
    intake: &Intake,
    mut arrivals: Vec<&mut Arrival>,
    retries: &OwnRetries,
) -> Result<(), StoreError> {
    arrivals.retain(|arrival| arrival.failure.queue.is_some());
    let mut known = Known::load(intake, &arrivals).await?;
    let mut retries = retries.clone();
    own_retries::hold_all(&mut arrivals, &known, &retries);
    compare_all(intake, &mut arrivals, &mut known, &mut retries).await?;
    own_retries::find_tries_before(intake, &mut arrivals, &mut retries).await?;
    own_retries::hold_all(&mut arrivals, &known, &retries);
    own_retries::remember(intake, &arrivals, &known, &retries).await
}

async fn compare_all(
    intake: &Intake,
    arrivals: &mut [&mut Arrival],
    known: &mut Known,
    retries: &mut OwnRetries,
) -> Result<(), StoreError> {
    let (mut returned, mut stopped) = (Vec::new(), Vec::new());
    for arrival in arrivals {
        if arrival.returning.is_some() || retries.is_joined(arrival) {
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
            Recognised::Waited { key, id, rounds } => {
                known.take(id);
                if arrival.redelivered || arrival.own_retry.is_some() {
                    // Most likely the one that is on its way already: its acknowledgement did not get through, or its
                    // framework retries it meanwhile.
                    arrival.id = id;
                    came_again(arrival, rounds);
                    // From now on it is a letter.
                    returned.extend(arrival.own_retry.map(|_| (key, id)));
                } else {
                    came_again(arrival, rounds.saturating_add(1));
                    returned.push((key, id));
                }
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
    if !returned.is_empty() {
        intake.store.forget_returned(&returned).await?;
    }
    if !stopped.is_empty() {
        intake.store.stop_retries(&intake.broker, &stopped).await?;
    }
    Ok(())
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
