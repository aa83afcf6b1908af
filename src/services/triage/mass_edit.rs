//! One edit for many letters: copies of them are made ready before their transaction, where decoding would hold up others.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use amqp_message::time::Timestamp;
use payload_codec::json::MergePatch;
use uuid::Uuid;
use xxhash_rust::xxh3::xxh3_128;

use super::{Triage, batches::cut, edits};
use crate::{
    domain::{
        actor::Actor,
        command::Refusal,
        edit::Edit,
        letter::{Letter, LetterId},
        retry_limits::RetryLimits,
        rights::Right,
    },
    services::{decoding::reading::NoPatch, ids},
    store::{EditedMessage, LetterEdits, Order, Original, StoreError},
};

/// What the history says that was changed.
const SUMMARY: &str = "body";

/// What is to become of letters of an order.
pub(super) struct MassEdit {
    /// The ids that the copies get, by those of their originals.
    copies: HashMap<LetterId, LetterId>,
    edits: HashMap<LetterId, Result<Ready, Refusal>>,
    limits: RetryLimits,
}

/// An edit of a letter as it was read; of its body only the hash is kept, as the edit has one, too.
struct Ready {
    body: u128,
    edit: Edit,
}

impl LetterEdits for MassEdit {
    fn copy_of(&self, letter: LetterId) -> Option<LetterId> {
        self.copies.get(&letter).copied()
    }

    fn edited(&self, letter: LetterId, original: &Original<'_>) -> Result<EditedMessage, Refusal> {
        let ready = self.edits.get(&letter).ok_or(Refusal::NotFound)?.as_ref().map_err(Clone::clone)?;
        if ready.body != xxh3_128(&original.message.body) {
            return Err(Refusal::Unfit("it has come in again meanwhile, with another body".to_owned()));
        }
        let copy = self.copy_of(letter).ok_or(Refusal::NotFound)?;
        edits::apply(&ready.edit, original, copy, &self.limits)
    }

    fn summary(&self) -> &str {
        SUMMARY
    }
}

impl Triage {
    /// Letters in the portions in which they are edited: their bodies are in memory together.
    pub(super) async fn edited_portions(&self, letters: &[LetterId]) -> Result<Vec<Vec<LetterId>>, StoreError> {
        let summaries = self.store.summaries(letters).await?;
        let sizes: HashMap<LetterId, u64> = summaries.into_iter().map(|letter| (letter.id, letter.size)).collect();
        Ok(cut(letters.to_vec(), |letter| sizes.get(letter).copied().unwrap_or_default()))
    }

    /// Makes the edits of these letters. Copies that the job has made itself, and that were taken back since, have theirs.
    pub(super) async fn mass_edit(
        &self,
        letters: &[LetterId],
        patch: &MergePatch,
        job: Option<Uuid>,
        by: &Actor,
        at: Timestamp,
    ) -> Result<MassEdit, StoreError> {
        let made = match job {
            Some(job) => self.store.copies_of_job(job, letters).await?,
            None => HashSet::new(),
        };
        let mut mass = MassEdit { copies: HashMap::new(), edits: HashMap::new(), limits: self.limits.clone() };
        for id in letters.iter().filter(|id| !made.contains(id)) {
            let ready = match self.acting(by).letter(*id).await? {
                Some(letter) => self.ready(&Arc::new(letter), patch, by).await.map_err(|no| Refusal::Unfit(no.why)),
                None => Err(Refusal::NotFound),
            };
            mass.copies.insert(*id, ids::letter(at));
            mass.edits.insert(*id, ready);
        }
        Ok(mass)
    }

    /// Sends edited copies of the letters of an order.
    pub(super) async fn edit_as_job(&self, job: Uuid, order: &Order<'_>, patch: &MergePatch) -> Result<(), StoreError> {
        let mass = self.mass_edit(order.ids, patch, None, order.by, order.at).await?;
        self.changes.act_as_job(job, &Order { edits: Some(&mass), ..*order }).await.map(drop)
    }

    async fn ready(&self, of: &Arc<Letter>, patch: &MergePatch, by: &Actor) -> Result<Ready, NoPatch> {
        let edit = self.patched(of, patch, by).await?;
        Ok(Ready { body: xxh3_128(&of.message.body), edit })
    }

    /// What a patch changes in a letter.
    pub(super) async fn patched(&self, letter: &Arc<Letter>, patch: &MergePatch, by: &Actor) -> Result<Edit, NoPatch> {
        let queue = letter.summary.queue.as_deref().unwrap_or_default();
        if !by.may_at(Right::Payload, &letter.summary.broker, queue) {
            let why = "your role in the team of its queue may not see payloads".to_owned();
            return Err(NoPatch { why, details: Vec::new() });
        }
        let body = self.reader.patch(letter, patch).await?;
        Ok(self.with_consequences(&letter.message, Edit::of_body(body)))
    }
}
