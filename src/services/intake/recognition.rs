//! Recognising what was sent back and comes as a new message, without our headers.

use std::{collections::HashMap, time::Duration};

use super::{Intake, forward::is_for_broker};
use crate::{
    domain::{
        content_key::ContentKey,
        lifecycle::recognition::{Recognised, SentBack, recognise as compare},
    },
    store::{Arrival, StoreError},
};

/// How long what waits in RabbitMQ is held up by a database that does not answer.
const PATIENCE: Duration = Duration::from_secs(1);

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
    here.extend(onward.extract_if(.., |(_, arrival)| !is_for_broker(arrival)).map(|(_, arrival)| arrival));
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
    arrivals.retain(|arrival| arrival.returning.is_none() && arrival.failure.queue.is_some());
    let mut sent = sent_back(intake, &arrivals).await?;
    if sent.is_empty() {
        return Ok(());
    }
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
                if arrival.redelivered {
                    // Most likely the one that is on its way already, whose acknowledgement did not get through.
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
    let mut wanted: Vec<(ContentKey, &str)> = arrivals
        .iter()
        .map(|arrival| (arrival.content, arrival.failure.queue.as_deref().unwrap_or_default()))
        .collect();
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
        "it is not retried by itself: the same content was sent back to {} {retries} times under {identities} \
         identities and came as another message, which is as often as its policy allows",
        queue.unwrap_or_default()
    ));
}
