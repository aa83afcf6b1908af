//! Letters of jobs that wait to be sent, and those whose outcome is not known yet.

use std::collections::HashMap;

use amqp_message::time::Timestamp;
use sqlx::QueryBuilder;
use uuid::Uuid;

use crate::{
    domain::job::{JobLetters, JobRecord},
    store::{
        StoreError, StoreReader,
        db::{id_list::push_uuids, on},
    },
};

impl StoreReader {
    /// What is known of the letters of each of these jobs; those that were sent after `pending_since` and not seen since
    /// are pending.
    pub async fn job_letters(
        &self,
        jobs: &[JobRecord],
        pending_since: Timestamp,
    ) -> Result<Vec<(Uuid, JobLetters)>, StoreError> {
        let mut letters = self.waiting_letters(&jobs.iter().map(|record| record.job.id).collect::<Vec<_>>()).await?;
        let told = |record: &JobRecord| record.pending_since(pending_since);
        let to_count = jobs.iter().filter(|record| told(record).is_none()).map(|record| record.job.id);
        let counted = self.count_sent(to_count.collect(), pending_since).await?;
        for (record, (id, letters)) in jobs.iter().zip(&mut letters) {
            letters.pending = told(record).unwrap_or_else(|| counted.get(id).copied().unwrap_or_default());
            letters.is_held = letters.is_held || self.passes_over(record).await?;
        }
        Ok(letters)
    }

    /// The letters of each of these jobs that wait.
    pub(super) async fn waiting_letters(&self, jobs: &[Uuid]) -> Result<Vec<(Uuid, JobLetters)>, StoreError> {
        // All that is counted stands in an index; of a million rows themselves only the first are read.
        let counted: Vec<(Uuid, i64)> = on!(self.db.reader(), |pool| {
            let mut wait = QueryBuilder::new("SELECT job_id, COUNT(*) FROM retries WHERE job_id IN ");
            push_uuids(&mut wait, jobs.to_vec());
            wait.push(" GROUP BY job_id").build_query_as().fetch_all(pool).await?
        });
        let mut letters = Vec::with_capacity(jobs.len());
        for job in jobs {
            let waiting = match counted.iter().find(|(id, _)| id == job) {
                Some((_, count)) => self.first_waiting(*job, count.unsigned_abs()).await?,
                None => JobLetters::default(),
            };
            letters.push((*job, waiting));
        }
        Ok(letters)
    }

    async fn first_waiting(&self, job: Uuid, waiting: u64) -> Result<JobLetters, StoreError> {
        // What a server has claimed does not wait for the broker, and may be that of one that has died; nor does what is held
        // for its queue. What is due first is claimed first, ten thousand at once, and held first.
        const FIRST: &str = "SELECT
            CASE WHEN MIN(held) = 0 THEN (SELECT due_at FROM retries
                WHERE job_id = $1 AND claimed_until IS NULL AND held = 0 ORDER BY due_at LIMIT 1) END,
            MIN(claimed_until), MAX(held)
            FROM (SELECT claimed_until, held FROM retries WHERE job_id = $1 ORDER BY due_at LIMIT 10000) AS oldest";
        let (since, until, held): (Option<i64>, Option<i64>, Option<i64>) =
            on!(self.db.reader(), |pool| sqlx::query_as(FIRST).bind(job).fetch_one(pool).await?);
        Ok(JobLetters {
            waiting,
            waiting_since: since.map(Timestamp::from_micros),
            is_held: held.is_some_and(|held| held > 0),
            claimed_until: until.map(Timestamp::from_micros),
            pending: 0,
        })
    }

    /// The letters of each of these jobs that it has sent since then, and that were not seen since.
    async fn count_sent(&self, jobs: Vec<Uuid>, since: Timestamp) -> Result<HashMap<Uuid, u64>, StoreError> {
        if jobs.is_empty() {
            return Ok(HashMap::new());
        }
        let rows: Vec<(Uuid, i64)> = on!(self.db.reader(), |pool| {
            let mut sent = QueryBuilder::new("SELECT job_id, COUNT(*) FROM job_letters WHERE state = 'sent' AND at > ");
            sent.push_bind(since.as_micros()).push(" AND job_id IN ");
            push_uuids(&mut sent, jobs);
            sent.push(" GROUP BY job_id").build_query_as().fetch_all(pool).await?
        });
        Ok(rows.into_iter().map(|(job, count)| (job, count.unsigned_abs())).collect())
    }
}
