//! Recognising what was sent back and comes as a new message, without our headers.

use std::{collections::HashMap, time::Duration};

use failure_conventions::may_have_own_retries;

use super::{Intake, forward::is_for_broker, own_retries};
use crate::{
    domain::{
        content_key::ContentKey,
        lifecycle::recognition::{Recognised, SentBack, recognise as compare},
        number::plural,
    },
    store::{Arrival, StoreError},
};

/// How long what waits in RabbitMQ is held up by a database that does not answer. Longer in tests, of which many ask at once.
pub(crate) const PATIENCE: Duration = Duration::from_secs(if cfg!(feature = "crash-points") { 10 } else { 1 });

/// Looks whether arrivals are something that was sent back, and notes in each what it is. To do so again changes nothing.
pub(crate) async fn recognise(intake: &Intake, arrivals: &mut [Arrival]) -> Result<(), StoreError> {
    recognise_all(intake, arrivals.iter_mut().collect()).await
}

/// The same for what is to wait in RabbitMQ: what must not be retried any more is moved to `here`, the others are the
/// answer. While the database does not answer they go on unrecognised.
pub(crate) async fn of_those_for_broker(
    intake: &Intake,
    mut onward: Vec<(u64, Arrival)>,
    here: &mut Vec<Arrival>,
) -> Vec<(u64, Arrival)> {
    briefly(recognise_all(intake, onward.iter_mut().map(|(_, arrival)| arrival).collect())).await;
    // A letter stands in the database, and so does how often it has failed.
    let stays = |arrival: &Arrival| !is_for_broker(arrival) || arrival.is_recognised;
    here.extend(onward.extract_if(.., |(_, arrival)| stays(arrival)).map(|(_, arrival)| arrival));
    onward
}

/// Does what must not hold up messages that wait in RabbitMQ: without it they are retried once more than they should be.
pub(crate) async fn briefly(work: impl Future<Output = Result<(), StoreError>>) {
    let Ok(done) = tokio::time::timeout(PATIENCE, work).await else {
        return tracing::debug!("the database does not answer in time; what comes back is perhaps not recognised");
    };
    if let Err(error) = done {
        tracing::debug!(error = %error, "what comes back is perhaps not recognised");
    }
}

async fn recognise_all(intake: &Intake, mut arrivals: Vec<&mut Arrival>) -> Result<(), StoreError> {
    arrivals.retain(|arrival| arrival.failure.queue.is_some());
    let mut sent = sent_back(intake, &arrivals).await?;
    own_retries::note(intake, &mut arrivals, &sent).await?;
    arrivals.retain(|arrival| arrival.returning.is_none());
    compare_all(intake, &mut arrivals, &mut sent).await?;
    own_retries::find_tries_before(intake, &mut arrivals).await
}

async fn compare_all(
    intake: &Intake,
    arrivals: &mut [&mut Arrival],
    sent: &mut HashMap<ContentKey, Vec<SentBack>>,
) -> Result<(), StoreError> {
    let mut returned = Vec::new();
    for arrival in arrivals {
        let Some(sent) = sent.get_mut(&arrival.content) else { continue };
        let queue = arrival.failure.queue.as_deref().unwrap_or_default();
        match compare(&arrival.message, queue, arrival.received_at, arrival.decision.as_ref(), sent) {
            Recognised::New => {}
            Recognised::Letter(id) => {
                arrival.returning = Some(id);
                arrival.is_recognised = true;
                sent.retain(|sent| sent.id != id);
            }
            Recognised::Waited { id, rounds } => {
                sent.retain(|sent| sent.id != id);
                if arrival.redelivered || arrival.own_retry.is_some() {
                    // Most likely the one that is on its way already: its acknowledgement did not get through, or its
                    // framework retries it meanwhile.
                    arrival.id = id;
                    came_again(arrival, rounds);
                } else {
                    came_again(arrival, rounds.saturating_add(1));
                    returned.push((arrival.content, id));
                }
            }
            Recognised::Stopped { retries, identities } => stop(intake, arrival, retries, identities),
        }
    }
    if !returned.is_empty() {
        intake.store.forget_returned(&returned).await?;
    }
    Ok(())
}

fn came_again(arrival: &mut Arrival, rounds: u64) {
    let failure = &mut arrival.failure;
    failure.rounds = failure.rounds.max(rounds);
    failure.attempts = failure.attempts.max(failure.rounds);
}

async fn sent_back(
    intake: &Intake,
    arrivals: &[&mut Arrival],
) -> Result<HashMap<ContentKey, Vec<SentBack>>, StoreError> {
    let mut wanted: Vec<(ContentKey, &str)> = Vec::with_capacity(arrivals.len());
    for arrival in arrivals {
        let queue = arrival.failure.queue.as_deref().unwrap_or_default();
        if arrival.returning.is_none() {
            wanted.push((arrival.content, queue));
        }
        if may_have_own_retries(&arrival.message) {
            wanted.push((ContentKey::of_own_retries(queue), queue));
        }
    }
    wanted.sort_unstable();
    wanted.dedup();
    let mut found: HashMap<ContentKey, Vec<SentBack>> = HashMap::new();
    if !wanted.is_empty() {
        for sent in intake.store.sent_back(&intake.broker, &wanted).await? {
            found.entry(sent.key).or_default().push(sent);
        }
    }
    Ok(found)
}

/// Has it wait for a user.
fn stop(intake: &Intake, arrival: &mut Arrival, retries: u64, identities: usize) {
    let queue = arrival.failure.queue.as_deref();
    intake.metrics.retry_stopped(&intake.broker, queue);
    arrival.decision = None;
    arrival.remarks.push(format!(
        "no automatic retry: the same content was sent back to {} {retries} times, as {}, and comes as another one now; \
         its policy allows no more",
        queue.unwrap_or_default(),
        plural(identities as u64, "message")
    ));
}
