//! Removing what nothing is counted in any more.

use std::collections::HashSet;

use amqp_message::time::Timestamp;
use sqlx::QueryBuilder;

use super::facets::FacetId;
use crate::store::{
    Store, StoreError,
    db::{Sql, id_list::numbers, on},
};

impl Store {
    /// Removes facets that no letter has any more, with their slices; `limit` at most. The answer is how many.
    pub async fn forget_facets(&self, limit: u32) -> Result<usize, StoreError> {
        const EMPTY: Sql = Sql {
            sqlite: "SELECT id FROM facets WHERE count = 0 LIMIT $1",
            // Whoever holds one is about to count in it.
            postgres: "SELECT id FROM facets WHERE count = 0 LIMIT $1 FOR UPDATE SKIP LOCKED",
        };
        let empty = EMPTY.pick(self.db.writer());
        let mut tx = self.db.begin().await?;
        let ids: Vec<i64> =
            on!(&mut tx, |tx| sqlx::query_scalar(empty).bind(i64::from(limit)).fetch_all(&mut **tx).await?);
        if ids.is_empty() {
            return Ok(0);
        }
        self.facets.forget(&ids.iter().copied().map(FacetId).collect::<HashSet<_>>());
        for delete in [
            "DELETE FROM facets WHERE id IN ",
            "DELETE FROM slices WHERE scope IN ",
            "DELETE FROM days WHERE scope IN ",
        ] {
            on!(&mut tx, |tx| {
                let mut delete = QueryBuilder::new(delete);
                delete.push(numbers(ids.iter().copied())).build().persistent(false).execute(&mut **tx).await?;
            });
        }
        tx.commit().await?;
        Ok(ids.len())
    }

    /// Removes slices and days that hold nothing; `limit` of each at most. The answer is how many.
    pub async fn forget_slices(&self, limit: u32) -> Result<u64, StoreError> {
        const SLICE_IS_THERE: &str = "SELECT EXISTS (SELECT 1 FROM slices WHERE count = 0)";
        const SLICES: Sql = Sql {
            sqlite: "DELETE FROM slices WHERE (scope, start) IN (
                SELECT scope, start FROM slices WHERE count = 0 LIMIT $1)",
            postgres: "DELETE FROM slices WHERE ctid = ANY(ARRAY(
                SELECT ctid FROM slices WHERE count = 0 LIMIT $1 FOR UPDATE SKIP LOCKED))",
        };
        const DAY_IS_THERE: &str = "SELECT EXISTS (SELECT 1 FROM days WHERE count = 0)";
        const DAYS: Sql = Sql {
            sqlite: "DELETE FROM days WHERE (scope, start) IN (
                SELECT scope, start FROM days WHERE count = 0 LIMIT $1)",
            postgres: "DELETE FROM days WHERE ctid = ANY(ARRAY(
                SELECT ctid FROM days WHERE count = 0 LIMIT $1 FOR UPDATE SKIP LOCKED))",
        };
        Ok(self.forget_some(SLICE_IS_THERE, None, &SLICES, limit).await?
            + self.forget_some(DAY_IS_THERE, None, &DAYS, limit).await?)
    }

    /// Removes outcomes of automatic retries on days before that; `limit` at most. The answer is how many.
    pub async fn forget_retry_counts(&self, before: Timestamp, limit: u32) -> Result<u64, StoreError> {
        const IS_THERE: &str = "SELECT EXISTS (SELECT 1 FROM retry_counts WHERE start < $1)";
        const OLD: Sql = Sql {
            sqlite: "DELETE FROM retry_counts WHERE (broker, queue, start, failures) IN (
                SELECT broker, queue, start, failures FROM retry_counts WHERE start < $2 LIMIT $1)",
            postgres: "DELETE FROM retry_counts WHERE ctid = ANY(ARRAY(
                SELECT ctid FROM retry_counts WHERE start < $2 LIMIT $1 FOR UPDATE SKIP LOCKED))",
        };
        self.forget_some(IS_THERE, Some(before), &OLD, limit).await
    }

    /// Removes jobs that have ended and were begun before that; `limit` at most. The answer is how many.
    pub async fn forget_jobs(&self, before: Timestamp, limit: u32) -> Result<u64, StoreError> {
        const IS_THERE: &str =
            "SELECT EXISTS (SELECT 1 FROM jobs WHERE created_at < $1 AND state NOT IN ('queued', 'running', 'paused'))";
        const ENDED: Sql = Sql {
            sqlite: "DELETE FROM jobs WHERE id IN (SELECT id FROM jobs
                WHERE created_at < $2 AND state NOT IN ('queued', 'running', 'paused') LIMIT $1)",
            postgres: "DELETE FROM jobs WHERE id = ANY(ARRAY(SELECT id FROM jobs
                WHERE created_at < $2 AND state NOT IN ('queued', 'running', 'paused') LIMIT $1 FOR UPDATE SKIP LOCKED))",
        };
        self.forget_some(IS_THERE, Some(before), &ENDED, limit).await
    }

    /// Asks first: to look through a whole table must not keep the one writer of SQLite from its work.
    async fn forget_some(
        &self,
        is_there: &'static str,
        before: Option<Timestamp>,
        delete: &Sql,
        limit: u32,
    ) -> Result<u64, StoreError> {
        let before = before.map(Timestamp::as_micros);
        let is_there: bool = on!(self.db.reader(), |pool| {
            let mut ask = sqlx::query_scalar(is_there);
            if let Some(before) = before {
                ask = ask.bind(before);
            }
            ask.fetch_one(pool).await?
        });
        if !is_there {
            return Ok(0);
        }
        let delete = delete.pick(self.db.writer());
        Ok(on!(self.db.writer(), |pool| {
            let mut delete = sqlx::query(delete).bind(i64::from(limit));
            if let Some(before) = before {
                delete = delete.bind(before);
            }
            delete.execute(pool).await?.rows_affected()
        }))
    }
}
