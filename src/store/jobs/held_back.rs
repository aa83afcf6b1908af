//! Retries that are held back: their letters are written down at first, and released in portions.
//!
//! A step is one transaction that ends with the row of the job. Whoever finds that changed since it was read takes
//! everything back: so no letter is released twice, nor any after the job was paused, by however many processes.

use amqp_message::time::Timestamp;
use sqlx_macros::FromRow;
use uuid::Uuid;

use super::{bulk::ClaimedBulk, job_letters};
use crate::{
    domain::{
        job::{Job, JobLetters, JobProgress, JobState, Verdict},
        letter::LetterId,
        pacing::{EDITED_PORTION, PORTION, Progress, Stage},
    },
    store::{
        Store, StoreError, StoreReader,
        db::{Tx, on},
        letters::rows::{bigint, parse},
    },
};

/// A job that is looked at by the clock, as it stands.
#[derive(Clone, Debug)]
pub struct HeldBack {
    pub claimed: ClaimedBulk,
    pub progress: JobProgress,
    pub letters: JobLetters,
    /// The last of its letters that was passed over because its queue is paused, or [`LetterId::LAST`] where all were.
    pub passed: Option<LetterId>,
    pub(crate) seq: Option<i64>,
}

impl HeldBack {
    /// What its next step depends on.
    pub fn progress(&self, stage: Stage, next_at: Timestamp) -> Progress {
        let Job { total, done, failed, skipped, .. } = self.claimed.job;
        let failed = failed + skipped;
        let JobProgress { sent, failed_again, last_sent_at, .. } = self.progress;
        let JobLetters { waiting, waiting_since, is_held, claimed_until, .. } = self.letters;
        let portion = if self.claimed.bulk.edit.is_some() { EDITED_PORTION } else { PORTION };
        Progress {
            stage,
            next_at,
            portion,
            total,
            done,
            failed,
            sent,
            failed_again,
            waiting,
            waiting_since,
            is_held: is_held && waiting_since.is_none() && claimed_until.is_none(),
            last_sent_at,
        }
    }
}

#[derive(FromRow)]
pub(super) struct ProgressRow {
    stage: String,
    next_at: Option<i64>,
    claimed_until: Option<i64>,
    sent: i64,
    failed_again: i64,
    last_sent_at: Option<i64>,
    canary_sent: Option<i64>,
    canary_failed: Option<i64>,
    activity_seq: Option<i64>,
}

#[derive(FromRow)]
struct HeldBackRow {
    #[sqlx(flatten)]
    progress: ProgressRow,
    position: Option<Uuid>,
}

impl ProgressRow {
    pub(super) fn read(&self) -> Result<JobProgress, StoreError> {
        let verdict = self.canary_sent.zip(self.canary_failed);
        Ok(JobProgress {
            stage: Some(&*self.stage)
                .filter(|stage| !stage.is_empty())
                .map(|stage| parse("a stage", stage))
                .transpose()?,
            next_at: self.next_at.map(Timestamp::from_micros),
            claimed_until: self.claimed_until.map(Timestamp::from_micros),
            sent: self.sent.unsigned_abs(),
            failed_again: self.failed_again.unsigned_abs(),
            last_sent_at: self.last_sent_at.map(Timestamp::from_micros),
            verdict: verdict.map(|(sent, failed)| Verdict { sent: sent.unsigned_abs(), failed: failed.unsigned_abs() }),
        })
    }
}

impl StoreReader {
    /// Jobs that are to be looked at by now.
    pub async fn jobs_due(&self, now: Timestamp) -> Result<Vec<Uuid>, StoreError> {
        const DUE: &str = "SELECT id FROM jobs WHERE next_at IS NOT NULL AND next_at <= $1 ORDER BY next_at LIMIT 100";
        Ok(on!(self.db.reader(), |pool| sqlx::query_scalar(DUE).bind(now.as_micros()).fetch_all(pool).await?))
    }
}

impl Store {
    /// A job with all that its next step depends on.
    pub async fn held_back(&self, job: Uuid) -> Result<Option<HeldBack>, StoreError> {
        const SELECT: &str =
            "SELECT stage, next_at, claimed_until, sent, failed_again, last_sent_at, canary_sent, canary_failed,
            activity_seq, position FROM jobs WHERE id = $1";
        // In the order in which letters go: what another server releases, or sends, meanwhile is then counted twice, and
        // never taken for lost. What was released is compared again when the step is written.
        let Some(claimed) = self.bulk_job(job).await? else { return Ok(None) };
        let letters = self.waiting_letters(&[job]).await?.pop().map(|(_, letters)| letters).unwrap_or_default();
        let row: Option<HeldBackRow> =
            on!(self.db.reader(), |pool| sqlx::query_as(SELECT).bind(job).fetch_optional(pool).await?);
        let Some(HeldBackRow { progress: row, position }) = row else { return Ok(None) };
        let passed = position.map(LetterId::from_uuid);
        Ok(Some(HeldBack { claimed, progress: row.read()?, letters, passed, seq: row.activity_seq }))
    }

    /// Writes down letters of a job, which it is about from now on. The answer is whether it goes on.
    pub async fn freeze(
        &self,
        job: Uuid,
        letters: &[LetterId],
        now: Timestamp,
        claimed_until: Timestamp,
    ) -> Result<bool, StoreError> {
        const HOLD: &str =
            "UPDATE jobs SET claimed_until = $1 WHERE id = $2 AND state = 'running' AND stage = 'freezing'";
        let mut tx = self.db.begin().await?;
        write_frozen(&mut tx, job, letters, now).await?;
        let rows = on!(&mut tx, |tx| sqlx::query(HOLD)
            .bind(claimed_until.as_micros())
            .bind(job)
            .execute(&mut **tx)
            .await?
            .rows_affected());
        if rows > 0 {
            tx.commit().await?;
        }
        Ok(rows > 0)
    }

    /// All letters of a job are known: its first one is due then. The answer is how many there are.
    pub async fn frozen_all(&self, job: Uuid, stage: Stage, next_at: Timestamp) -> Result<u64, StoreError> {
        const COUNT: &str = "SELECT COUNT(*) FROM job_letters WHERE job_id = $1 AND state = 'frozen'";
        const BEGIN: &str =
            "UPDATE jobs SET total = done + $1, failed = 0, skipped = 0, errors = '[]', stage = $2, next_at = $3,
            claimed_until = NULL WHERE id = $4 AND state = 'running' AND stage = 'freezing'";
        let mut tx = self.db.begin().await?;
        let letters: i64 = on!(&mut tx, |tx| sqlx::query_scalar(COUNT).bind(job).fetch_one(&mut **tx).await?);
        on!(&mut tx, |tx| sqlx::query(BEGIN)
            .bind(letters)
            .bind(stage.as_str())
            .bind(next_at.as_micros())
            .bind(job)
            .execute(&mut **tx)
            .await
            .map(drop)?);
        tx.commit().await?;
        Ok(letters.unsigned_abs())
    }

    /// Moves a job on, unless it is not as it was.
    pub async fn move_on(&self, held: &HeldBack, job: &Job, to: Advance) -> Result<bool, StoreError> {
        let mut tx = self.db.begin().await?;
        let is_as_it_was = advance(&mut tx, held, job, to).await?;
        if is_as_it_was {
            tx.commit().await?;
        }
        Ok(is_as_it_was)
    }
}

/// Where a job goes from here.
#[derive(Clone, Copy, Debug)]
pub struct Advance {
    pub state: JobState,
    pub stage: Option<Stage>,
    pub next_at: Option<Timestamp>,
    pub verdict: Option<Verdict>,
    pub passed: Option<LetterId>,
    pub(crate) seq: Option<i64>,
}

impl HeldBack {
    /// It stays as it is.
    pub const fn stays(&self) -> Advance {
        let JobProgress { stage, next_at, verdict, .. } = self.progress;
        Advance { state: self.claimed.job.state, stage, next_at, verdict, passed: self.passed, seq: self.seq }
    }
}

/// The row of the job comes last, as the counts do: others wait for it briefly. The answer is whether it was as read.
pub(super) async fn advance(tx: &mut Tx, held: &HeldBack, job: &Job, to: Advance) -> Result<bool, StoreError> {
    const ADVANCE: &str = "UPDATE jobs SET state = $1, done = $2, failed = $3, errors = $4, stage = $5, next_at = $6,
            canary_sent = $7, canary_failed = $8, activity_seq = $9, skipped = $15, position = $17
        WHERE id = $10 AND state = $11 AND done = $12 AND failed = $13 AND next_at = $14 AND skipped = $16";
    let was = &held.claimed.job;
    let rows = on!(tx, |tx| sqlx::query(ADVANCE)
        .bind(to.state.as_str())
        .bind(bigint(job.done))
        .bind(bigint(job.failed))
        .bind(serde_json::Value::from(job.errors.as_slice()).to_string())
        .bind(to.stage.map_or("", Stage::as_str))
        .bind(to.next_at.map(Timestamp::as_micros))
        .bind(to.verdict.map(|verdict| bigint(verdict.sent)))
        .bind(to.verdict.map(|verdict| bigint(verdict.failed)))
        .bind(to.seq)
        .bind(was.id)
        .bind(was.state.as_str())
        .bind(bigint(was.done))
        .bind(bigint(was.failed))
        .bind(held.progress.next_at.map(Timestamp::as_micros))
        .bind(bigint(job.skipped))
        .bind(bigint(was.skipped))
        .bind(to.passed.map(LetterId::as_uuid))
        .execute(&mut **tx)
        .await?
        .rows_affected());
    Ok(rows > 0)
}

pub(super) async fn write_frozen(
    tx: &mut Tx,
    job: Uuid,
    letters: &[LetterId],
    now: Timestamp,
) -> Result<(), StoreError> {
    const WRITE: [&str; 2] = [
        "WITH new (job_id, letter_id, at) AS (",
        ") INSERT INTO job_letters (job_id, letter_id, state, at)
        SELECT job_id, letter_id, 'frozen', at FROM new WHERE true
        ON CONFLICT (job_id, letter_id) DO UPDATE SET state = excluded.state, at = excluded.at, why = NULL
            WHERE job_letters.state IN ('released', 'refused')",
    ];
    job_letters::write(tx, WRITE, job, letters, now).await
}
