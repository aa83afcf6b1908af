//! What the letters of a search, or of any filter, have in common that others of the same queues have not.

use std::collections::BTreeSet;

use super::{
    Causes, ENOUGH, FAILED, InCommon, as_sent,
    sample::{Others, SAMPLE, evenly, sample},
    time_of,
};
use crate::{
    domain::{
        filter::{LetterFilter, Names},
        letter::{LetterSummary, Status},
    },
    store::{StoreError, StoreReader},
};

/// Letters that are looked at to find others.
const LOOKED_AT: usize = 2 * SAMPLE;
/// More of them are not counted.
const COUNTED: u64 = 10_000;

impl Causes {
    /// What the letters that a filter lets through have in common, as far as `store` shows them; what has been retried with
    /// success counts as other. What `is_asked_for` by the filter itself, by the name of its attribute, is left out.
    pub async fn in_common_of(
        &self,
        store: &StoreReader,
        filter: &LetterFilter,
        is_asked_for: impl Fn(&str) -> bool + Sync,
    ) -> Result<InCommon, StoreError> {
        let turn = self.turn().await;
        let meant = LetterFilter { statuses: failed(&filter.statuses), ..filter.clone() };
        let here = sample(store, &meant, SAMPLE).await?;
        let total = store.count_at_most(&meant, COUNTED).await?;
        let others = others(store, &meant, &here).await?;
        // Where only some payloads are shown, they would tell queues apart and nothing else.
        let shows = here.iter().all(|letter| store.shows_payload(&letter.broker, letter.queue.as_deref()));
        self.compare(&turn, store, (here, others), total, shows, &is_asked_for).await
    }
}

/// Those of these statuses whose letters have not been retried with success; where none is left, what was asked for.
fn failed(asked: &[Status]) -> Vec<Status> {
    let is_asked = |status: &Status| asked.is_empty() || asked.contains(status);
    let failed: Vec<Status> = FAILED.into_iter().filter(is_asked).collect();
    if failed.is_empty() { asked.to_vec() } else { failed }
}

/// Letters of the same queues, and of the same time and types where these are enough, that are not meant.
async fn others(store: &StoreReader, meant: &LetterFilter, here: &[LetterSummary]) -> Result<Others, StoreError> {
    let types: BTreeSet<Option<&str>> = here.iter().map(|letter| letter.message_type.as_deref()).collect();
    let mut found = Vec::new();
    let mut is_same_time = false;
    for time in [time_of(here), LetterFilter::default()] {
        let near = LetterFilter { since: time.since, until: time.until, ..of_queues(here) };
        found = as_sent(sample(store, &near, LOOKED_AT).await?);
        let ids: Vec<_> = found.iter().map(|letter| letter.id).collect();
        let among = store.found_among(meant, &ids).await?;
        found.retain(|letter| !among.contains(&letter.id));
        if found.len() >= ENOUGH {
            is_same_time = time.since.is_some();
            break;
        }
    }
    let is_alike = |letter: &&LetterSummary| types.contains(&letter.message_type.as_deref());
    if found.iter().filter(is_alike).count() >= ENOUGH {
        found.retain(|letter| is_alike(&letter));
    }
    let found = evenly(found.into_iter(), SAMPLE);
    let (succeeded, other_groups) = found.partition(|letter| letter.status == Status::Retried);
    Ok(Others { other_groups, succeeded, same_type: Vec::new(), is_same_time })
}

/// All letters of the queues of these.
fn of_queues(letters: &[LetterSummary]) -> LetterFilter {
    let brokers: BTreeSet<&String> = letters.iter().map(|letter| &letter.broker).collect();
    let queues: BTreeSet<&str> = letters.iter().map(|letter| letter.queue.as_deref().unwrap_or_default()).collect();
    LetterFilter {
        brokers: brokers.into_iter().cloned().collect(),
        queues: Names::exact(queues),
        ..LetterFilter::default()
    }
}
