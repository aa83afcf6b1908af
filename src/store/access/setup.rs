//! Links that make the first admin.

use amqp_message::time::Timestamp;

use super::SecretHash;
use crate::store::{Store, StoreError, StoreReader, db::on};

impl StoreReader {
    /// Whether the link can be used.
    pub async fn is_setup_link(&self, hash: &SecretHash, now: Timestamp) -> Result<bool, StoreError> {
        const SELECT: &str = "SELECT COUNT(*) FROM setup_links WHERE hash = $1 AND ends_at > $2";
        let count: i64 = on!(self.db.reader(), |pool| sqlx::query_scalar(SELECT)
            .bind(&hash[..])
            .bind(now.as_micros())
            .fetch_one(pool)
            .await?);
        Ok(count > 0)
    }
}

impl Store {
    /// Adds a link that can be used until then.
    pub async fn add_setup_link(&self, hash: &SecretHash, ends_at: Timestamp) -> Result<(), StoreError> {
        const ADD: &str = "INSERT INTO setup_links (hash, ends_at) VALUES ($1, $2)";
        on!(self.db.writer(), |pool| sqlx::query(ADD)
            .bind(&hash[..])
            .bind(ends_at.as_micros())
            .execute(pool)
            .await
            .map(drop)?);
        Ok(())
    }
}
