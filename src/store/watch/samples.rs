//! How watched queues stood over the last day.

use amqp_message::time::Timestamp;
use sqlx::QueryBuilder;

use super::{CHUNK, WatchUpdate, rows::bounded};
use crate::{
    domain::{
        queue_level::QueueLevel,
        queue_sample::{KEPT, QueueSample, SAMPLE, kept_at},
    },
    store::{
        StoreError, StoreReader,
        db::{Tx, columns, columns::Column, on},
    },
};

impl StoreReader {
    /// What is kept of a queue, the oldest first; nothing of times when nobody looked.
    pub async fn queue_samples(
        &self,
        broker: &str,
        queue: &str,
        now: Timestamp,
    ) -> Result<Vec<QueueSample>, StoreError> {
        let rows: Vec<(i64, Option<i64>, Option<i64>)> = on!(self.db.reader(), |pool| {
            let mut select = QueryBuilder::new("SELECT at, messages, consumers FROM queue_samples WHERE broker = ");
            select.push_bind(broker).push(" AND queue = ").push_bind(queue).push(" AND at IN (");
            // Each is found in the key, beside those of any number of other queues.
            let mut list = select.separated(", ");
            for at in kept_at(now) {
                list.push_bind(at.as_micros());
            }
            select.push(") ORDER BY at").build_query_as().fetch_all(pool).await?
        });
        let sample = |(at, messages, consumers): (i64, Option<i64>, Option<i64>)| QueueSample {
            at: Timestamp::from_micros(at),
            messages: messages.map(i64::unsigned_abs),
            consumers: consumers.map(i64::unsigned_abs),
        };
        Ok(rows.into_iter().map(sample).collect())
    }
}

/// Adds what a look has seen: of each queue as a quarter of an hour begins, and then of those that have changed.
pub(super) async fn write(tx: &mut Tx, update: &WatchUpdate<'_>) -> Result<(), StoreError> {
    const UPSERT: [&str; 2] = [
        "INSERT INTO queue_samples (broker, at, queue, messages, consumers) ",
        " ON CONFLICT (broker, at, queue) DO UPDATE SET
            messages = CASE WHEN excluded.messages < queue_samples.messages THEN queue_samples.messages
                ELSE coalesce(excluded.messages, queue_samples.messages) END,
            consumers = CASE WHEN excluded.consumers > queue_samples.consumers THEN queue_samples.consumers
                ELSE coalesce(excluded.consumers, queue_samples.consumers) END",
    ];
    let (before, after) = (&update.before.watch.looked_at, &update.after.watch.looked_at);
    let Some(looked_at) = after.filter(|_| before != after) else { return Ok(()) };
    let at = looked_at.floor_to(SAMPLE);
    let is_first = before.is_none_or(|before| before.floor_to(SAMPLE) != at);
    let of_level = |level: &QueueLevel| (level.known_messages(), level.known_consumers());
    let is_told = |level: &&QueueLevel| {
        let was = update.before.levels.get(&level.name).map(of_level);
        is_first || was != Some(of_level(level))
    };
    let told: Vec<&QueueLevel> = update.after.levels.values().filter(is_told).collect();
    for levels in told.chunks(CHUNK) {
        let columns = vec![
            Column::texts(levels, |_| update.broker),
            Column::numbers(levels, |_| at.as_micros()),
            Column::texts(levels, |level| level.name.as_str()),
            Column::numbers(levels, |level| level.known_messages().map(bounded)),
            Column::numbers(levels, |level| level.known_consumers().map(bounded)),
        ];
        columns::execute(tx, UPSERT, columns).await?;
    }
    if is_first { forget(tx, update.broker, at).await } else { Ok(()) }
}

async fn forget(tx: &mut Tx, broker: &str, at: Timestamp) -> Result<(), StoreError> {
    const FORGET: &str = "DELETE FROM queue_samples WHERE broker = $1 AND at <= $2";
    let before = at.minus(KEPT).as_micros();
    on!(&mut *tx, |tx| sqlx::query(FORGET).bind(broker).bind(before).execute(&mut **tx).await.map(drop)?);
    Ok(())
}
