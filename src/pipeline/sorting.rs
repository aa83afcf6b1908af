//! Sorting letters: of which type each is, how important, and what failed like it.
//!
//! Each letter is sorted after it was stored, and named again whenever schemas or mappings change. Intake waits for none
//! of this. What a person has said stays.

use std::{collections::HashMap, hash::Hasher, sync::Arc, time::Duration};

use tokio::task::spawn_blocking;
use tokio_util::sync::CancellationToken;
use xxhash_rust::xxh3::Xxh3;

use super::{
    ids,
    news::News,
    reader::{Confirmed, Reader},
    rules::{Ruled, Rules},
    schemas::Schemas,
};
use crate::{
    clock::Clock,
    decode::reading::{Library, Named},
    domain::{
        actor::Actor,
        group::GroupKey,
        job::Job,
        letter::{Letter, LetterId, TypeSource},
        time::Timestamp,
    },
    grouping,
    metrics::Metrics,
    store::{RuleFailure, Sorted, Store, StoreError},
};

/// How soon a new letter is sorted, and how soon all are looked at again after a change.
const EVERY: Duration = Duration::from_millis(300);
/// Letters that are read before any of them is written.
const AT_ONCE: u32 = 100;
/// What the job of naming all letters anew is called.
pub const NAME_TYPES: &str = "name types";
/// What the job of trying the rules on all letters that await a person or a retry is called.
pub const APPLY_RULES: &str = "apply rules";
/// A process that says nothing of its job for so long is given up for dead.
const LEASE: Duration = Duration::from_secs(30);

/// By broker and queue.
type ByQueue = HashMap<(String, String), Arc<Confirmed>>;

/// Sorts letters.
pub struct Sorting {
    pub store: Arc<Store>,
    pub reader: Reader,
    pub schemas: Schemas,
    pub rules: Rules,
    pub clock: Clock,
    pub metrics: Metrics,
    pub news: News,
}

impl Sorting {
    /// Works until it is told to stop.
    pub async fn run(self, stop: CancellationToken) {
        let mut done_with = None;
        while stop.run_until_cancelled(tokio::time::sleep(EVERY)).await.is_some() {
            if let Err(error) = self.work(&mut done_with, &stop).await {
                tracing::warn!(error = %error, "letters cannot be sorted yet");
            }
        }
    }

    /// Does what there is to do. `done_with` is the edition that all letters are known to be named with.
    pub async fn work(&self, done_with: &mut Option<i64>, stop: &CancellationToken) -> Result<(), StoreError> {
        let edition = self.edition();
        while !stop.is_cancelled() && self.sort_new(edition).await? > 0 {}
        self.apply_rules(stop).await?;
        if *done_with != Some(edition) && self.name_anew(edition, stop).await? {
            *done_with = Some(edition);
        }
        Ok(())
    }

    /// Stands for the schemas and mappings in force: the same in every process that shares the ledger.
    fn edition(&self) -> i64 {
        let mut hasher = Xxh3::new();
        for standing in self.schemas.catalogue().current() {
            hasher.write(standing.record.id.as_uuid().as_bytes());
            hasher.write_i64(standing.record.uploaded_at.as_micros());
        }
        for standing in self.schemas.mappings().all() {
            let mapping = &standing.mapping;
            let broker = mapping.broker.as_deref().unwrap_or_default();
            for part in [broker, mapping.carrier.as_str(), &mapping.pattern, &mapping.message_type] {
                hasher.write(part.as_bytes());
                hasher.write_u8(0xff);
            }
        }
        hasher.finish().cast_signed()
    }

    async fn sort_new(&self, edition: i64) -> Result<usize, StoreError> {
        let ids = self.store.unnamed(AT_ONCE).await?;
        self.sort(&ids, edition).await?;
        Ok(ids.len())
    }

    /// Goes on with the job of trying the rules on all letters that are not decided, if there is one. What a process that
    /// died has left of it is taken up where it stopped.
    async fn apply_rules(&self, stop: &CancellationToken) -> Result<(), StoreError> {
        let claim = self.store.claim_job(APPLY_RULES, self.clock.now(), LEASE).await?;
        let Some((mut job, mut position)) = claim else { return Ok(()) };
        while !stop.is_cancelled() {
            let edition = self.edition();
            // Newcomers first: somebody may be waiting for them.
            self.sort_new(edition).await?;
            let ids = self.store.undecided(position, AT_ONCE).await?;
            match ids.last() {
                Some(last) => position = Some(*last),
                None => job.end(),
            }
            self.sort(&ids, edition).await?;
            job.done += ids.len() as u64;
            job.total = job.total.max(job.done);
            if !self.store.job_has_come_to(&job, position, self.clock.now().plus(LEASE)).await? {
                return Ok(());
            }
        }
        // Whoever is here next goes on at once.
        self.store.job_has_come_to(&job, position, self.clock.now()).await.map(drop)
    }

    /// Goes through all letters that were named with another edition, as a job that can be watched. After a crash what is
    /// left is a job of its own. The answer is whether all are done.
    async fn name_anew(&self, edition: i64, stop: &CancellationToken) -> Result<bool, StoreError> {
        let total = self.store.count_named_otherwise(edition).await?;
        if total == 0 {
            return Ok(true);
        }
        let begun = self.clock.now();
        let mut job = Job { total, ..Job::begun(ids::uuid(begun), NAME_TYPES) };
        self.store.add_job(&job, &Actor::office(), begun).await?;
        tracing::info!(letters = total, "schemas or mappings have changed; letters are named anew");
        let mut before = None;
        while !stop.is_cancelled() && self.edition() == edition {
            // Newcomers first: somebody may be waiting for them.
            self.sort_new(edition).await?;
            let ids = self.store.named_otherwise(edition, before, AT_ONCE).await?;
            let Some(last) = ids.last() else {
                job.end();
                break;
            };
            before = Some(*last);
            self.sort(&ids, edition).await?;
            job.done += ids.len() as u64;
            job.total = job.total.max(job.done);
            self.store.update_job(&job).await?;
        }
        job.cancel_unless_ended();
        self.store.update_job(&job).await?;
        Ok(job.failed == 0 && self.edition() == edition && !stop.is_cancelled())
    }

    async fn sort(&self, ids: &[LetterId], edition: i64) -> Result<(), StoreError> {
        if ids.is_empty() {
            return Ok(());
        }
        let mut letters = Vec::with_capacity(ids.len());
        let mut by_queue = ByQueue::new();
        for letter in self.store.letters_by_id(ids).await? {
            let confirmed = self.confirmed(&letter, &mut by_queue).await?;
            letters.push((letter, confirmed));
        }
        let (reader, library, rules) = (self.reader.clone(), self.reader.library().await, self.rules.clone());
        let reading = spawn_blocking(move || {
            let sort =
                |(letter, confirmed): &(Letter, Arc<Confirmed>)| look_at(letter, confirmed, &reader, &library, &rules);
            letters.iter().map(sort).collect::<Vec<_>>()
        });
        let looked_at = reading.await.unwrap_or_else(|fault| {
            tracing::error!(error = %fault, "letters could not be read; they stay unsorted");
            Vec::new()
        });
        let (sorted, failures): (Vec<Sorted>, Vec<Vec<RuleFailure>>) = looked_at.into_iter().unzip();
        let now = self.clock.now();
        for exhausted in self.store.sort(&sorted, edition, now).await? {
            self.metrics.exhausted(&exhausted.broker, exhausted.queue.as_deref(), exhausted.importance);
        }
        self.tell(failures.concat(), now).await?;
        self.news.changed(sorted.len() as u64);
        Ok(())
    }

    async fn tell(&self, failures: Vec<RuleFailure>, now: Timestamp) -> Result<(), StoreError> {
        if failures.is_empty() {
            return Ok(());
        }
        for failure in &failures {
            self.metrics.rule_failed(&failure.rule);
        }
        self.store.count_rule_failures(&failures, now).await
    }

    /// What people have said of letters of its queue, asked of the ledger once in a batch.
    async fn confirmed(&self, letter: &Letter, by_queue: &mut ByQueue) -> Result<Arc<Confirmed>, StoreError> {
        let Some(queue) = letter.summary.queue.clone() else { return Ok(Arc::default()) };
        let address = (letter.summary.broker.clone(), queue);
        if let Some(confirmed) = by_queue.get(&address) {
            return Ok(Arc::clone(confirmed));
        }
        let confirmed = Arc::new(self.store.confirmed_types(&address.0, &address.1).await?);
        by_queue.insert(address, Arc::clone(&confirmed));
        Ok(confirmed)
    }
}

/// Finds out all there is to know of a letter.
fn look_at(
    letter: &Letter,
    confirmed: &Confirmed,
    reader: &Reader,
    library: &Library,
    rules: &Rules,
) -> (Sorted, Vec<RuleFailure>) {
    let summary = &letter.summary;
    let ruleset = rules.in_force();
    let (named, payload) = reader.sort(library, letter, confirmed, ruleset.reads_payload());
    let Ruled { importance, by, failures } =
        ruleset.judge(letter, named.as_ref().map(|named| &*named.name), payload.as_deref());
    let by_hand = summary.type_source == Some(TypeSource::Manual);
    let key = group_key(letter, named.as_ref());
    let sorted = Sorted {
        letter: summary.id,
        received_at: summary.received_at,
        type_by_hand: summary.message_type.clone().filter(|_| by_hand),
        confidence: named.as_ref().and_then(|named| named.confidence),
        source: named.as_ref().map(|named| named.source),
        message_type: named.map(|named| named.name),
        importance,
        importance_by: by,
        group: grouping::id(&key),
        key,
    };
    let failed = |(rule, error)| RuleFailure { rule, letter: summary.id, error };
    (sorted, failures.into_iter().map(failed).collect())
}

fn group_key(letter: &Letter, named: Option<&Named>) -> GroupKey {
    let summary = &letter.summary;
    GroupKey {
        broker: summary.broker.clone(),
        queue: summary.queue.clone(),
        message_type: named.map(|named| named.name.clone()),
        reason: summary.reason,
        error: grouping::alike(summary.error_type.as_deref(), summary.error_message.as_deref()),
    }
}
