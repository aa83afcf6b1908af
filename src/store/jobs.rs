//! Jobs: long work that can be watched.

use uuid::Uuid;

use super::{
    Store, StoreError,
    commands::Order,
    db::{Tx, on},
    rows::{JobRow, bigint},
};
use crate::domain::{actor::Actor, command::CommandReport, job::Job, time::Timestamp};

impl Store {
    pub async fn job(&self, id: Uuid) -> Result<Option<Job>, StoreError> {
        const SELECT: &str = "SELECT id, action, state, total, done, failed, errors FROM jobs WHERE id = $1";
        let row: Option<JobRow> =
            on!(self.db.reader(), |pool| sqlx::query_as(SELECT).bind(id).fetch_optional(pool).await?);
        row.map(Job::try_from).transpose()
    }

    /// The job of this name that began last.
    pub async fn latest_job(&self, action: &str) -> Result<Option<Job>, StoreError> {
        const SELECT: &str = "SELECT id, action, state, total, done, failed, errors FROM jobs WHERE action = $1
            ORDER BY created_at DESC, id DESC LIMIT 1";
        let row: Option<JobRow> =
            on!(self.db.reader(), |pool| sqlx::query_as(SELECT).bind(action).fetch_optional(pool).await?);
        row.map(Job::try_from).transpose()
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

    /// Writes down a job that was done in several transactions, or that begins.
    pub async fn add_job(&self, job: &Job, by: &Actor, at: Timestamp) -> Result<(), StoreError> {
        let mut tx = self.db.begin().await?;
        insert(&mut tx, job, by, at).await?;
        tx.commit().await
    }
}

/// Writes down a job that was done in the transaction that is open.
pub(super) async fn insert_finished(
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

async fn insert(tx: &mut Tx, job: &Job, by: &Actor, at: Timestamp) -> Result<(), StoreError> {
    const INSERT: &str = "INSERT INTO jobs (id, created_at, actor, action, state, total, done, failed, errors)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)";
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
        .execute(&mut **tx)
        .await
        .map(drop)?);
    Ok(())
}
