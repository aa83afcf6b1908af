//! Jobs: long work that can be watched.

use uuid::Uuid;

use super::{
    Store, StoreError,
    commands::Order,
    db::{Tx, on},
    rows::{JobRow, bigint},
};
use crate::domain::{
    command::CommandReport,
    job::{Job, JobState},
};

/// A job tells the first few refusals; thousands of equal sentences help nobody.
const ERRORS: usize = 100;

impl Store {
    pub async fn job(&self, id: Uuid) -> Result<Option<Job>, StoreError> {
        const SELECT: &str = "SELECT id, action, state, total, done, failed, errors FROM jobs WHERE id = $1";
        let row: Option<JobRow> =
            on!(self.db.reader(), |pool| sqlx::query_as(SELECT).bind(id).fetch_optional(pool).await?);
        row.map(Job::try_from).transpose()
    }
}

/// Writes down a job that was done in the transaction that is open.
pub(super) async fn insert_finished(
    tx: &mut Tx,
    id: Uuid,
    order: &Order<'_>,
    report: &CommandReport,
) -> Result<(), StoreError> {
    const INSERT: &str = "INSERT INTO jobs (id, created_at, actor, action, state, total, done, failed, errors)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)";
    let (done, failed) = (report.done.len() as u64, report.refused.len() as u64);
    let state = if failed == 0 { JobState::Done } else { JobState::Failed };
    let errors: Vec<String> =
        report.refused.iter().take(ERRORS).map(|(letter, refusal)| format!("{letter}: {refusal}")).collect();
    on!(tx, |tx| sqlx::query(INSERT)
        .bind(id)
        .bind(order.at.as_micros())
        .bind(order.by.as_str())
        .bind(order.command.name())
        .bind(state.as_str())
        .bind(bigint(done + failed))
        .bind(bigint(done))
        .bind(bigint(failed))
        .bind(serde_json::Value::from(errors).to_string())
        .execute(&mut **tx)
        .await
        .map(drop)?);
    Ok(())
}
