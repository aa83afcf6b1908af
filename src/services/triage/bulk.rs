//! One thing done with all letters of a filter, in batches: long work that is kept as a job, goes on after a restart and
//! can be cancelled.

use std::time::Duration;

use amqp_message::time::Timestamp;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::{Triage, scope};
use crate::{
    domain::{
        access::{Grants, Right},
        activity::{Area, AuditEntry, Concerns},
        actor::Actor,
        command::{Command, CommandReport, Refusal},
        filter::LetterFilter,
        job::{Bulk, Job, NoUndo},
        letter::LetterId,
        pacing::{EDITED_PORTION, Pacing},
    },
    services::{
        audited_store::AuditedStore,
        halving::{Halved, halve},
        ids,
        worker::{Next, Worker},
    },
    store::{BulkAudit, BulkWork, ClaimedBulk, Order, StoreError, StoreReader, Sweep},
};

/// Letters of a large order that are moved in one transaction, so that nobody waits long for the database.
const PORTION: usize = 2_000;
/// A process that says nothing of its job for so long is given up for dead.
pub const LEASE: Duration = Duration::from_secs(30);
/// A walk that meets nothing new says so often that it goes on: each time is a commit.
pub(super) const RENEWED_EVERY: Duration = Duration::from_secs(5);
/// How often it is looked for jobs that were left behind.
const EVERY: Duration = Duration::from_secs(5);

impl Triage {
    /// Writes down a job that is to be worked at: all that it is about is fixed from now on.
    pub async fn begin(&self, bulk: Bulk) -> Result<ClaimedBulk, StoreError> {
        // The end of a filter is no part of it.
        let end = bulk.until.plus(Duration::from_micros(1));
        let end = bulk.filter.until.map_or(end, |until| until.min(end));
        let total = self.acting(&bulk.by).count(&LetterFilter { until: Some(end), ..bulk.filter.clone() }).await?;
        let job = Job { total, ..Job::begun(ids::uuid(self.clock.now()), bulk.command.name()) };
        self.changes.begin_bulk(job, bulk, LEASE).await
    }

    /// Works at a job until it is done, cancelled, or this process is told to stop.
    pub async fn work_at(&self, claimed: ClaimedBulk, stop: &CancellationToken) -> Result<Job, StoreError> {
        if claimed.bulk.pacing.holds() || self.is_freezing(claimed.job.id).await? {
            return self.freeze(claimed, stop).await;
        }
        let ClaimedBulk { job, bulk, begun } = claimed;
        let store = self.acting(&bulk.by);
        let mut sweep = match bulk.left {
            Some(left) => Sweep::of_left(left),
            None => store.sweep(&bulk.filter, bulk.until).await?,
        };
        let entry = BulkAudit::new(entry(&bulk, begun));
        // The outcomes of its letters are counted.
        let is_retry = matches!(bulk.command, Command::Retry { .. });
        let mut entry = if is_retry { entry.of_job(job.id, None) } else { entry };
        let portion = if bulk.edit.is_some() { EDITED_PORTION as usize } else { PORTION };
        let mut work = BulkWork { job, bulk: &bulk, held_until: self.held_until() };
        let mut goes_on = true;
        while goes_on && !stop.is_cancelled() {
            goes_on = match store.page_of(&mut sweep, portion).await? {
                Some(ids) if ids.is_empty() => self.hold_on(&mut work).await?,
                Some(ids) => self.act_on_next(&ids, begun, &mut work, &mut entry).await?,
                None => {
                    work.job.total = work.job.over();
                    work.job.end();
                    self.store.job_has_come_to(&work.job, None, self.held_until()).await?
                }
            };
        }
        let job = work.job;
        if goes_on {
            // Whoever is here next goes on at once.
            self.store.job_has_come_to(&job, None, self.clock.now()).await?;
            return Ok(job);
        }
        // Somebody may have stopped it.
        let job = self.store.job(job.id).await?.unwrap_or(job);
        AuditedStore::ended(&job, &bulk);
        Ok(job)
    }

    fn held_until(&self) -> Timestamp {
        self.clock.now().plus(LEASE)
    }

    /// Holds a job whose walk has met nothing new; says whether it goes on.
    async fn hold_on(&self, work: &mut BulkWork<'_>) -> Result<bool, StoreError> {
        let held_until = self.held_until();
        if held_until.since(work.held_until) < RENEWED_EVERY {
            return Ok(true);
        }
        work.held_until = held_until;
        self.store.job_has_come_to(&work.job, None, held_until).await
    }

    /// Carries out what a job does on the next of its letters; says whether it goes on.
    async fn act_on_next(
        &self,
        ids: &[LetterId],
        begun: Timestamp,
        work: &mut BulkWork<'_>,
        entry: &mut BulkAudit,
    ) -> Result<bool, StoreError> {
        let bulk = work.bulk;
        // All of them have the same moment, by which they are found again when it is undone.
        let order = self.order(ids, &bulk.command, &bulk.by, begun);
        let Some(patch) = &bulk.edit else { return self.act_on_all(&order, work, entry).await };
        for ids in self.edited_portions(ids).await? {
            let mass = self.mass_edit(&ids, patch, Some(work.job.id), &bulk.by, self.clock.now()).await?;
            if !self.act_on_all(&Order { ids: &ids, edits: Some(&mass), ..order }, work, entry).await? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Carries an order out on all its letters but those that the database refuses to move, which it says.
    async fn act_on_all(
        &self,
        order: &Order<'_>,
        work: &mut BulkWork<'_>,
        entry: &mut BulkAudit,
    ) -> Result<bool, StoreError> {
        let (mut parts, mut goes_on) = (vec![order.ids.to_vec()], true);
        while let Some(part) = parts.pop().filter(|_| goes_on) {
            work.held_until = self.held_until();
            match self.changes.act_on_portion(&Order { ids: &part, ..*order }, entry, work).await {
                Ok(is_done) => goes_on = is_done,
                Err(error) if error.is_refusal() => match halve(part) {
                    Some(Halved::Halves(first, second)) => parts.extend([second, first]),
                    Some(Halved::One(letter)) => {
                        let refused = vec![(letter, Refusal::Unfit(error.to_string()))];
                        let report = CommandReport { refused, ..CommandReport::default() };
                        goes_on = self.store.count_refused(&report, work).await?;
                    }
                    None => {}
                },
                Err(error) => return Err(error),
            }
        }
        Ok(goes_on)
    }

    /// What takes back a job that has ended, by somebody.
    ///
    /// # Errors
    /// It is not theirs to undo, goes on, or cannot be taken back.
    pub async fn undo(&self, job: Uuid, by: &Actor) -> Result<Result<Bulk, NoUndo>, StoreError> {
        let job = match self.store.job_of(job, by).await? {
            Ok(job) => job,
            Err(refusal) => return Ok(Err(NoUndo::Refused(refusal))),
        };
        let Some((bulk, begun)) = self.store.bulk(job.id).await? else { return Ok(Err(NoUndo::Unknown)) };
        if job.goes_on() {
            return Ok(Err(NoUndo::Running));
        }
        let Some(undone) = bulk.undone(job.id, begun, by) else { return Ok(Err(NoUndo::Final)) };
        if let Some(left) = undone.left
            && self.acting(by).next_of(&mut Sweep::of_left(left), 1).await?.is_empty()
        {
            return Ok(Err(NoUndo::NothingLeft));
        }
        Ok(Ok(undone))
    }

    /// The letters that somebody may act on.
    pub(super) fn acting(&self, by: &Actor) -> StoreReader {
        self.store.within(&Grants::within(&by.scope(Right::Act)))
    }

    /// Goes on with all jobs that a process has left behind.
    pub async fn take_up(&self, stop: &CancellationToken) -> Result<(), StoreError> {
        while let Some(claimed) = self.store.claim_bulk(self.clock.now(), LEASE).await? {
            tracing::info!(job = %claimed.job.id, "going on with a job that was left behind");
            self.work_at(claimed, stop).await?;
            if stop.is_cancelled() {
                break;
            }
        }
        Ok(())
    }
}

/// Goes on with jobs that a process has left behind.
pub struct LeftBehind(pub Triage);

impl Worker for LeftBehind {
    const NAME: &'static str = "jobs";
    type Error = StoreError;

    fn every(&self) -> Duration {
        EVERY
    }

    async fn round(&mut self, stop: &CancellationToken) -> Result<Next, StoreError> {
        self.0.take_up(stop).await?;
        Ok(Next::Later)
    }

    async fn called(&mut self) {
        self.0.left_behind.notified().await;
    }
}

/// A job that another process takes up has a line of its own for what is left.
pub(super) fn entry(bulk: &Bulk, begun: Timestamp) -> AuditEntry {
    let Bulk { filter, command, pacing, by, edit, .. } = bulk;
    let entry = AuditEntry::new(begun, by, Area::Letters, command.name(), subject(filter));
    AuditEntry {
        detail: detail(command, edit.is_some(), *pacing, filter),
        concerns: Concerns::All(by.concerned()),
        ..entry
    }
}

/// A group, where one is meant.
fn subject(filter: &LetterFilter) -> String {
    match filter.groups.as_slice() {
        [group] => group.to_string(),
        _ => String::new(),
    }
}

/// `in 10 min; of all that is open, in texts.*`
fn detail(command: &Command, is_edited: bool, pacing: Pacing, filter: &LetterFilter) -> String {
    let edit = is_edited.then(|| "payloads edited".to_owned());
    let detail = Some(command.detail()).filter(|detail| !detail.is_empty());
    let pacing = pacing.holds().then(|| pacing.in_words());
    // One group is what it was done to, and named as that.
    let groups = if filter.groups.len() == 1 { Vec::new() } else { filter.groups.clone() };
    let filter = LetterFilter { groups, ..filter.clone() };
    edit.into_iter()
        .chain(detail)
        .chain(pacing)
        .chain([format!("of all {}", scope::describe(&filter))])
        .collect::<Vec<_>>()
        .join("; ")
}
