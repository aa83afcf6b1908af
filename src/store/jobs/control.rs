//! Pausing, resuming and cancelling jobs.

use amqp_message::time::Timestamp;
use uuid::Uuid;

use crate::{
    domain::activity::AuditEntry,
    store::{Store, StoreError, audit, db::on},
};

impl Store {
    /// Cancels a job that has not ended, or whose retries are not all sent; says whether there was such a job. What it has
    /// released and not sent is taken back from then on.
    pub async fn cancel_job(&self, id: Uuid, entry: &AuditEntry) -> Result<bool, StoreError> {
        const CANCEL: &str =
            "UPDATE jobs SET state = 'cancelled', next_at = CASE WHEN action = 'retry' THEN CAST($1 AS BIGINT) END
            WHERE id = $2 AND (state IN ('queued', 'running', 'paused') OR (state IN ('done', 'failed')
                AND EXISTS (SELECT 1 FROM retries WHERE job_id = jobs.id)))";
        self.control(CANCEL, id, entry).await
    }

    /// Pauses a job that goes on, or whose retries are not all sent. Where all of them were scheduled its walk is over: it is
    /// about what is taken back from then on, and not about what somebody has reopened since.
    pub async fn pause_job(&self, id: Uuid, entry: &AuditEntry) -> Result<bool, StoreError> {
        const PAUSE: &str = "UPDATE jobs SET state = 'paused', next_at = $1,
            stage = CASE WHEN stage = '' AND state <> 'running' THEN 'rest' ELSE stage END
            WHERE id = $2 AND action = 'retry' AND bulk IS NOT NULL
            AND (state = 'running' OR (state IN ('done', 'failed')
                AND EXISTS (SELECT 1 FROM retries WHERE job_id = jobs.id)))";
        self.control(PAUSE, id, entry).await
    }

    /// Goes on with a job that was paused. One that was paused in its walk has its letters written down first: some are
    /// taken back, and how far it had come is not known. One whose letters are known begins with what it has passed over, as
    /// their queues may have been resumed meanwhile.
    pub async fn resume_job(&self, id: Uuid, entry: &AuditEntry) -> Result<bool, StoreError> {
        const RESUME: &str = "UPDATE jobs SET state = 'running', claimed_until = NULL,
            stage = CASE WHEN stage = '' THEN 'freezing' ELSE stage END,
            position = CASE WHEN stage IN ('', 'freezing') THEN position END,
            next_at = CASE WHEN stage IN ('', 'freezing') THEN NULL ELSE CAST($1 AS BIGINT) END
            WHERE id = $2 AND state = 'paused'";
        self.control(RESUME, id, entry).await
    }

    /// What a job had released and not sent is taken back, as far as it was not being sent; if any is left it is looked at again
    /// at that time.
    pub async fn taken_back(&self, id: Uuid, next_at: Timestamp) -> Result<(), StoreError> {
        const DONE: &str = "UPDATE jobs SET next_at = CASE WHEN EXISTS (SELECT 1 FROM retries WHERE job_id = jobs.id)
            THEN CAST($1 AS BIGINT) END WHERE id = $2 AND state IN ('paused', 'cancelled', 'stopped')";
        let next_at = next_at.as_micros();
        on!(self.db.writer(), |pool| sqlx::query(DONE).bind(next_at).bind(id).execute(pool).await.map(drop)?);
        Ok(())
    }

    async fn control(&self, statement: &'static str, id: Uuid, entry: &AuditEntry) -> Result<bool, StoreError> {
        let mut tx = self.db.begin().await?;
        let rows = on!(&mut tx, |tx| sqlx::query(statement)
            .bind(entry.at.as_micros())
            .bind(id)
            .execute(&mut **tx)
            .await?
            .rows_affected());
        if rows > 0 {
            audit::append(&mut tx, entry).await?;
        }
        tx.commit().await?;
        Ok(rows > 0)
    }
}
