//! Queues into which nothing is retried for a while.
//!
//! A retry is held when it is due, not when its queue is paused: to pause and to resume takes as long for a million as for
//! one. What follows from a pause is done by whoever claims next, in one transaction with the claim.

use amqp_message::time::Timestamp;
use sqlx::QueryBuilder;
use sqlx_macros::FromRow;
use uuid::Uuid;

use crate::{
    domain::{
        activity::{Area, AuditEntry, Concerns},
        actor::Actor,
        letter::LetterId,
        queue_pause::QueuePause,
    },
    store::{
        Store, StoreError, StoreReader, audit,
        db::{
            Either, Sql, Tx,
            id_list::{push_ids, push_texts},
            on,
        },
        letters::rows::bigint,
    },
};

const CHUNK: usize = 1_000;

#[derive(FromRow)]
struct Row {
    broker: String,
    queue: String,
    until_consumers: i64,
    note: String,
    set_by: String,
    set_at: i64,
}

impl From<Row> for QueuePause {
    fn from(row: Row) -> Self {
        Self {
            broker: row.broker,
            queue: row.queue,
            until_consumers: row.until_consumers > 0,
            note: row.note,
            by: Actor::named(row.set_by),
            at: Timestamp::from_micros(row.set_at),
        }
    }
}

impl StoreReader {
    /// Queues that are paused.
    pub async fn queue_pauses(&self) -> Result<Vec<QueuePause>, StoreError> {
        const SELECT: &str = "SELECT broker, queue, until_consumers, note, set_by, set_at FROM queue_pauses
            WHERE releasing = 0 ORDER BY broker, queue";
        let rows: Vec<Row> = on!(self.db.reader(), |pool| sqlx::query_as(SELECT).fetch_all(pool).await?);
        let seen = rows.into_iter().filter(|row| self.scope.includes(&row.broker, &row.queue));
        Ok(seen.map(QueuePause::from).collect())
    }
}

impl Store {
    /// Pauses retries into a queue, in place of what was set before.
    pub async fn pause_queue(&self, pause: &QueuePause) -> Result<(), StoreError> {
        const PAUSE: &str = "INSERT INTO queue_pauses
            (broker, queue, until_consumers, note, set_by, set_at, releasing) VALUES ($1, $2, $3, $4, $5, $6, 0)
            ON CONFLICT (broker, queue) DO UPDATE SET until_consumers = excluded.until_consumers,
            note = excluded.note, set_by = excluded.set_by, set_at = excluded.set_at, releasing = 0";
        let mut tx = self.db.begin().await?;
        on!(&mut tx, |tx| sqlx::query(PAUSE)
            .bind(&*pause.broker)
            .bind(&*pause.queue)
            .bind(i64::from(pause.until_consumers))
            .bind(&*pause.note)
            .bind(pause.by.as_str())
            .bind(pause.at.as_micros())
            .execute(&mut **tx)
            .await
            .map(drop)?);
        audit::append(&mut tx, &pause.entry()).await?;
        tx.commit().await
    }

    /// Ends a pause; the answer is whether there was any.
    pub async fn resume_queue(&self, broker: &str, queue: &str, by: &Actor, at: Timestamp) -> Result<bool, StoreError> {
        const RESUME: &str = "UPDATE queue_pauses SET releasing = 1 WHERE broker = $1 AND queue = $2 AND releasing = 0";
        let mut tx = self.db.begin().await?;
        let resumed =
            on!(&mut tx, |tx| sqlx::query(RESUME).bind(broker).bind(queue).execute(&mut **tx).await?.rows_affected());
        if resumed == 0 {
            return Ok(false);
        }
        look_again(&mut tx, at).await?;
        audit::append(&mut tx, &resumed_entry(broker, queue, by, at, "")).await?;
        tx.commit().await?;
        Ok(true)
    }

    /// Ends the pauses that wait for a consumer, of queues that have one by the look of `at`; says which these are. What was
    /// known from before a broker ceased to answer counts for nothing.
    pub async fn resume_queues_with_consumers(&self, broker: &str, at: Timestamp) -> Result<Vec<String>, StoreError> {
        const RESUME: &str = "UPDATE queue_pauses SET releasing = 1
            WHERE broker = $1 AND until_consumers = 1 AND releasing = 0
            AND $1 IN (SELECT broker FROM watched_brokers WHERE looked_at >= $2) AND queue IN (
                SELECT queue FROM watched_queues WHERE broker = $1 AND consumers > 0
                AND coalesce(state, 'running') IN ('running', 'live', 'flow', 'other'))
            RETURNING queue";
        // Whoever claims locks them in this order too; an update would take them in any.
        const LOCK: &str = "SELECT queue FROM queue_pauses WHERE broker = $1 AND until_consumers = 1 AND releasing = 0
            ORDER BY queue FOR NO KEY UPDATE";
        let mut tx = self.db.begin().await?;
        if let Either::Postgres(tx) = &mut tx {
            sqlx::query(LOCK).bind(broker).execute(&mut **tx).await?;
        }
        let queues: Vec<String> = on!(&mut tx, |tx| sqlx::query_scalar(RESUME)
            .bind(broker)
            .bind(at.as_micros())
            .fetch_all(&mut **tx)
            .await?);
        if !queues.is_empty() {
            look_again(&mut tx, at).await?;
        }
        for queue in &queues {
            let entry = resumed_entry(broker, queue, &Actor::system(), at, "it has a consumer");
            audit::append(&mut tx, &entry).await?;
        }
        tx.commit().await?;
        Ok(queues)
    }
}

/// What is written down when a queue is resumed.
pub fn resumed_entry(broker: &str, queue: &str, by: &Actor, at: Timestamp, why: &str) -> AuditEntry {
    let entry = AuditEntry::new(at, by, Area::Queues, "resume", queue);
    AuditEntry { detail: why.to_owned(), concerns: Concerns::Queue(broker.to_owned(), queue.to_owned()), ..entry }
}

/// Has retries that are held back begin anew with what they have passed over, those at once that wait for nothing else.
async fn look_again(tx: &mut Tx, now: Timestamp) -> Result<(), StoreError> {
    // An update of many rows would take them in any order.
    const LOCK: &str =
        "SELECT id FROM jobs WHERE state = 'running' AND next_at IS NOT NULL ORDER BY id FOR NO KEY UPDATE";
    // A step that is due is perhaps being taken, and saw the queue paused: it comes to nothing, as the job is not as it was.
    const LOOK: &str = "UPDATE jobs SET position = NULL, next_at = CASE
            WHEN next_at < $2 OR (position = $1 AND next_at > $2) THEN $2 ELSE next_at + 1 END
        WHERE state = 'running' AND next_at IS NOT NULL";
    if let Either::Postgres(tx) = &mut *tx {
        sqlx::query(LOCK).execute(&mut **tx).await?;
    }
    on!(tx, |tx| sqlx::query(LOOK)
        .bind(LetterId::LAST.as_uuid())
        .bind(now.as_micros())
        .execute(&mut **tx)
        .await
        .map(drop)?);
    Ok(())
}

/// Puts so many of each queue whose pause is over back into the line; a pause that holds nothing any more is forgotten.
pub(super) async fn release(tx: &mut Tx, broker: &str, limit: usize) -> Result<(), StoreError> {
    const OVER: &str = "SELECT queue FROM queue_pauses WHERE broker = $1 AND releasing = 1";
    const RELEASE: &str = "UPDATE retries SET held = 0 WHERE letter_id IN (SELECT letter_id FROM retries
        WHERE broker = $1 AND queue = $2 AND held = 1 ORDER BY due_at LIMIT $3)";
    const FORGET: &str = "DELETE FROM queue_pauses WHERE broker = $1 AND queue = $2 AND releasing = 1";
    let over: Vec<String> = on!(&mut *tx, |tx| sqlx::query_scalar(OVER).bind(broker).fetch_all(&mut **tx).await?);
    for queue in over {
        let released = on!(&mut *tx, |tx| sqlx::query(RELEASE)
            .bind(broker)
            .bind(&*queue)
            .bind(bigint(limit as u64))
            .execute(&mut **tx)
            .await?
            .rows_affected());
        if released == 0 {
            on!(&mut *tx, |tx| sqlx::query(FORGET).bind(broker).bind(&*queue).execute(&mut **tx).await.map(drop)?);
        }
    }
    Ok(())
}

/// Of what was just claimed, sets aside what goes into a queue that is paused; the rest is left.
pub(super) async fn hold(tx: &mut Tx, broker: &str, ids: Vec<Uuid>) -> Result<Vec<LetterId>, StoreError> {
    // Who resumes one waits until this is written: what it holds is seen by whoever lets go of it.
    const PAUSED: Sql = Sql {
        sqlite: "SELECT queue FROM queue_pauses WHERE broker = $1 AND releasing = 0",
        postgres: "SELECT queue FROM queue_pauses WHERE broker = $1 AND releasing = 0 ORDER BY queue FOR SHARE",
    };
    let ids: Vec<LetterId> = ids.into_iter().map(LetterId::from_uuid).collect();
    let paused = PAUSED.pick(tx);
    let paused: Vec<String> = on!(&mut *tx, |tx| sqlx::query_scalar(paused).bind(broker).fetch_all(&mut **tx).await?);
    if paused.is_empty() {
        return Ok(ids);
    }
    let mut held = std::collections::HashSet::new();
    for chunk in ids.chunks(CHUNK) {
        let found: Vec<Uuid> = on!(&mut *tx, |tx| {
            let mut hold = QueryBuilder::new(
                "UPDATE retries SET held = 1, claimed_until = NULL, claims = claims - 1 WHERE queue IN ",
            );
            push_texts(&mut hold, paused.clone());
            push_ids(hold.push(" AND letter_id IN "), chunk);
            hold.push(" RETURNING letter_id").build_query_scalar().fetch_all(&mut **tx).await?
        });
        held.extend(found.into_iter().map(LetterId::from_uuid));
    }
    Ok(ids.into_iter().filter(|id| !held.contains(id)).collect())
}
