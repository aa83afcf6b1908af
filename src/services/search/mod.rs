//! Filling the index that searches are answered from.
//!
//! A letter is indexed after it was enriched, and again whenever it is read otherwise: with other schemas, after it came
//! back, as an edited copy. Intake waits for none of this, and in a storm the index waits for intake.

mod reading;

use std::{hash::Hasher, sync::Arc, time::Duration};

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use xxhash_rust::xxh3::Xxh3;

use super::{
    change_feed::ChangeFeed,
    decoding::{
        confirmed::{Confirmed, ConfirmedTypes},
        reader::Reader,
    },
    halving::{Halved, halve},
    one_by_one::{LIMIT, one_by_one},
    throttle::Batch,
    triage::batches::batches,
    worker::{Next, Worker},
};
use crate::{
    clock::Clock,
    config::{DecodeConfig, SearchConfig},
    domain::{
        letter::{Letter, LetterId},
        search::document::{Bounds, Document},
    },
    store::{Store, StoreError, ToIndex},
};

/// How soon a letter can be found after it was enriched.
const EVERY: Duration = Duration::from_millis(250);
/// Letters in one commit.
const AT_ONCE: u32 = 250;
/// How long letters that come one after the other may make searches slower.
const UNSORTED: Duration = Duration::from_secs(10);

/// Indexes letters.
pub struct Indexing {
    pub store: Arc<Store>,
    pub reader: Reader,
    pub config: SearchConfig,
    pub clock: Clock,
    pub feed: ChangeFeed,
    /// Since when there are letters in the index that are not sorted into it.
    pub unsorted: Option<Instant>,
}

/// Stands for what is indexed and how; 0 where nothing is. With other settings the index is made anew.
pub fn settings(search: &SearchConfig, decode: &DecodeConfig) -> i64 {
    /// Changes with the words and lexemes of a document.
    const FORM: u64 = 8;
    if !search.enabled {
        return 0;
    }
    let mut hasher = Xxh3::new();
    for number in [FORM, search.text_bytes as u64, search.payload_fields as u64, decode.max_bytes] {
        hasher.write_u64(number);
    }
    for name in &decode.hidden_fields {
        hasher.write(name.as_bytes());
        hasher.write_u8(0xff);
    }
    (hasher.finish() >> 1).cast_signed() | 1
}

impl Worker for Indexing {
    const NAME: &'static str = "search index";
    type Error = StoreError;

    fn every(&self) -> Duration {
        EVERY
    }

    async fn round(&mut self, stop: &CancellationToken) -> Result<Next, StoreError> {
        let indexed = self.work(stop).await?;
        if indexed > 0 {
            self.unsorted.get_or_insert_with(Instant::now);
        }
        if self.unsorted.is_some_and(|since| indexed == 0 || since.elapsed() >= UNSORTED) {
            self.unsorted = None;
            // Searches are only slower without it. Whoever does not own the index may not ask for it.
            if let Err(error) = self.store.sort_into_index().await {
                tracing::debug!(%error, "what is new is not sorted into the search index yet");
            }
        }
        Ok(Next::Later)
    }
}

impl Indexing {
    /// Indexes what there is to index, and says how many letters that were.
    pub async fn work(&self, stop: &CancellationToken) -> Result<usize, StoreError> {
        let mut indexed = 0;
        while self.config.enabled && !stop.is_cancelled() {
            let batch = Batch::begin(&self.clock, &self.feed);
            let waiting = self.store.to_index(AT_ONCE).await?;
            self.index_all(&waiting).await?;
            indexed += waiting.len();
            if waiting.len() < AT_ONCE as usize {
                break;
            }
            batch.end(stop).await;
        }
        Ok(indexed)
    }

    async fn index_all(&self, waiting: &[ToIndex]) -> Result<(), StoreError> {
        if waiting.is_empty() {
            return Ok(());
        }
        let documents = self.read(waiting).await?;
        let mut parts = vec![documents];
        while let Some(part) = parts.pop() {
            match self.store.index(&part).await {
                Ok(()) => {}
                // One of them is not taken. The others go on without it.
                Err(error) if error.is_refusal() => match halve(part) {
                    Some(Halved::Halves(first, second)) => parts.extend([second, first]),
                    Some(Halved::One((to_index, _))) => {
                        tracing::error!(letter = %to_index.letter, %error, "a dead letter cannot be indexed; searches do not find it");
                        self.store.index(&[(to_index, None)]).await?;
                    }
                    None => {}
                },
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// What can be found of these letters; nothing of those that are gone.
    async fn read(&self, waiting: &[ToIndex]) -> Result<Vec<(ToIndex, Option<Document>)>, StoreError> {
        let ids: Vec<_> = waiting.iter().map(|to_index| to_index.letter).collect();
        let mut documents: Vec<_> = waiting.iter().map(|to_index| (*to_index, None)).collect();
        for batch in batches(self.store.summaries(&ids).await?) {
            let (mut letters, mut confirmed) = (Vec::with_capacity(batch.len()), ConfirmedTypes::new(&self.store));
            for letter in self.store.with_contents(batch).await? {
                let confirmed = confirmed.of(&letter.summary).await?;
                letters.push((letter, confirmed));
            }
            // Before the library: of what is read with a newer one than this says, nothing is shown until it is read again.
            let edition = self.reader.edition();
            let (reader, library) = (self.reader.clone(), self.reader.library().await);
            let bounds = Bounds { text_bytes: self.config.text_bytes, fields: self.config.payload_fields };
            let ids: Vec<LetterId> = letters.iter().map(|(letter, _)| letter.summary.id).collect();
            let document = move |(letter, confirmed): &(Letter, Arc<Confirmed>)| {
                reading::document(&reader, &library, letter, confirmed, &bounds, edition)
            };
            for (letter, document) in ids.into_iter().zip(one_by_one(letters, LIMIT, document).await) {
                if document.is_none() {
                    tracing::error!(%letter, "a dead letter is not read for searches within {} s", LIMIT.as_secs());
                }
                if let Some(entry) = documents.iter_mut().find(|(to_index, _)| to_index.letter == letter) {
                    entry.1 = document.flatten();
                }
            }
        }
        Ok(documents)
    }
}
