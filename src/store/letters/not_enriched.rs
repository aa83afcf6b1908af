//! Which letters are to be looked at, for the first time or again.

use amqp_message::time::Timestamp;
use uuid::Uuid;

use crate::{
    domain::{health::Backlog, letter::LetterId},
    store::{StoreError, StoreReader, db::on},
};

/// Letters that are counted at most of those that wait: it is asked every few seconds.
const COUNTED: i64 = 10_000;

impl StoreReader {
    /// Letters that nobody has looked at yet, the newest first.
    pub async fn not_enriched(&self, limit: u32) -> Result<Vec<LetterId>, StoreError> {
        const NOT_ENRICHED: &str = "SELECT id FROM letters WHERE named_with IS NULL ORDER BY id DESC LIMIT $1";
        let ids: Vec<Uuid> = on!(self.db.reader(), |pool| sqlx::query_scalar(NOT_ENRICHED)
            .bind(i64::from(limit))
            .fetch_all(pool)
            .await?);
        Ok(ids.into_iter().map(LetterId::from_uuid).collect())
    }

    /// How many letters nobody has looked at yet, [`COUNTED`] at most, and since when the oldest of these waits.
    pub async fn not_enriched_backlog(&self) -> Result<Backlog, StoreError> {
        const BACKLOG: &str = "SELECT COUNT(*), min(received_at) FROM
            (SELECT received_at FROM letters WHERE named_with IS NULL ORDER BY id LIMIT $1) AS oldest";
        let (letters, oldest): (i64, Option<i64>) =
            on!(self.db.reader(), |pool| sqlx::query_as(BACKLOG).bind(COUNTED).fetch_one(pool).await?);
        Ok(Backlog { letters: letters.unsigned_abs(), oldest: oldest.map(Timestamp::from_micros) })
    }

    /// Letters that were named with another edition, the newest first of those before `before`.
    pub async fn named_otherwise(
        &self,
        edition: i64,
        before: Option<LetterId>,
        limit: u32,
    ) -> Result<Vec<LetterId>, StoreError> {
        const OTHERWISE: &str = "SELECT id FROM letters WHERE named_with <> $1 AND id < $2 ORDER BY id DESC LIMIT $3";
        let before = before.map_or(Uuid::max(), LetterId::as_uuid);
        let ids: Vec<Uuid> = on!(self.db.reader(), |pool| sqlx::query_scalar(OTHERWISE)
            .bind(edition)
            .bind(before)
            .bind(i64::from(limit))
            .fetch_all(pool)
            .await?);
        Ok(ids.into_iter().map(LetterId::from_uuid).collect())
    }

    /// How many were named with another edition.
    pub async fn count_named_otherwise(&self, edition: i64) -> Result<u64, StoreError> {
        const COUNT: &str = "SELECT COUNT(*) FROM letters WHERE named_with <> $1";
        let count: i64 = on!(self.db.reader(), |pool| sqlx::query_scalar(COUNT).bind(edition).fetch_one(pool).await?);
        Ok(count.unsigned_abs())
    }
}
