//! Work on all letters of a filter, a portion of them in each transaction, which also counts them: so what a job says of
//! itself is true after any crash, and nothing is done once somebody has stopped it.

use amqp_message::time::Timestamp;

use crate::{
    domain::{
        command::CommandReport,
        job::{Bulk, Job},
    },
    store::{
        BulkAudit, Order, Store, StoreError,
        db::{Tx, on},
        letters::{commands::carry_out, rows::bigint},
    },
};

/// A job that is worked at, as far as it has come.
pub struct BulkWork<'a> {
    pub job: Job,
    pub bulk: &'a Bulk,
    /// Until when it is held by who works at it.
    pub held_until: Timestamp,
}

impl Store {
    /// Carries out a command on the next letters of a job; all portions together are one entry. The answer is whether the job
    /// goes on: nothing is done where it does not.
    pub async fn act_on_portion(
        &self,
        order: &Order<'_>,
        whole: &mut BulkAudit,
        work: &mut BulkWork<'_>,
    ) -> Result<Option<CommandReport>, StoreError> {
        let mut tx = self.db.begin().await?;
        let mut scope = self.facet_scope();
        let carried = carry_out(&mut tx, &mut scope, order, whole.job).await?;
        let seq = whole.append(&mut tx, carried.changed.len() as u64).await?;
        let Some(job) = work.count(&mut tx, &carried.report).await? else { return Ok(None) };
        tx.commit().await?;
        scope.committed();
        whole.committed(seq);
        work.job = job;
        Ok(Some(carried.report))
    }

    /// Counts letters of a job that are refused without being tried. The answer is whether it goes on.
    pub async fn count_refused(&self, refused: &CommandReport, work: &mut BulkWork<'_>) -> Result<bool, StoreError> {
        let mut tx = self.db.begin().await?;
        let Some(job) = work.count(&mut tx, refused).await? else { return Ok(false) };
        tx.commit().await?;
        work.job = job;
        Ok(true)
    }
}

impl BulkWork<'_> {
    /// Adds letters to what is kept of the job; the answer is the job with these. `None`: somebody has stopped it.
    async fn count(&self, tx: &mut Tx, report: &CommandReport) -> Result<Option<Job>, StoreError> {
        const ADD: &str = "UPDATE jobs SET total = $1, done = done + $2, failed = failed + $3, skipped = skipped + $4,
            errors = $5, claimed_until = $6 WHERE id = $7 AND state = 'running' AND stage = ''";
        let (before, mut job) = (&self.job, self.job.clone());
        job.add_of(self.bulk, report);
        let rows = on!(tx, |tx| sqlx::query(ADD)
            .bind(bigint(job.total))
            .bind(bigint(job.done - before.done))
            .bind(bigint(job.failed - before.failed))
            .bind(bigint(job.skipped - before.skipped))
            .bind(serde_json::Value::from(job.errors.as_slice()).to_string())
            .bind(self.held_until.as_micros())
            .bind(job.id)
            .execute(&mut **tx)
            .await?
            .rows_affected());
        Ok((rows > 0).then_some(job))
    }
}
