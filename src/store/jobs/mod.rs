//! Jobs: long work that can be watched.

pub(crate) mod bulk;
mod control;
pub(crate) mod copies;
mod frozen;
pub(crate) mod held_back;
mod job_letters;
mod outstanding;
pub(crate) mod portion;
mod reading;
mod release;
pub(crate) mod report;
mod stored_edit;
mod stored_pacing;
pub(crate) mod tally;

use std::time::Duration;

use amqp_message::time::Timestamp;
use sqlx_macros::FromRow;
use uuid::Uuid;

use super::{
    Store, StoreError, StoreReader, audit,
    clock::longest_claim,
    db::{Either, Sql, Tx, on},
    letters::{
        order::Order,
        rows::{JobRow, bigint},
    },
    origin,
};
use crate::domain::{
    activity::AuditEntry,
    actor::Actor,
    command::CommandReport,
    job::{Job, JobState},
    letter::LetterId,
    rights::Right,
};

#[derive(FromRow)]
struct ClaimedRow {
    #[sqlx(flatten)]
    job: JobRow,
    position: Option<Uuid>,
}

impl StoreReader {
    /// Open and waiting letters older than `before`, the newest first: what a job goes through.
    pub async fn undecided(&self, before: Option<LetterId>, limit: u32) -> Result<Vec<LetterId>, StoreError> {
        const SELECT: &str = "SELECT l.id FROM letters l JOIN facets f ON f.id = l.facet_id
            WHERE l.id < $1 AND f.status IN ('open', 'scheduled') ORDER BY l.id DESC LIMIT $2";
        let before = before.map_or(Uuid::max(), LetterId::as_uuid);
        let ids: Vec<Uuid> = on!(self.db.reader(), |pool| sqlx::query_scalar(SELECT)
            .bind(before)
            .bind(i64::from(limit))
            .fetch_all(pool)
            .await?);
        Ok(ids.into_iter().map(LetterId::from_uuid).collect())
    }
}

impl Store {
    /// Claims a job of this name that is to be worked at, for `lease`; with the letter it has come to.
    pub async fn claim_job(
        &self,
        action: &str,
        now: Timestamp,
        lease: Duration,
    ) -> Result<Option<(Job, Option<LetterId>)>, StoreError> {
        // What is claimed for longer than there is reason to was claimed by a clock that was ahead.
        // Mostly there is none, and to ask for it does not keep the one writer of SQLite from its work.
        const IS_THERE: &str = "SELECT EXISTS (SELECT 1 FROM jobs WHERE action = $1
            AND state IN ('queued', 'running') AND (claimed_until IS NULL OR claimed_until <= $2 OR claimed_until > $3))";
        const CLAIM: Sql = Sql {
            sqlite: "UPDATE jobs SET state = 'running', claimed_until = $1 WHERE id IN (SELECT id FROM jobs
                    WHERE action = $2 AND state IN ('queued', 'running')
                    AND (claimed_until IS NULL OR claimed_until <= $3 OR claimed_until > $4) ORDER BY created_at LIMIT 1)
                RETURNING id, action, state, total, done, failed, skipped, errors, position",
            // The subquery of an IN may be carried out several times, and each time it skips what it has just locked.
            postgres: "UPDATE jobs SET state = 'running', claimed_until = $1 WHERE id = ANY(ARRAY(SELECT id FROM jobs
                    WHERE action = $2 AND state IN ('queued', 'running')
                    AND (claimed_until IS NULL OR claimed_until <= $3 OR claimed_until > $4) ORDER BY created_at LIMIT 1
                    FOR UPDATE SKIP LOCKED))
                RETURNING id, action, state, total, done, failed, skipped, errors, position",
        };
        let longest = longest_claim(now, lease);
        let is_there: bool = on!(self.db.reader(), |pool| sqlx::query_scalar(IS_THERE)
            .bind(action)
            .bind(now.as_micros())
            .bind(longest)
            .fetch_one(pool)
            .await?);
        if !is_there {
            return Ok(None);
        }
        let claim = CLAIM.pick(self.db.writer());
        let row: Option<ClaimedRow> = on!(self.db.writer(), |pool| sqlx::query_as(claim)
            .bind(now.plus(lease).as_micros())
            .bind(action)
            .bind(now.as_micros())
            .bind(longest)
            .fetch_optional(pool)
            .await?);
        let Some(row) = row else { return Ok(None) };
        Ok(Some((Job::try_from(row.job)?, row.position.map(LetterId::from_uuid))))
    }

    /// Writes down how far a claimed job has come and holds the claim until then. The answer is whether it goes on: it
    /// does not once somebody has cancelled it.
    pub async fn job_has_come_to(
        &self,
        job: &Job,
        position: Option<LetterId>,
        until: Timestamp,
    ) -> Result<bool, StoreError> {
        const UPDATE: &str = "UPDATE jobs SET state = $1, total = $2, done = $3, failed = $4, errors = $5,
            position = $6, claimed_until = $7, skipped = $8 WHERE id = $9 AND state = 'running' AND stage = ''";
        let rows = on!(self.db.writer(), |pool| sqlx::query(UPDATE)
            .bind(job.state.as_str())
            .bind(bigint(job.total))
            .bind(bigint(job.done))
            .bind(bigint(job.failed))
            .bind(serde_json::Value::from(job.errors.as_slice()).to_string())
            .bind(position.map(LetterId::as_uuid))
            .bind(until.as_micros())
            .bind(bigint(job.skipped))
            .bind(job.id)
            .execute(pool)
            .await?
            .rows_affected());
        Ok(rows > 0 && job.state == JobState::Running)
    }

    /// Ends the claims that a process which died has left behind, where nobody else can hold one: a SQLite database has one
    /// server. On Postgres they end by themselves.
    pub async fn release_abandoned_jobs(&self) -> Result<(), StoreError> {
        const RELEASE: &str = "UPDATE jobs SET claimed_until = NULL WHERE claimed_until IS NOT NULL";
        if let Either::Sqlite(pool) = self.db.writer() {
            sqlx::query(RELEASE).execute(pool).await?;
        }
        Ok(())
    }

    /// Writes down how far a job is.
    pub async fn update_job(&self, job: &Job) -> Result<(), StoreError> {
        const UPDATE: &str =
            "UPDATE jobs SET state = $1, total = $2, done = $3, failed = $4, errors = $5 WHERE id = $6";
        let mut tx = self.db.begin().await?;
        on!(&mut tx, |tx| sqlx::query(UPDATE)
            .bind(job.state.as_str())
            .bind(bigint(job.total))
            .bind(bigint(job.done))
            .bind(bigint(job.failed))
            .bind(serde_json::Value::from(job.errors.as_slice()).to_string())
            .bind(job.id)
            .execute(&mut **tx)
            .await
            .map(drop)?);
        tx.commit().await
    }

    /// Writes down a job that some process is to work at, in place of those of its name that have not ended: it does all
    /// that they would have done.
    pub async fn begin_job(&self, job: &Job, entry: &AuditEntry) -> Result<(), StoreError> {
        const CANCEL: &str = "UPDATE jobs SET state = 'cancelled' WHERE action = $1 AND state IN ('queued', 'running')";
        let mut tx = self.db.begin().await?;
        on!(&mut tx, |tx| sqlx::query(CANCEL).bind(&*job.action).execute(&mut **tx).await.map(drop)?);
        insert(&mut tx, job, &entry.by, entry.at).await?;
        audit::append(&mut tx, entry).await?;
        tx.commit().await
    }

    /// Writes down a job that was done in several transactions, that begins, or that some process is to work at.
    pub async fn add_job(&self, job: &Job, by: &Actor, at: Timestamp) -> Result<(), StoreError> {
        let mut tx = self.db.begin().await?;
        insert(&mut tx, job, by, at).await?;
        tx.commit().await
    }
}

/// Writes down a job that was done in the transaction that is open.
pub(crate) async fn insert_finished(
    tx: &mut Tx,
    id: Uuid,
    order: &Order<'_>,
    report: &CommandReport,
) -> Result<(), StoreError> {
    let mut job = Job::begun(id, order.command.name());
    job.add(report);
    job.end();
    insert(tx, &job, order.by, order.at).await
}

pub(crate) async fn insert(tx: &mut Tx, job: &Job, by: &Actor, at: Timestamp) -> Result<(), StoreError> {
    const INSERT: &str = "INSERT INTO jobs (id, created_at, actor, action, state, total, done, failed, errors,
        via, address, within, seen_within) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)";
    let (via, address) = origin::written(by);
    on!(tx, |tx| sqlx::query(INSERT)
        .bind(job.id)
        .bind(at.as_micros())
        .bind(by.as_str())
        .bind(&*job.action)
        .bind(job.state.as_str())
        .bind(bigint(job.total))
        .bind(bigint(job.done))
        .bind(bigint(job.failed))
        .bind(serde_json::Value::from(job.errors.as_slice()).to_string())
        .bind(via)
        .bind(&*address)
        .bind(by.scope(Right::Act).written())
        .bind(by.concerned().written())
        .execute(&mut **tx)
        .await
        .map(drop)?);
    Ok(())
}
