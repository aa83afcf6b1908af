//! Retries that are held back: sent so many at a time, or stopped where the first of them fail again.
//!
//! Their letters stay open until it is their turn, and are then due at once: whatever is not sent yet is what it was, so
//! that a pause has hardly anything to take back, and nothing is sent in a burst after an outage. Which process takes a
//! step does not matter: each is one transaction that finds the job as it was read, or does nothing.

use std::time::Duration;

use amqp_message::time::Timestamp;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::{
    Triage,
    bulk::{RENEWED_EVERY, entry},
};
use crate::{
    domain::{
        access::Grants,
        actor::Actor,
        command::{Command, CommandReport, Refusal},
        job::{Bulk, Job, JobRefusal, JobState, Verdict},
        letter::LetterId,
        pacing::{LOOK, Progress, Stage, Step, held_wait},
    },
    services::worker::{Next, Worker},
    store::{Advance, BulkAudit, ClaimedBulk, HeldBack, LetterEdits, Order, StoreError},
};

/// Letters that are written down, or taken back, in one transaction.
const PORTION: usize = 2_000;
/// A process that says nothing while it writes letters down is given up for dead.
const LEASE: Duration = Duration::from_secs(30);

impl Triage {
    /// Writes down the letters of a retry that is held back, and lets it begin.
    pub(super) async fn freeze(&self, claimed: ClaimedBulk, stop: &CancellationToken) -> Result<Job, StoreError> {
        let ClaimedBulk { mut job, bulk, begun } = claimed;
        let store = self.acting(&bulk.by);
        let mut sweep = store.sweep(&bulk.filter, bulk.until).await?;
        let mut held_at = self.clock.now();
        while !stop.is_cancelled() {
            let (ids, now) = (store.page_of(&mut sweep, PORTION).await?, self.clock.now());
            let Some(ids) = ids else {
                let next_at = due_from(begun, &bulk, now).max(now);
                job.total = self.store.frozen_all(job.id, bulk.pacing.first_stage(), next_at).await?;
                self.held_back.notify();
                return Ok(job);
            };
            if ids.is_empty() && now.since(held_at) < RENEWED_EVERY {
                continue;
            }
            held_at = now;
            if !self.store.freeze(job.id, &ids, now, now.plus(LEASE)).await? {
                return Ok(job);
            }
        }
        self.store.freeze(job.id, &[], self.clock.now(), self.clock.now()).await?;
        Ok(job)
    }

    /// Whether the letters of a job are to be written down: it was paused, and is to be gone on with.
    pub(super) async fn is_freezing(&self, job: Uuid) -> Result<bool, StoreError> {
        let record = self.store.job_record(job).await?;
        Ok(record.is_some_and(|record| record.progress.stage == Some(Stage::Freezing)))
    }

    /// Stops a job; what it has done stays done, and what it has not sent yet is taken back. Says whether there was
    /// anything to stop.
    pub async fn cancel(&self, job: Uuid, by: &Actor) -> Result<Result<bool, JobRefusal>, StoreError> {
        if let Err(refusal) = self.store.job_of(job, by).await? {
            return Ok(Err(refusal));
        }
        let cancelled = self.changes.cancel_job(job, by).await?;
        if cancelled {
            self.take_back(job, by).await?;
        }
        Ok(Ok(cancelled))
    }

    /// Stops a retry of many letters for a while; says whether there was one to stop.
    pub async fn pause(&self, job: Uuid, by: &Actor) -> Result<Result<bool, JobRefusal>, StoreError> {
        if let Err(refusal) = self.store.job_of(job, by).await? {
            return Ok(Err(refusal));
        }
        let paused = self.changes.pause_job(job, by).await?;
        if paused {
            self.take_back(job, by).await?;
        }
        Ok(Ok(paused))
    }

    /// Goes on with one that was paused; says whether it was.
    pub async fn resume(&self, job: Uuid, by: &Actor) -> Result<Result<bool, JobRefusal>, StoreError> {
        if let Err(refusal) = self.store.job_of(job, by).await? {
            return Ok(Err(refusal));
        }
        let resumed = self.changes.resume_job(job, by).await?;
        if resumed {
            self.held_back.notify();
            self.left_behind.notify();
        }
        Ok(Ok(resumed))
    }

    /// Takes the next step of every job whose time has come; says whether there is more to do at once.
    pub async fn take_steps(&self, stop: &CancellationToken) -> Result<Next, StoreError> {
        let mut next = Next::Later;
        for job in self.store.jobs_due(self.clock.now()).await? {
            if stop.is_cancelled() {
                break;
            }
            if self.take_step(job).await? {
                next = Next::Now;
            }
        }
        Ok(next)
    }

    /// Says whether there is more to do at once.
    async fn take_step(&self, job: Uuid) -> Result<bool, StoreError> {
        let Some(held) = self.store.held_back(job).await? else {
            self.take_back(job, &Actor::system()).await?;
            return Ok(false);
        };
        let (state, progress, now) = (held.claimed.job.state, held.progress, self.clock.now());
        let (JobState::Running, Some(stage), Some(next_at)) = (state, progress.stage, progress.next_at) else {
            self.take_back(job, &held.claimed.bulk.by).await?;
            return Ok(false);
        };
        let stays = held.stays();
        // Who resumes it says when it is looked at next, and not that it need not wait.
        let next_at = next_at.max(due_from(held.claimed.begun, &held.claimed.bulk, now));
        let to = match self.next_step(&held, &held.progress(stage, next_at), now).await? {
            Step::Release { most, next_at } => return self.release(&held, most, next_at, now).await,
            Step::Wait { next_at } => Advance { next_at: Some(next_at), ..stays },
            Step::Pass => Advance { stage: Some(Stage::Rest), next_at: Some(now), verdict: verdict(&held), ..stays },
            Step::Stop => Advance { state: JobState::Stopped, next_at: Some(now), verdict: verdict(&held), ..stays },
            Step::End => {
                let mut ended = held.claimed.job.clone();
                ended.end();
                let verdict = if stage == Stage::Canary { verdict(&held) } else { stays.verdict };
                Advance { state: ended.state, next_at: None, verdict, ..stays }
            }
        };
        self.move_on(&held, to).await?;
        Ok(false)
    }

    /// What is to be done next. Of letters that are edited no more are released at once than fit into memory.
    async fn next_step(&self, held: &HeldBack, progress: &Progress, now: Timestamp) -> Result<Step, StoreError> {
        let ClaimedBulk { job, bulk, .. } = &held.claimed;
        let step = bulk.pacing.step(progress, now);
        let Step::Release { most, .. } = step else { return Ok(step) };
        if bulk.edit.is_none() {
            return Ok(step);
        }
        let next = self.store.frozen(job.id, bulk, held.passed, most).await?;
        let mut next = [next.meant, next.gone].concat();
        next.sort_unstable();
        let fit = self.edited_portions(&next).await?.first().map_or(1, Vec::len);
        Ok(bulk.pacing.step(&Progress { portion: fit as u64, ..*progress }, now))
    }

    async fn move_on(&self, held: &HeldBack, to: Advance) -> Result<(), StoreError> {
        let was = &held.claimed;
        if !self.store.move_on(held, &was.job, to).await? {
            return Ok(());
        }
        if to.state != was.job.state || to.stage != held.progress.stage {
            tracing::info!(job = %was.job.id, state = %to.state, "a retry of many letters has moved on");
            self.changes.announce_job();
        }
        if to.state == JobState::Stopped {
            self.take_back(was.job.id, &was.bulk.by).await?;
        }
        Ok(())
    }

    /// Sends the next letters on their way, those into a queue that is paused aside. Says whether more are due already.
    async fn release(
        &self,
        held: &HeldBack,
        most: u64,
        next_at: Timestamp,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let ClaimedBulk { job, bulk, begun } = &held.claimed;
        let found = self.store.frozen(job.id, bulk, held.passed, most).await?;
        let to = Advance { next_at: Some(next_at), passed: found.passed, ..held.stays() };
        let (ids, gone) = (found.meant, found.gone);
        if ids.is_empty() && gone.is_empty() {
            let wait = match to.passed {
                // Who resumes a queue says that it is looked at.
                Some(LetterId::LAST) => held_wait(job.total.saturating_sub(job.over())),
                Some(_) => LOOK,
                // They are gone: nothing remains but what was released.
                None => return self.store.nothing_left(job.id).await.map(|()| false),
            };
            self.move_on(held, Advance { next_at: Some(now.plus(wait)), ..to }).await?;
            return Ok(false);
        }
        let Command::Retry { queue, .. } = &bulk.command else { return Ok(false) };
        // It has waited already.
        let command = Command::Retry { delay: Duration::ZERO, queue: queue.clone() };
        let mass = match &bulk.edit {
            Some(patch) => Some(self.mass_edit(&ids, patch, Some(job.id), &bulk.by, now).await?),
            None => None,
        };
        let edits = mass.as_ref().map(|mass| mass as &dyn LetterEdits);
        let order = Order { edits, ..self.order(&ids, &command, &bulk.by, now) };
        let audit = BulkAudit::new(entry(bulk, *begun));
        let left_out = refused(&gone, &Refusal::NotFound);
        match self.changes.release(&order, &left_out, held, audit.clone(), to).await {
            Ok(released) => Ok(released && next_at <= now),
            // One that the database refuses must not hold up the others.
            Err(error) if error.is_refusal() && ids.len() > 1 => Box::pin(self.release(held, 1, next_at, now)).await,
            Err(error) if error.is_refusal() => {
                let (none, unfit) = (Order { ids: &[], ..order }, refused(&ids, &Refusal::Unfit(error.to_string())));
                self.changes.release(&none, &unfit, held, audit, to).await
            }
            Err(error) => Err(error),
        }
    }

    /// Takes back what a job has released and not sent. What is being sent at this moment is looked at again soon.
    async fn take_back(&self, job: Uuid, by: &Actor) -> Result<(), StoreError> {
        let by = by.clone().granted(Grants::everything());
        loop {
            let now = self.clock.now();
            let ids = self.store.released_waiting(job, now, PORTION).await?;
            let order = self.order(&ids, &Command::Reopen, &by, now);
            if ids.is_empty() || self.changes.take_back(job, &order).await? == 0 {
                break;
            }
        }
        self.store.taken_back(job, self.clock.now().plus(LOOK)).await
    }
}

/// When the first letter of a job is due, however often it is paused before. The clock may have been put back since it
/// was begun.
fn due_from(begun: Timestamp, bulk: &Bulk, now: Timestamp) -> Timestamp {
    begun.min(now).plus(bulk.command.delay())
}

fn refused(letters: &[LetterId], why: &Refusal) -> CommandReport {
    let refused = letters.iter().map(|letter| (*letter, why.clone())).collect();
    CommandReport { refused, ..CommandReport::default() }
}

/// How the first letters did.
fn verdict(held: &HeldBack) -> Option<Verdict> {
    let progress = held.progress(Stage::Canary, Timestamp::default());
    Some(Verdict { sent: progress.sent, failed: progress.failed_again + progress.lost() })
}

/// Takes the steps of retries that are held back.
pub struct HeldBackRetries(pub Triage);

impl Worker for HeldBackRetries {
    const NAME: &'static str = "held back retries";
    type Error = StoreError;

    fn every(&self) -> Duration {
        LOOK
    }

    async fn round(&mut self, stop: &CancellationToken) -> Result<Next, StoreError> {
        self.0.take_steps(stop).await
    }

    async fn called(&mut self) {
        self.0.held_back.notified().await;
    }
}
