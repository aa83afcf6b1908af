//! Of which types letters are, as far as schemas and mappings tell.
//!
//! A letter remembers the *edition* it was named with, a number that stands for the schemas and mappings in force.

use uuid::Uuid;

use super::{
    Store, StoreError,
    columns::{self, Column},
    db::on,
};
use crate::domain::letter::{LetterId, TypeSource};

/// Rows in one statement.
const CHUNK: usize = 500;

/// What a letter was found to be.
#[derive(Clone, Debug, PartialEq)]
pub struct NewName {
    pub letter: LetterId,
    pub message_type: Option<String>,
    pub source: Option<TypeSource>,
    /// From 0 to 1, of a guess.
    pub confidence: Option<f64>,
}

impl Store {
    /// Letters that nobody has looked at yet, the newest first.
    pub async fn unnamed(&self, limit: u32) -> Result<Vec<LetterId>, StoreError> {
        const UNNAMED: &str = "SELECT id FROM letters WHERE named_with IS NULL ORDER BY id DESC LIMIT $1";
        let ids: Vec<Uuid> =
            on!(self.db.reader(), |pool| sqlx::query_scalar(UNNAMED).bind(i64::from(limit)).fetch_all(pool).await?);
        Ok(ids.into_iter().map(LetterId::from_uuid).collect())
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

    /// Writes down what letters were found to be, unless a person has said it.
    pub async fn name(&self, names: &[NewName], edition: i64) -> Result<(), StoreError> {
        const UPDATE: [&str; 2] = [
            "WITH found (id, message_type, type_source, type_confidence, named_with) AS (",
            ") UPDATE letters SET named_with = found.named_with,
                message_type = CASE WHEN letters.type_source = 'manual'
                    THEN letters.message_type ELSE found.message_type END,
                type_confidence = CASE WHEN letters.type_source = 'manual'
                    THEN NULL ELSE found.type_confidence END,
                type_source = CASE WHEN letters.type_source = 'manual' THEN 'manual' ELSE found.type_source END
            FROM found WHERE letters.id = found.id",
        ];
        let mut tx = self.db.begin().await?;
        for chunk in names.chunks(CHUNK) {
            let columns = vec![
                Column::ids(chunk, |name| name.letter.as_uuid()),
                Column::perhaps_texts(chunk, |name| name.message_type.as_deref()),
                Column::perhaps_texts(chunk, |name| name.source.map(TypeSource::as_str)),
                Column::perhaps_reals(chunk, |name| name.confidence),
                Column::numbers(chunk, |_| edition),
            ];
            columns::execute(&mut tx, UPDATE, columns).await?;
        }
        tx.commit().await
    }

    /// The types that people have given to letters of a queue, and to how many.
    pub async fn confirmed_types(&self, broker: &str, queue: &str) -> Result<Vec<(String, u64)>, StoreError> {
        const CONFIRMED: &str = "SELECT l.message_type, COUNT(*) FROM letters l JOIN facets f ON f.id = l.facet_id
            WHERE l.type_source = 'manual' AND l.message_type IS NOT NULL AND f.broker = $1 AND f.queue = $2
            GROUP BY l.message_type";
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
            .bind(i64::from(limit))
            .fetch_all(pool)
            .await?);
        Ok(rows.into_iter().map(|(broker, queue, n)| (broker, queue, n.unsigned_abs())).collect())
    }
}
