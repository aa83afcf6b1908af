//! Letters that people have dealt with long ago: sent back, or discarded.

use std::collections::HashSet;

use sqlx::QueryBuilder;
use uuid::Uuid;

use super::{lock, succeeded::remove};
use crate::{
    domain::{
        letter::{LetterId, Status},
        lifecycle::retention::Outdated,
    },
    store::{
        Store, StoreError,
        counts::tally::Tally,
        db::{Tx, id_list::push_ids, on},
    },
};

impl Store {
    /// Removes letters that needed attention and are settled for so long; about `limit` of them. Those that are
    /// edits of one another go together, once all are. The answer is how many.
    pub async fn forget_settled(&self, outdated: Outdated, limit: u32) -> Result<usize, StoreError> {
        let mut ids = self.outdated(Status::Retried, outdated, limit).await?;
        let left = limit.saturating_sub(u32::try_from(ids.len()).unwrap_or(u32::MAX));
        if left > 0 {
            ids.extend(self.outdated(Status::Discarded, outdated, left).await?);
        }
        if ids.is_empty() {
            return Ok(0);
        }
        let mut tx = self.db.begin().await?;
        let ids = with_families(&mut tx, &ids).await?;
        let letters = lock::lock(&mut tx, &ids).await?;
        // Since they were found, some may have moved.
        let gone = outdated.of(letters.values().map(|letter| &letter.state));
        let gone: Vec<LetterId> = gone.iter().map(|state| state.id).collect();
        let mut tally = Tally::default();
        gone.iter().filter_map(|id| letters.get(id)).for_each(|letter| tally.remove(letter.place()));
        remove(&mut tx, &gone).await?;
        tally.apply(&mut tx).await?;
        tx.commit().await?;
        Ok(gone.len())
    }

    async fn outdated(&self, status: Status, outdated: Outdated, limit: u32) -> Result<Vec<LetterId>, StoreError> {
        const SELECT: &str = "SELECT l.id FROM facets f CROSS JOIN letters l
            WHERE f.status = $1 AND l.facet_id = f.id AND l.closed_at < $2 AND l.handed_over_at IS NOT NULL
            AND NOT EXISTS (SELECT 1 FROM letters o JOIN facets g ON g.id = o.facet_id WHERE o.family = l.family
                AND NOT (o.closed_at IS NOT NULL
                    AND o.closed_at < CASE g.status WHEN 'retried' THEN CAST($3 AS BIGINT) ELSE CAST($4 AS BIGINT) END))
            LIMIT $5";
        let before = if status == Status::Retried { outdated.retried } else { outdated.discarded };
        let ids: Vec<Uuid> = on!(self.db.reader(), |pool| sqlx::query_scalar(SELECT)
            .bind(status.as_str())
            .bind(before.as_micros())
            .bind(outdated.retried.as_micros())
            .bind(outdated.discarded.as_micros())
            .bind(i64::from(limit))
            .fetch_all(pool)
            .await?);
        Ok(ids.into_iter().map(LetterId::from_uuid).collect())
    }
}

/// The same and all that are edits of them, each once.
async fn with_families(tx: &mut Tx, ids: &[LetterId]) -> Result<Vec<LetterId>, StoreError> {
    let others: Vec<Uuid> = on!(tx, |tx| {
        let mut query =
            QueryBuilder::new("SELECT o.id FROM letters l JOIN letters o ON o.family = l.family WHERE l.id IN ");
        push_ids(&mut query, ids);
        query.build_query_scalar().fetch_all(&mut **tx).await?
    });
    let all: HashSet<LetterId> = others.into_iter().map(LetterId::from_uuid).chain(ids.iter().copied()).collect();
    Ok(all.into_iter().collect())
}
