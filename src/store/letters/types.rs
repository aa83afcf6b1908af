//! Which types letters are of, and where.

use std::collections::BTreeMap;

use crate::store::{StoreError, StoreReader, db::on};

impl StoreReader {
    /// The types that people have given to letters of a queue, and to how many.
    pub async fn confirmed_types(&self, broker: &str, queue: &str) -> Result<Vec<(String, u64)>, StoreError> {
        const CONFIRMED: &str = "SELECT l.message_type, COUNT(*) FROM letters l JOIN facets f ON f.id = l.facet_id
            WHERE l.type_source = 'manual' AND l.message_type IS NOT NULL AND f.broker = $1 AND f.queue = $2
            GROUP BY l.message_type";
        if !self.scope.includes(broker, queue) {
            return Ok(Vec::new());
        }
        let rows: Vec<(String, i64)> =
            on!(self.db.reader(), |pool| sqlx::query_as(CONFIRMED).bind(broker).bind(queue).fetch_all(pool).await?);
        Ok(rows.into_iter().map(|(name, count)| (name, count.unsigned_abs())).collect())
    }

    /// How many letters of a type are open, by broker and queue; the queues with most of them first.
    pub async fn seen(&self, message_type: &str, limit: u32) -> Result<Vec<(String, String, u64)>, StoreError> {
        const SEEN: &str = "SELECT f.broker, f.queue, COUNT(*) AS n FROM letters l JOIN facets f ON f.id = l.facet_id
            WHERE l.message_type = $1 AND f.status = 'open' GROUP BY f.broker, f.queue
            ORDER BY n DESC, f.broker, f.queue LIMIT $2";
        let rows: Vec<(String, String, i64)> = on!(self.db.reader(), |pool| sqlx::query_as(SEEN)
            .bind(message_type)
            .bind(if self.scope.is_everything() { i64::from(limit) } else { i64::MAX })
            .fetch_all(pool)
            .await?);
        let theirs = rows.into_iter().filter(|(broker, queue, _)| self.scope.includes(broker, queue));
        let seen = theirs.map(|(broker, queue, n)| (broker, queue, n.unsigned_abs()));
        Ok(seen.take(usize::try_from(limit).unwrap_or(usize::MAX)).collect())
    }

    /// The types of open letters, and how many there are of each.
    pub async fn open_types(&self) -> Result<Vec<(String, u64)>, StoreError> {
        const TYPES: &str = "SELECT broker, queue, message_type, CAST(sum(critical + high + normal + low) AS BIGINT)
            FROM groups WHERE critical + high + normal + low > 0 AND message_type <> ''
            GROUP BY broker, queue, message_type";
        let rows: Vec<(String, String, String, i64)> =
            on!(self.db.reader(), |pool| sqlx::query_as(TYPES).fetch_all(pool).await?);
        let mut types: BTreeMap<String, u64> = BTreeMap::new();
        for (_, _, name, count) in rows.into_iter().filter(|(broker, queue, ..)| self.scope.includes(broker, queue)) {
            *types.entry(name).or_default() += count.unsigned_abs();
        }
        Ok(types.into_iter().collect())
    }
}
