//! Letters that automatic retries have succeeded, and that nobody needs any more.

use amqp_message::time::Timestamp;
use sqlx::QueryBuilder;
use uuid::Uuid;

use super::lock;
use crate::{
    domain::letter::{LetterId, Status},
    store::{
        Store, StoreError,
        counts::tally::Tally,
        db::{Sql, Tx, id_list::push_ids, on},
        search::index,
    },
};

const SUCCEEDED: Sql = Sql {
    sqlite: "SELECT id FROM letters WHERE handed_over_at IS NULL AND closed_at < $1 ORDER BY closed_at LIMIT $2",
    postgres: "SELECT id FROM letters WHERE handed_over_at IS NULL AND closed_at < $1 ORDER BY closed_at LIMIT $2
        FOR UPDATE SKIP LOCKED",
};

impl Store {
    /// Removes letters that never needed attention, were sent back before `before` and have not failed since;
    /// at most `limit` of them. The answer is how many.
    pub async fn forget_succeeded(&self, before: Timestamp, limit: u32) -> Result<usize, StoreError> {
        let mut tx = self.db.begin().await?;
        let sql = SUCCEEDED.pick(&tx);
        let ids: Vec<Uuid> = on!(&mut tx, |tx| sqlx::query_scalar(sql)
            .bind(before.as_micros())
            .bind(i64::from(limit))
            .fetch_all(&mut **tx)
            .await?);
        let ids: Vec<LetterId> = ids.into_iter().map(LetterId::from_uuid).collect();
        let letters = lock::lock(&mut tx, &ids).await?;
        let succeeded = letters.values().filter(|letter| letter.state.status == Status::Retried);
        let (mut tally, mut succeeded_ids) = (Tally::default(), Vec::new());
        for letter in succeeded {
            tally.remove(letter.place());
            succeeded_ids.push(letter.state.id);
        }
        remove(&mut tx, &succeeded_ids).await?;
        tally.apply(&mut tx).await?;
        tx.commit().await?;
        Ok(succeeded_ids.len())
    }
}

/// Removes letters with all that is kept of them, but for their counts and retries.
pub(crate) async fn remove(tx: &mut Tx, ids: &[LetterId]) -> Result<(), StoreError> {
    const DELETE: [&str; 4] = [
        "DELETE FROM letters WHERE id IN ",
        "DELETE FROM search_backlog WHERE letter_id IN ",
        "DELETE FROM contents WHERE letter_id IN ",
        "DELETE FROM history WHERE letter_id IN ",
    ];
    if ids.is_empty() {
        return Ok(());
    }
    for delete in DELETE {
        on!(&mut *tx, |tx| {
            let mut delete = QueryBuilder::new(delete);
            push_ids(&mut delete, ids);
            delete.build().execute(&mut **tx).await?;
        });
    }
    index::forget(tx, ids).await
}
