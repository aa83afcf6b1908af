//! Letters of retries that are held back, sent on their way or taken back.

use amqp_message::time::Timestamp;
use sqlx::QueryBuilder;
use uuid::Uuid;

use super::held_back::{Advance, HeldBack, advance, write_frozen};
use crate::{
    domain::{command::CommandReport, job::JobState, letter::LetterId},
    store::{
        BulkAudit, Order, Store, StoreError,
        db::{id_list::push_ids, on},
        letters::{commands::carry_out, rows::bigint},
    },
};

/// Ids in one statement.
const CHUNK: usize = 1_000;

impl Store {
    /// Releases letters of a job, which goes on to there: those of `order` are to be sent, `left_out` are refused beforehand.
    /// `None`: the job is not as it was, and nothing is done.
    pub async fn release(
        &self,
        order: &Order<'_>,
        left_out: &CommandReport,
        held: &HeldBack,
        audit: BulkAudit,
        to: Advance,
    ) -> Result<Option<CommandReport>, StoreError> {
        const RELEASED: &str = "UPDATE job_letters SET state = 'released', at = ";
        let mut job = held.claimed.job.clone();
        let mut tx = self.db.begin().await?;
        let mut scope = self.facet_scope();
        let carried = carry_out(&mut tx, &mut scope, order, Some(job.id)).await?;
        let audit = audit.of_job(job.id, held.seq);
        let seq = audit.append(&mut tx, carried.changed.len() as u64).await?;
        let ids: Vec<LetterId> = order.ids.iter().copied().chain(left_out.refused.iter().map(|(id, _)| *id)).collect();
        for chunk in ids.chunks(CHUNK) {
            on!(&mut tx, |tx| {
                let mut update = QueryBuilder::new(RELEASED);
                update.push_bind(order.at.as_micros()).push(" WHERE state = 'frozen' AND job_id = ").push_bind(job.id);
                push_ids(update.push(" AND letter_id IN "), chunk);
                update.build().execute(&mut **tx).await?;
            });
        }
        for report in [&carried.report, left_out] {
            job.add_of(&held.claimed.bulk, report);
        }
        let is_as_it_was = advance(&mut tx, held, &job, Advance { seq, ..to }).await?;
        if !is_as_it_was {
            return Ok(None);
        }
        tx.commit().await?;
        scope.committed();
        Ok(Some(carried.report))
    }

    /// No letter of a job is left that it has not released.
    pub async fn nothing_left(&self, job: Uuid) -> Result<(), StoreError> {
        const NONE: &str = "UPDATE jobs SET total = done + failed + skipped WHERE id = $1";
        on!(self.db.writer(), |pool| sqlx::query(NONE).bind(job).execute(pool).await.map(drop)?);
        Ok(())
    }

    /// Letters of a job that wait to be sent and are not being sent at this moment: what a server has claimed that died is not.
    pub async fn released_waiting(&self, job: Uuid, now: Timestamp, limit: usize) -> Result<Vec<LetterId>, StoreError> {
        const NEXT: &str = "SELECT letter_id FROM retries WHERE job_id = $1
            AND (claimed_until IS NULL OR claimed_until <= $2) ORDER BY due_at LIMIT $3";
        let ids: Vec<Uuid> = on!(self.db.reader(), |pool| sqlx::query_scalar(NEXT)
            .bind(job)
            .bind(now.as_micros())
            .bind(bigint(limit as u64))
            .fetch_all(pool)
            .await?);
        Ok(ids.into_iter().map(LetterId::from_uuid).collect())
    }

    /// Takes back letters of a job that were not sent yet; if it is only paused they are its own still. The answer is how
    /// many; none of a job that goes on, as when it was resumed meanwhile.
    pub async fn take_back(&self, job: Uuid, order: &Order<'_>) -> Result<u64, StoreError> {
        const STATE: &str = "SELECT state FROM jobs WHERE id = $1 AND state IN ('paused', 'cancelled', 'stopped')";
        // An older server may have counted fewer than it has released.
        const BACK: &str = "UPDATE jobs SET done = CASE WHEN done > $1 THEN done - $1 ELSE 0 END
            WHERE id = $2 AND state = $3";
        let mut tx = self.db.begin().await?;
        let mut scope = self.facet_scope();
        let carried = carry_out(&mut tx, &mut scope, order, Some(job)).await?;
        let state: Option<String> =
            on!(&mut tx, |tx| sqlx::query_scalar(STATE).bind(job).fetch_optional(&mut **tx).await?);
        let Some(state) = state else { return Ok(0) };
        if state == JobState::Paused.as_str() {
            write_frozen(&mut tx, job, &carried.report.done, order.at).await?;
        }
        let back = carried.report.done.len() as u64;
        let is_as_it_was = on!(&mut tx, |tx| sqlx::query(BACK)
            .bind(bigint(back))
            .bind(job)
            .bind(state)
            .execute(&mut **tx)
            .await?
            .rows_affected());
        if is_as_it_was == 0 {
            return Ok(0);
        }
        tx.commit().await?;
        scope.committed();
        Ok(back)
    }
}
