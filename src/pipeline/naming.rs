//! Naming letters: of which type each is, found out after it was stored and again whenever schemas or mappings change.
//!
//! Intake waits for none of this. What a person has said stays.

use std::{collections::HashMap, hash::Hasher, sync::Arc, time::Duration};

use tokio::task::spawn_blocking;
use tokio_util::sync::CancellationToken;
use xxhash_rust::xxh3::Xxh3;

use super::{
    ids,
    news::News,
    reader::{Confirmed, Reader},
    schemas::Schemas,
};
use crate::{
    clock::Clock,
    domain::{
        actor::Actor,
        job::Job,
        letter::{Letter, LetterId},
    },
    store::{NewName, Store, StoreError},
};

/// How soon a new letter has its type, and how soon all are looked at again after a change.
const EVERY: Duration = Duration::from_millis(500);
/// Letters that are read before any of them is written.
const AT_ONCE: u32 = 100;
/// What the job of naming all letters anew is called.
pub const ACTION: &str = "name types";

/// By broker and queue.
type ByQueue = HashMap<(String, String), Arc<Confirmed>>;

/// Names letters.
pub struct Naming {
    pub store: Arc<Store>,
    pub reader: Reader,
    pub schemas: Schemas,
    pub clock: Clock,
    pub news: News,
}

impl Naming {
    /// Works until it is told to stop.
    pub async fn run(self, stop: CancellationToken) {
        let mut done_with = None;
        while stop.run_until_cancelled(tokio::time::sleep(EVERY)).await.is_some() {
            if let Err(error) = self.work(&mut done_with, &stop).await {
                tracing::warn!(error = %error, "types of letters cannot be written yet");
            }
        }
    }

    /// Does what there is to do. `done_with` is the edition that all letters are known to be named with.
    pub async fn work(&self, done_with: &mut Option<i64>, stop: &CancellationToken) -> Result<(), StoreError> {
        let edition = self.edition();
        while !stop.is_cancelled() && self.name_new(edition).await? > 0 {}
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

    async fn name_new(&self, edition: i64) -> Result<usize, StoreError> {
        let ids = self.store.unnamed(AT_ONCE).await?;
        self.name(&ids, edition).await?;
        Ok(ids.len())
    }

    /// Goes through all letters that were named with another edition, as a job that can be watched. After a crash what is
    /// left is a job of its own. The answer is whether all are done.
    async fn name_anew(&self, edition: i64, stop: &CancellationToken) -> Result<bool, StoreError> {
        let total = self.store.count_named_otherwise(edition).await?;
        if total == 0 {
            return Ok(true);
        }
        let begun = self.clock.now();
        let mut job = Job { total, ..Job::begun(ids::uuid(begun), ACTION) };
        self.store.add_job(&job, &Actor::office(), begun).await?;
        tracing::info!(letters = total, "schemas or mappings have changed; letters are named anew");
        let mut before = None;
        while !stop.is_cancelled() && self.edition() == edition {
            // Newcomers first: somebody may be waiting for them.
            self.name_new(edition).await?;
            let ids = self.store.named_otherwise(edition, before, AT_ONCE).await?;
            let Some(last) = ids.last() else {
                job.end();
                break;
            };
            before = Some(*last);
            self.name(&ids, edition).await?;
            job.done += ids.len() as u64;
            job.total = job.total.max(job.done);
            self.store.update_job(&job).await?;
        }
        job.cancel_unless_ended();
        self.store.update_job(&job).await?;
        Ok(job.failed == 0 && self.edition() == edition && !stop.is_cancelled())
    }

    async fn name(&self, ids: &[LetterId], edition: i64) -> Result<(), StoreError> {
        let mut letters = Vec::with_capacity(ids.len());
        let mut by_queue = ByQueue::new();
        for id in ids {
            let Some(letter) = self.store.letter(*id).await? else { continue };
            let confirmed = self.confirmed(&letter, &mut by_queue).await?;
            letters.push((letter, confirmed));
        }
        let (reader, library) = (self.reader.clone(), self.reader.library().await);
        let naming = spawn_blocking(move || {
            letters
                .iter()
                .map(|(letter, confirmed)| name_of(letter, reader.name(&library, letter, confirmed)))
                .collect()
        });
        let names: Vec<NewName> = naming.await.unwrap_or_else(|fault| {
            tracing::error!(error = %fault, "letters could not be read; they stay without a type");
            ids.iter().map(|id| NewName { letter: *id, message_type: None, source: None, confidence: None }).collect()
        });
        self.store.name(&names, edition).await?;
        self.news.changed(names.len() as u64);
        Ok(())
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

fn name_of(letter: &Letter, named: Option<crate::decode::reading::Named>) -> NewName {
    let letter = letter.summary.id;
    match named {
        Some(named) => {
            NewName { letter, message_type: Some(named.name), source: Some(named.source), confidence: named.confidence }
        }
        None => NewName { letter, message_type: None, source: None, confidence: None },
    }
}
