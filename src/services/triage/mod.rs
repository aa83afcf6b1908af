//! The one door for what people do with letters.

pub mod batches;
pub mod bulk;
pub mod edits;
pub mod scope;

use std::{sync::Arc, time::Duration};

use amqp_message::time::Timestamp;
use failure_conventions::{danger::Danger, inner_body::InnerBodies};
use uuid::Uuid;

use super::{change_feed::ChangeFeed, ids, wakeup::Wakeup};
use crate::{
    clock::Clock,
    domain::{
        actor::Actor,
        command::{Command, CommandReport, Refusal},
        edit::Edit,
        letter::{LetterId, LetterSummary},
    },
    store::{EditOrder, Order, Store, StoreError},
};

/// Every change that a person makes goes through here: it is carried out, written down and announced in one place.
#[derive(Clone)]
pub struct Triage {
    pub(crate) store: Arc<Store>,
    pub(crate) clock: Clock,
    feed: ChangeFeed,
    wakeup: Wakeup,
    bodies: InnerBodies,
}

impl Triage {
    pub const fn new(store: Arc<Store>, clock: Clock, feed: ChangeFeed, wakeup: Wakeup, bodies: InnerBodies) -> Self {
        Self { store, clock, feed, wakeup, bodies }
    }

    /// Why a letter is not retried, whoever asks.
    pub fn danger(&self, letter: &LetterSummary) -> Option<Danger> {
        let queue = letter.queue.as_deref().unwrap_or_default();
        letter.danger.filter(|danger| !danger.is_settled(queue, &self.bodies))
    }

    /// Carries out a command on each of `ids` that takes it.
    pub async fn act(&self, ids: &[LetterId], command: &Command, by: &Actor) -> Result<CommandReport, StoreError> {
        let order = self.order(ids, command, by, self.clock.now());
        let report = self.store.act(&order).await?;
        self.announce(command, by, &report);
        Ok(report)
    }

    /// The same, leaving a job behind that tells what came of it.
    pub async fn act_as_job(&self, ids: &[LetterId], command: &Command, by: &Actor) -> Result<Uuid, StoreError> {
        let at = self.clock.now();
        let job = ids::uuid(at);
        let report = self.store.act_as_job(job, &self.order(ids, command, by, at)).await?;
        self.announce(command, by, &report);
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
            edit: &|original| edits::apply(edit, original, copy, &self.bodies),
            summary: &edit.summary(),
            by,
            at,
        };
        let edited = self.store.retry_edited(&order).await?;
        if edited.is_ok() {
            tracing::info!(letter = %id, copy = %copy, by = %by, "a person edited a letter");
            self.feed.changed(2);
            self.wakeup.ring();
        }
        Ok(edited)
    }

    /// Writes down that somebody sees what is hidden in a letter, before it is shown; says whether there is such a letter.
    pub async fn reveal(&self, id: LetterId, by: &Actor) -> Result<bool, StoreError> {
        let is_there = self.store.reveal(id, by, self.clock.now()).await?;
        tracing::info!(letter = %id, by = %by, "a person looks at hidden values");
        Ok(is_there)
    }

    pub(crate) const fn order<'a>(
        &'a self,
        ids: &'a [LetterId],
        command: &'a Command,
        by: &'a Actor,
        at: Timestamp,
    ) -> Order<'a> {
        Order { ids, command, by, at, bodies: &self.bodies }
    }

    fn announce(&self, command: &Command, by: &Actor, report: &CommandReport) {
        log(command, by, report.done.len() as u64, report.refused.len() as u64);
        self.spread(command, report);
    }

    pub(crate) fn spread(&self, command: &Command, report: &CommandReport) {
        self.feed.changed(report.done.len() as u64);
        if matches!(command, Command::Retry { .. }) {
            self.wakeup.ring();
        }
    }
}

fn log(command: &Command, by: &Actor, letters: u64, refused: u64) {
    tracing::info!(command = command.name(), by = %by, letters, refused, "a person acted on letters");
}
