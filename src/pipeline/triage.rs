//! The one door for what people do with letters.

use std::{sync::Arc, time::Duration};

use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::{bell::Bell, edits, ids, news::News};
use crate::{
    clock::Clock,
    domain::{
        activity::{Area, Deed},
        actor::Actor,
        command::{Command, CommandReport, Refusal},
        danger::Danger,
        edit::Edit,
        filter::LetterFilter,
        inner_body::InnerBodies,
        job::Job,
        letter::{LetterId, LetterSummary},
        time::Timestamp,
    },
    store::{EditOrder, Order, Store, StoreError},
};

/// Letters of a large order that are moved in one transaction, so that nobody waits long for the ledger.
const PORTION: usize = 2_000;

/// Every change that a person makes goes through here: it is carried out, written down and announced in one place.
#[derive(Clone)]
pub struct Triage {
    store: Arc<Store>,
    clock: Clock,
    news: News,
    bell: Bell,
    bodies: InnerBodies,
}

impl Triage {
    pub const fn new(store: Arc<Store>, clock: Clock, news: News, bell: Bell, bodies: InnerBodies) -> Self {
        Self { store, clock, news, bell, bodies }
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

    /// The same for all that `filter` lets through and that was received until then; one portion after the other, until it
    /// is told to stop. What fails in the middle leaves the portions before it done.
    pub async fn act_on_all(
        &self,
        filter: &LetterFilter,
        until: Timestamp,
        command: &Command,
        by: &Actor,
        stop: &CancellationToken,
    ) -> Result<Job, StoreError> {
        let begun = self.clock.now();
        let mut job = Job::begun(ids::uuid(begun), command.name());
        let mut sweep = self.store.sweep(filter, until).await?;
        while !stop.is_cancelled() {
            let ids = self.store.next_of(&mut sweep, PORTION).await?;
            if ids.is_empty() {
                job.end();
                break;
            }
            let order = Order { is_portion: true, ..self.order(&ids, command, by, self.clock.now()) };
            let report = self.store.act(&order).await?;
            self.spread(command, &report);
            job.add(&report);
        }
        job.cancel_unless_ended();
        self.store.add_job(&job, by, begun).await?;
        let deed = Deed {
            letters: job.done,
            detail: command.detail(),
            ..Deed::new(begun, by, Area::Letters, command.name(), subject(filter))
        };
        self.store.add_deed(&deed).await?;
        log(command, by, job.done, job.failed);
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
            self.news.changed(2);
            self.bell.ring();
        }
        Ok(edited)
    }

    /// Writes down that somebody sees what is hidden in a letter, before it is shown; says whether there is such a letter.
    pub async fn reveal(&self, id: LetterId, by: &Actor) -> Result<bool, StoreError> {
        let is_there = self.store.reveal(id, by, self.clock.now()).await?;
        tracing::info!(letter = %id, by = %by, "a person looks at hidden values");
        Ok(is_there)
    }

    fn order<'a>(&'a self, ids: &'a [LetterId], command: &'a Command, by: &'a Actor, at: Timestamp) -> Order<'a> {
        Order { ids, command, by, at, bodies: &self.bodies, is_portion: false }
    }

    fn announce(&self, command: &Command, by: &Actor, report: &CommandReport) {
        log(command, by, report.done.len() as u64, report.refused.len() as u64);
        self.spread(command, report);
    }

    fn spread(&self, command: &Command, report: &CommandReport) {
        self.news.changed(report.done.len() as u64);
        if matches!(command, Command::Retry { .. }) {
            self.bell.ring();
        }
    }
}

/// A group, where one is meant.
fn subject(filter: &LetterFilter) -> String {
    match filter.groups.as_slice() {
        [group] => group.to_string(),
        _ => String::new(),
    }
}

fn log(command: &Command, by: &Actor, letters: u64, refused: u64) {
    tracing::info!(command = command.name(), by = %by, letters, refused, "a person acted on letters");
}
