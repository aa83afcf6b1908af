//! What people do with letters and groups.

pub mod batches;
pub mod bulk;
pub mod edit_preview;
pub mod edits;
pub mod held_back;
pub mod markers;
mod mass_edit;
mod merges;
mod preflight;
mod queues;
pub mod scope;
mod views;

use std::{sync::Arc, time::Duration};

use amqp_message::{message::Message, time::Timestamp};
use failure_conventions::danger::Danger;
use payload_codec::json::MergePatch;
use uuid::Uuid;

use self::edits::EditReach;
use super::{audited_store::AuditedStore, decoding::reader::Reader, ids, wakeup::Wakeup};
use crate::{
    clock::Clock,
    domain::{
        actor::Actor,
        command::{Command, CommandReport, Refusal},
        edit::{Edit, HeaderEdit},
        group::{GroupId, Note},
        letter::{Letter, LetterId, LetterSummary},
        lifecycle::edits::check_status,
        retry_limits::{RetryLimits, Targets},
        version::Expected,
    },
    store::{ChangeError, EditOrder, Order, Original, Store, StoreError},
};

/// What people do with letters and their groups, one by one or all of a filter.
#[derive(Clone)]
pub struct Triage {
    /// For jobs, which go on where their process has died.
    store: Arc<Store>,
    changes: AuditedStore,
    clock: Clock,
    limits: RetryLimits,
    reader: Reader,
    /// Called when a retry that is held back may go on, and when a job is to be taken up.
    held_back: Wakeup,
    left_behind: Wakeup,
}

impl Triage {
    pub fn new(store: Arc<Store>, changes: AuditedStore, clock: Clock, limits: RetryLimits, reader: Reader) -> Self {
        let [held_back, left_behind] = [Wakeup::default(), Wakeup::default()];
        Self { store, changes, clock, limits, reader, held_back, left_behind }
    }

    /// Why a letter is not retried, whoever asks.
    pub fn danger(&self, letter: &LetterSummary) -> Option<Danger> {
        self.limits.danger(letter.danger, letter.queue.as_deref())
    }

    /// Why a letter is not retried to `queue`, whoever asks: a clause.
    pub fn why_not(&self, letter: &LetterSummary, queue: Option<&str>) -> Option<String> {
        let danger = || self.danger(letter).map(|danger| danger.clause().to_owned());
        danger().or_else(|| self.targets().check(queue?).err())
    }

    /// Where messages may be sent to.
    pub const fn targets(&self) -> &Targets {
        &self.limits.targets
    }

    /// Carries out a command on each of `ids` that takes it.
    pub async fn act(&self, ids: &[LetterId], command: &Command, by: &Actor) -> Result<CommandReport, StoreError> {
        self.changes.act(&self.order(ids, command, by, self.clock.now())).await
    }

    /// Carries out several commands on one letter: all of them or, where it refuses one, none. What is set by
    /// hand has to be as `expected`.
    pub async fn act_on_one(
        &self,
        id: LetterId,
        commands: &[Command],
        expected: &Expected,
        by: &Actor,
    ) -> Result<CommandReport, StoreError> {
        let (ids, at) = ([id], self.clock.now());
        let orders: Vec<_> = commands.iter().map(|command| self.order(&ids, command, by, at)).collect();
        self.changes.act_on_one(id, &orders, expected).await
    }

    /// The same as [`act`](Self::act), leaving a job behind that reports the result.
    pub async fn act_as_job(
        &self,
        ids: &[LetterId],
        command: &Command,
        edit: Option<&MergePatch>,
        by: &Actor,
    ) -> Result<Uuid, StoreError> {
        let at = self.clock.now();
        let (job, order) = (ids::uuid(at), self.order(ids, command, by, at));
        match edit {
            Some(patch) => self.edit_as_job(job, &order, patch).await?,
            None => drop(self.changes.act_as_job(job, &order).await?),
        }
        Ok(job)
    }

    /// Sends back an edited copy of a letter and sets the letter itself aside, so that never both are sent. The answer is
    /// the copy's id, or why there is none.
    ///
    /// The copy is a letter of its own, which has failed as often as the other and takes over all that was set by hand.
    /// To undo it, discard the copy and reopen the original.
    pub async fn retry_edited(
        &self,
        id: LetterId,
        edit: &Edit,
        delay: Duration,
        queue: Option<&str>,
        by: &Actor,
    ) -> Result<Result<LetterId, Refusal>, StoreError> {
        let at = self.clock.now();
        let copy = ids::letter(at);
        let order = EditOrder {
            letter: id,
            copy,
            delay,
            queue,
            edit: &|original| edits::apply(edit, original, copy, &self.limits),
            summary: &edit.summary(),
            by,
            at,
        };
        self.changes.retry_edited(&order).await
    }

    /// Says beforehand whether an edit of a letter could be sent, as far as that is the edit's matter.
    pub fn check_edit(&self, letter: &Letter, edit: &Edit, queue: Option<&str>) -> Result<(), Refusal> {
        let LetterSummary { id, queue: failed_queue, status, .. } = &letter.summary;
        check_status(*status)?;
        let failed_queue = failed_queue.as_deref();
        let target = queue.or(failed_queue).unwrap_or_default();
        let original = Original { message: &letter.message, failed_queue, count: letter.summary.count(), target };
        edits::apply(edit, &original, *id, &self.limits).map(drop)
    }

    /// Whether an edit leaves a message as it is. Where values are hidden this is not to be told: it would say that a guess
    /// is right.
    pub fn changes_nothing(&self, message: &Message, edit: &Edit) -> bool {
        edits::changes_nothing(edit, message)
    }

    /// An edit with what follows from it: a header that repeats the arguments goes when the body changes, for it would tell
    /// the old ones.
    pub fn with_consequences(&self, message: &Message, mut edit: Edit) -> Edit {
        // Also where it is the same: otherwise it could be seen that it is.
        if edit.body.is_none() {
            return edit;
        }
        for name in failure_conventions::repeats_body(&message.headers) {
            if !edit.headers.iter().any(|header| header.name() == name) {
                edit.headers.push(HeaderEdit::Remove { name: name.to_owned() });
            }
        }
        edit
    }

    /// Which headers and properties of a letter can be edited.
    pub fn edit_reach(&self, letter: &Letter) -> EditReach {
        let reach = EditReach::new(&letter.message, &self.limits.bodies);
        if letter.summary.edited_from.is_some() { reach } else { reach.without_expiration() }
    }

    /// Writes down that somebody sees what is hidden in a letter, before it is shown; says whether there is such a letter.
    pub async fn reveal(&self, id: LetterId, by: &Actor) -> Result<bool, StoreError> {
        self.changes.reveal(id, by).await
    }

    /// Sets the note of a group, or with an empty text removes it; says whether there is such a group.
    pub async fn set_group_note(
        &self,
        id: GroupId,
        text: &str,
        expected: &Expected,
        by: &Actor,
    ) -> Result<bool, ChangeError<Note>> {
        self.changes.set_group_note(id, text, expected, by).await
    }

    const fn order<'a>(&'a self, ids: &'a [LetterId], command: &'a Command, by: &'a Actor, at: Timestamp) -> Order<'a> {
        Order { ids, command, by, at, limits: &self.limits, edits: None }
    }
}
