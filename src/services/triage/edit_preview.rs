//! What one edit would make of the first of many letters.

use std::sync::Arc;

use amqp_message::time::Timestamp;
use payload_codec::{
    diff::{Hunk, diff},
    json::MergePatch,
    unwrap::UnwrapMode,
};

use super::Triage;
use crate::{
    domain::{
        actor::Actor,
        filter::LetterFilter,
        letter::{Letter, LetterId},
    },
    services::decoding::{
        confirmed::Confirmed,
        reading::{EditProblem, NoPatch},
    },
    store::StoreError,
};

/// Letters that it is shown on.
const FIRST: usize = 10;

/// What becomes of one of them.
pub struct PreviewedEdit {
    pub letter: LetterId,
    pub queue: Option<String>,
    pub change: Result<PreviewedChange, NoPatch>,
}

/// What changes in what is shown of a payload.
pub struct PreviewedChange {
    /// None where only hidden values are set.
    pub hunks: Vec<Hunk>,
}

impl Triage {
    /// What a patch would make of the first letters that a filter lets through and that were received until then; nothing
    /// is written. What is hidden is hidden in it.
    pub async fn preview_edit(
        &self,
        filter: &LetterFilter,
        until: Timestamp,
        patch: &MergePatch,
        queue: Option<&str>,
        by: &Actor,
    ) -> Result<Vec<PreviewedEdit>, StoreError> {
        let store = self.acting(by);
        let mut sweep = store.sweep(filter, until).await?;
        let mut previews = Vec::new();
        for id in store.next_of(&mut sweep, FIRST).await? {
            let Some(letter) = store.letter(id).await?.map(Arc::new) else { continue };
            let change = self.preview(&letter, patch, queue, by).await;
            previews.push(PreviewedEdit { letter: id, queue: letter.summary.queue.clone(), change });
        }
        Ok(previews)
    }

    async fn preview(
        &self,
        letter: &Arc<Letter>,
        patch: &MergePatch,
        queue: Option<&str>,
        by: &Actor,
    ) -> Result<PreviewedChange, NoPatch> {
        let edit = self.patched(letter, patch, by).await?;
        if let Err(refusal) = self.check_edit(letter, &edit, queue) {
            let details = vec![EditProblem { at: None, path: String::new(), reason: refusal.to_string() }];
            return Err(NoPatch { why: "the edited copy could not be sent".to_owned(), details });
        }
        let mut edited = Letter::clone(letter);
        edited.message.body = edit.body.unwrap_or_default();
        let [before, after] = [self.shown(letter).await, self.shown(&Arc::new(edited)).await];
        Ok(PreviewedChange { hunks: diff(&before, &after) })
    }

    /// The payload as it is shown where nothing is revealed, over several lines.
    async fn shown(&self, letter: &Arc<Letter>) -> String {
        let reading = self.reader.read(letter, Confirmed::new(), UnwrapMode::Automatic, false).await;
        reading.json().map(payload_codec::json::laid_out).unwrap_or_default()
    }
}
