//! The outcomes of the retries of a job, by what they failed with.

use amqp_message::time::Timestamp;
use sqlx::QueryBuilder;
use uuid::Uuid;

use crate::{
    domain::{filter::LetterFilter, group::GroupId, letter::LetterId},
    store::{
        Store, StoreError, StoreReader,
        counts::times::push_times,
        db::{Sql, on},
        letters::rows::bigint,
    },
};

/// The most kinds of failures that are told apart.
const KINDS: u64 = 200;

impl StoreReader {
    /// How many letters of a job failed again, by the group that they are in now; without one they are not looked at yet, or
    /// not kept any more.
    pub async fn job_failures(&self, job: Uuid) -> Result<Vec<(Option<GroupId>, u64)>, StoreError> {
        const SELECT: Sql = Sql {
            sqlite: "SELECT l.group_id, COUNT(*) FROM job_letters j INDEXED BY job_letters_failed
                LEFT JOIN letters l ON l.id = j.letter_id
                WHERE j.job_id = $1 AND j.state = 'failed' GROUP BY l.group_id ORDER BY COUNT(*) DESC LIMIT $2",
            postgres: "SELECT l.group_id, COUNT(*) FROM job_letters j LEFT JOIN letters l ON l.id = j.letter_id
                WHERE j.job_id = $1 AND j.state = 'failed' GROUP BY l.group_id ORDER BY COUNT(*) DESC LIMIT $2",
        };
        let select = SELECT.pick(self.db.reader());
        let rows: Vec<(Option<Uuid>, i64)> =
            on!(self.db.reader(), |pool| sqlx::query_as(select).bind(job).bind(bigint(KINDS)).fetch_all(pool).await?);
        let found = |(group, count): (Option<Uuid>, i64)| (group.map(GroupId::from_uuid), count.unsigned_abs());
        Ok(rows.into_iter().map(found).collect())
    }

    /// How many of the letters that match must not be retried: by why, and by queue.
    pub async fn dangerous(&self, filter: &LetterFilter) -> Result<Vec<(String, String, u64)>, StoreError> {
        let matching = self.matching(filter).await?;
        let (plan, ranges) = (self.plan(filter, &matching).await?, matching.ranges());
        let mut found = Vec::new();
        for range in ranges {
            let rows: Vec<(String, String, i64)> = on!(self.db.reader(), |pool| {
                let mut count = QueryBuilder::new(
                    "SELECT danger, f.queue, COUNT(*) FROM letters l JOIN facets f ON f.id = l.facet_id
                    WHERE danger IS NOT NULL AND ",
                );
                range.push(&mut count);
                push_times(&mut count, filter, "l.");
                if let Some(plan) = &plan {
                    plan.push_whole(&mut count);
                }
                count.push(" GROUP BY danger, f.queue").build_query_as().persistent(false).fetch_all(pool).await?
            });
            found.extend(rows.into_iter().map(|(danger, queue, count)| (danger, queue, count.unsigned_abs())));
        }
        Ok(found)
    }

    /// The groups that the letters are in that match.
    pub async fn groups_of_letters(&self, filter: &LetterFilter) -> Result<Vec<GroupId>, StoreError> {
        let matching = self.matching(filter).await?;
        if matching.facets.is_empty() {
            return Ok(Vec::new());
        }
        let plan = self.plan(filter, &matching).await?;
        let mut tx = match &plan {
            Some(plan) => self.begin_for(plan).await?,
            None => self.db.snapshot().await?,
        };
        let groups: Vec<Uuid> = on!(&mut tx, |tx| {
            let mut select = QueryBuilder::new("SELECT DISTINCT l.group_id ");
            match &plan {
                Some(plan) => plan.push_letters(&mut select, &matching, false),
                None => matching.push_letters(&mut select),
            }
            push_times(&mut select, filter, "l.");
            select.push(" AND l.group_id IS NOT NULL");
            select.build_query_scalar().persistent(false).fetch_all(&mut **tx).await?
        });
        Ok(groups.into_iter().map(GroupId::from_uuid).collect())
    }

    /// Letters of a job in one state, for its report.
    pub async fn letters_of_job(&self, job: Uuid, state: &str, limit: usize) -> Result<Vec<LetterId>, StoreError> {
        const SELECT: &str =
            "SELECT letter_id FROM job_letters WHERE job_id = $1 AND state = $2 ORDER BY letter_id LIMIT $3";
        let ids: Vec<Uuid> = on!(self.db.reader(), |pool| sqlx::query_scalar(SELECT)
            .bind(job)
            .bind(state)
            .bind(bigint(limit as u64))
            .fetch_all(pool)
            .await?);
        Ok(ids.into_iter().map(LetterId::from_uuid).collect())
    }
}

impl Store {
    /// Removes what is kept of letters of jobs that were begun before that and do not go on; `limit` at most.
    pub async fn forget_job_letters(&self, before: Timestamp, limit: u32) -> Result<u64, StoreError> {
        const OLD: Sql = Sql {
            sqlite: "DELETE FROM job_letters WHERE (job_id, letter_id) IN (SELECT l.job_id, l.letter_id
                FROM jobs j JOIN job_letters l ON l.job_id = j.id
                WHERE j.created_at < $2 AND j.state NOT IN ('queued', 'running', 'paused') LIMIT $1)",
            postgres: "DELETE FROM job_letters WHERE ctid = ANY(ARRAY(SELECT l.ctid
                FROM jobs j JOIN job_letters l ON l.job_id = j.id
                WHERE j.created_at < $2 AND j.state NOT IN ('queued', 'running', 'paused') LIMIT $1))",
        };
        let sql = OLD.pick(self.db.writer());
        Ok(on!(self.db.writer(), |pool| sqlx::query(sql)
            .bind(i64::from(limit))
            .bind(before.as_micros())
            .execute(pool)
            .await?
            .rows_affected()))
    }
}
