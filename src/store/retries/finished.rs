//! Retries whose publishing is over.

use std::collections::HashMap;

use amqp_message::time::Timestamp;

use super::{outcomes::RetryTally, schedule::unschedule};
use crate::{
    domain::{
        actor::Actor,
        history::Event,
        letter::{LetterId, Status},
        retry::{ClaimedRetry, RetryOutcome},
    },
    store::{
        Store, StoreError,
        db::{Tx, on},
        letters::{
            history::{self, NewEntry},
            state::{self, LetterState},
        },
    },
};

impl Store {
    /// Writes down how publishing ended: what was confirmed is retried, what was not is open again and says why.
    pub async fn finish_retries(
        &self,
        outcomes: &[(&ClaimedRetry, RetryOutcome)],
        now: Timestamp,
    ) -> Result<(), StoreError> {
        if outcomes.is_empty() {
            return Ok(());
        }
        let mut tx = self.db.begin().await?;
        let mut scope = self.facet_scope();
        let ids: Vec<LetterId> = outcomes.iter().map(|(retry, _)| retry.id).collect();
        let mut states = state::lock(&mut tx, &ids).await?;
        // One that failed again before its confirm was read is open already, or waits for a newer retry. It stays so.
        let due: HashMap<LetterId, Timestamp> = outcomes.iter().map(|(retry, _)| (retry.id, retry.due_at)).collect();
        states.retain(|id, state| state.claimed_until.is_some() && state.due_at == due.get(id).copied());
        let ended: Vec<&LetterState> = states.values().collect();
        let ended_ids: Vec<LetterId> = states.keys().copied().collect();
        let problems = problems(outcomes);
        write_history(&mut tx, outcomes, now).await?;
        note_problems(&mut tx, &problems, &states, now).await?;
        unschedule(&mut tx, &ended_ids).await?;
        state::change_facets(&mut tx, &mut scope, &ended, now, |state, key| {
            key.status = if problems.contains_key(&state.id) { Status::Open } else { Status::Retried };
        })
        .await?;
        count(&mut tx, outcomes, &states, now).await?;
        tx.commit().await?;
        scope.committed();
        Ok(())
    }
}

/// Why those failed that failed.
fn problems<'a>(outcomes: &'a [(&ClaimedRetry, RetryOutcome)]) -> HashMap<LetterId, &'a str> {
    let failed = |(retry, outcome): &'a (&ClaimedRetry, RetryOutcome)| match outcome {
        RetryOutcome::Confirmed => None,
        RetryOutcome::Failed(why) => Some((retry.id, why.as_str())),
    };
    outcomes.iter().filter_map(failed).collect()
}

async fn note_problems(
    tx: &mut Tx,
    problems: &HashMap<LetterId, &str>,
    ended: &HashMap<LetterId, LetterState>,
    now: Timestamp,
) -> Result<(), StoreError> {
    const NOTE: &str = "UPDATE letters SET problem = $1, handed_over_at = coalesce(handed_over_at, $2) WHERE id = $3";
    for (id, why) in problems.iter().filter(|(id, _)| ended.contains_key(id)) {
        on!(&mut *tx, |tx| sqlx::query(NOTE)
            .bind(*why)
            .bind(now.as_micros())
            .bind(id.as_uuid())
            .execute(&mut **tx)
            .await
            .map(drop)?);
    }
    Ok(())
}

/// Counts those that went back by themselves.
async fn count(
    tx: &mut Tx,
    outcomes: &[(&ClaimedRetry, RetryOutcome)],
    ended: &HashMap<LetterId, LetterState>,
    now: Timestamp,
) -> Result<(), StoreError> {
    let mut tally = RetryTally::default();
    for (retry, outcome) in outcomes {
        if *outcome == RetryOutcome::Confirmed
            && retry.by == Actor::system()
            && let Some(state) = ended.get(&retry.id)
        {
            tally.retried(&state.key.broker, &retry.queue, now, retry.attempts);
        }
    }
    tally.apply(tx).await
}

async fn write_history(
    tx: &mut Tx,
    outcomes: &[(&ClaimedRetry, RetryOutcome)],
    now: Timestamp,
) -> Result<(), StoreError> {
    let entries: Vec<NewEntry<'_>> = outcomes
        .iter()
        .map(|(retry, outcome)| {
            let (event, detail) = describe(retry, outcome);
            NewEntry { letter: retry.id, at: now, event, by: retry.by.as_str(), detail }
        })
        .collect();
    history::append(tx, &entries).await
}

fn describe(retry: &ClaimedRetry, outcome: &RetryOutcome) -> (Event, String) {
    match outcome {
        RetryOutcome::Confirmed if retry.claimed_before => (
            Event::Retried,
            format!("to {}; an earlier attempt was interrupted, so it may have been sent twice", retry.queue),
        ),
        RetryOutcome::Confirmed => (Event::Retried, format!("to {}", retry.queue)),
        RetryOutcome::Failed(why) => (Event::RetryFailed, why.clone()),
    }
}
