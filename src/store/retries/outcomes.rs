//! Outcomes of automatic retries: the numbers one needs to tune a policy.
//!
//! They are kept by day for long, and by a few minutes for as long as it is too early to tell whether a retry succeeded.

use std::{collections::BTreeMap, time::Duration};

use amqp_message::time::Timestamp;
use sqlx::QueryBuilder;

use crate::{
    domain::{
        lifecycle::{PolicyOutcome, PolicyStep, Transition},
        policy::RetryCounts,
    },
    store::{
        Store, StoreError, StoreReader,
        db::{Tx, on},
        letters::rows::bigint,
    },
};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);
/// How exactly it is known when something happened lately.
const LATELY: Duration = Duration::from_secs(5 * 60);
/// Rows in one statement; seven values each stay far below SQLite's 32,766.
const CHUNK: usize = 1_000;

/// Broker, queue, beginning of a day or of a few minutes, and how often the messages had failed.
type Key = (String, String, Timestamp, u64);

/// Counts that are collected while a transaction works and added just before it commits, in one order everywhere.
#[derive(Clone, Default)]
pub struct RetryTally {
    counts: BTreeMap<Key, Counts>,
}

#[derive(Clone, Copy, Default)]
struct Counts {
    failed: i64,
    retried: i64,
    exhausted: i64,
}

impl Counts {
    const fn append(&mut self, other: Self) {
        self.failed += other.failed;
        self.retried += other.retried;
        self.exhausted += other.exhausted;
    }
}

impl RetryTally {
    /// What these transitions add, each of a letter of that broker.
    pub(crate) fn of<'a>(transitions: impl Iterator<Item = (&'a str, &'a Transition<'a>)>) -> Self {
        let mut tally = Self::default();
        for (broker, transition) in transitions {
            for step in [&transition.sent_step, &transition.policy_step].into_iter().flatten() {
                tally.add(broker, step);
            }
        }
        tally
    }

    pub(crate) fn add(&mut self, broker: &str, step: &PolicyStep<'_>) {
        self.change(broker, step, 1);
    }

    /// A message has another outcome than was counted before.
    pub(crate) fn take_back(&mut self, broker: &str, step: &PolicyStep<'_>) {
        self.change(broker, step, -1);
    }

    fn change(&mut self, broker: &str, step: &PolicyStep<'_>, by: i64) {
        let key = (broker.to_owned(), step.queue.to_owned(), step.at.floor_to(LATELY), step.failures);
        let counts = self.counts.entry(key).or_default();
        match step.outcome {
            PolicyOutcome::Failed => counts.failed += by,
            PolicyOutcome::Exhausted => (counts.failed, counts.exhausted) = (counts.failed + by, counts.exhausted + by),
            PolicyOutcome::Retried => counts.retried += by,
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.counts.is_empty()
    }

    /// Adds what is in another.
    pub(crate) fn append(&mut self, other: Self) {
        for (key, counts) in other.counts {
            self.counts.entry(key).or_default().append(counts);
        }
    }

    pub(crate) async fn apply(&self, tx: &mut Tx) -> Result<(), StoreError> {
        let lately: Vec<_> = self.counts.iter().map(|(key, counts)| (key.clone(), *counts)).collect();
        for chunk in self.by_day().chunks(CHUNK) {
            add(tx, &DAYS, chunk).await?;
        }
        for chunk in lately.chunks(CHUNK) {
            add(tx, &FEW_MINUTES, chunk).await?;
        }
        Ok(())
    }

    fn by_day(&self) -> Vec<(Key, Counts)> {
        let mut days: BTreeMap<Key, Counts> = BTreeMap::new();
        for ((broker, queue, start, failures), counts) in &self.counts {
            let day = (broker.clone(), queue.clone(), start.floor_to(DAY), *failures);
            days.entry(day).or_default().append(*counts);
        }
        days.into_iter().collect()
    }
}

/// The statements for one table of counts.
struct Table {
    insert: &'static str,
    on_conflict: &'static str,
}

const DAYS: Table = Table {
    insert: "INSERT INTO retry_counts (broker, queue, start, failures, failed, retried, exhausted) ",
    on_conflict: " ON CONFLICT (broker, queue, start, failures) DO UPDATE SET
        failed = retry_counts.failed + excluded.failed, retried = retry_counts.retried + excluded.retried,
        exhausted = retry_counts.exhausted + excluded.exhausted",
};
const FEW_MINUTES: Table = Table {
    insert: "INSERT INTO recent_retry_counts (broker, queue, start, failures, failed, retried, exhausted) ",
    on_conflict: " ON CONFLICT (start, broker, queue, failures) DO UPDATE SET
        failed = recent_retry_counts.failed + excluded.failed, retried = recent_retry_counts.retried + excluded.retried,
        exhausted = recent_retry_counts.exhausted + excluded.exhausted",
};

async fn add(tx: &mut Tx, table: &Table, counts: &[(Key, Counts)]) -> Result<(), StoreError> {
    on!(tx, |tx| {
        let mut upsert = QueryBuilder::new(table.insert);
        upsert.push_values(counts, |mut row, ((broker, queue, start, failures), counts)| {
            row.push_bind(&**broker)
                .push_bind(&**queue)
                .push_bind(start.as_micros())
                .push_bind(bigint(*failures))
                .push_bind(counts.failed)
                .push_bind(counts.retried)
                .push_bind(counts.exhausted);
        });
        upsert.push(table.on_conflict).build().execute(&mut **tx).await?;
    });
    Ok(())
}

/// Broker, queue, failures, failed, retried and exhausted: by their places, as there are thousands.
type Row = (String, String, i64, i64, i64, i64);

impl Store {
    /// Forgets at which minute something happened before then; the day stays.
    pub async fn forget_recent_retries(&self, before: Timestamp) -> Result<(), StoreError> {
        const DELETE: &str = "DELETE FROM recent_retry_counts WHERE start < $1";
        let before = before.floor_to(LATELY).as_micros();
        on!(self.db.writer(), |pool| sqlx::query(DELETE).bind(before).execute(pool).await.map(drop)?);
        Ok(())
    }
}

impl StoreReader {
    /// Those of one queue by day, the beginning of which is with each, since the day of `since`.
    pub async fn queue_retry_counts(
        &self,
        broker: &str,
        queue: &str,
        since: Timestamp,
    ) -> Result<Vec<(Timestamp, RetryCounts)>, StoreError> {
        const SELECT: &str = "SELECT start, failures, failed, retried, exhausted FROM retry_counts
            WHERE broker = $1 AND queue = $2 AND start >= $3 ORDER BY start, failures";
        if !self.scope.includes(broker, queue) {
            return Ok(Vec::new());
        }
        let since = since.floor_to(DAY).as_micros();
        let rows: Vec<(i64, i64, i64, i64, i64)> = on!(self.db.reader(), |pool| sqlx::query_as(SELECT)
            .bind(broker)
            .bind(queue)
            .bind(since)
            .fetch_all(pool)
            .await?);
        let counts = |(start, failures, failed, retried, exhausted)| {
            let row = (broker.to_owned(), queue.to_owned(), failures, failed, retried, exhausted);
            (Timestamp::from_micros(start), retry_counts(row))
        };
        Ok(rows.into_iter().map(counts).collect())
    }

    /// Outcomes of automatic retries since the day of `since`, by broker, queue and number of failures.
    pub async fn retry_counts(&self, since: Timestamp) -> Result<Vec<RetryCounts>, StoreError> {
        const SELECT: &str = "SELECT broker, queue, failures, CAST(sum(failed) AS BIGINT),
            CAST(sum(retried) AS BIGINT), CAST(sum(exhausted) AS BIGINT)
            FROM retry_counts WHERE start >= $1 GROUP BY broker, queue, failures";
        self.counts_since(SELECT, since.floor_to(DAY)).await
    }

    /// The same since a few minutes before `since`, which is no longer ago than they are kept. What waits in RabbitMQ
    /// counts as retried from when it is due.
    pub async fn recent_retry_counts(&self, since: Timestamp) -> Result<Vec<RetryCounts>, StoreError> {
        const SELECT: &str = "SELECT broker, queue, failures, CAST(sum(failed) AS BIGINT),
            CAST(sum(retried) AS BIGINT), CAST(sum(exhausted) AS BIGINT)
            FROM recent_retry_counts WHERE start >= $1 GROUP BY broker, queue, failures";
        self.counts_since(SELECT, since.floor_to(LATELY)).await
    }

    async fn counts_since(&self, select: &'static str, start: Timestamp) -> Result<Vec<RetryCounts>, StoreError> {
        let mut rows: Vec<Row> =
            on!(self.db.reader(), |pool| sqlx::query_as(select).bind(start.as_micros()).fetch_all(pool).await?);
        // Postgres would sort thousands of names by the rules of a language.
        rows.sort_unstable();
        let theirs = rows.into_iter().filter(|(broker, queue, ..)| self.scope.includes(broker, queue));
        Ok(theirs.map(retry_counts).collect())
    }
}

fn retry_counts((broker, queue, failures, failed, retried, exhausted): Row) -> RetryCounts {
    RetryCounts {
        broker,
        queue: Some(queue).filter(|queue| !queue.is_empty()),
        failures: failures.unsigned_abs(),
        failed: failed.max(0).unsigned_abs(),
        retried: retried.max(0).unsigned_abs(),
        exhausted: exhausted.max(0).unsigned_abs(),
    }
}
