//! Outcomes of automatic retries: the numbers one needs to tune a policy.

use std::{collections::BTreeMap, time::Duration};

use amqp_message::time::Timestamp;
use sqlx::{FromRow, QueryBuilder};

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
/// Rows in one statement; seven values each stay far below SQLite's 32,766.
const CHUNK: usize = 1_000;

/// Broker, queue, day, and how often the messages had failed.
type Key = (String, String, Timestamp, u64);

/// Counts that are collected while a transaction works and added just before it commits, in one order everywhere.
#[derive(Default)]
pub(crate) struct RetryTally {
    counts: BTreeMap<Key, Counts>,
}

#[derive(Clone, Copy, Default)]
struct Counts {
    failed: i64,
    retried: i64,
    exhausted: i64,
}

impl RetryTally {
    /// What these transitions add, each of a letter of that broker.
    pub(crate) fn of<'a>(transitions: impl Iterator<Item = (&'a str, &'a Transition<'a>)>) -> Self {
        let mut tally = Self::default();
        for (broker, transition) in transitions {
            if let Some(step) = &transition.policy_step {
                tally.add(broker, step);
            }
        }
        tally
    }

    fn add(&mut self, broker: &str, step: &PolicyStep<'_>) {
        let counts = self.entry(broker, step.queue, step.at, step.failures);
        match step.outcome {
            PolicyOutcome::Waits => counts.failed += 1,
            PolicyOutcome::Exhausted => (counts.failed, counts.exhausted) = (counts.failed + 1, counts.exhausted + 1),
            PolicyOutcome::Retried => counts.retried += 1,
        }
    }

    fn entry(&mut self, broker: &str, queue: &str, at: Timestamp, failures: u64) -> &mut Counts {
        self.counts.entry((broker.to_owned(), queue.to_owned(), at.floor_to(DAY), failures)).or_default()
    }

    pub(crate) async fn apply(self, tx: &mut Tx) -> Result<(), StoreError> {
        let counts: Vec<_> = self.counts.into_iter().collect();
        for chunk in counts.chunks(CHUNK) {
            add(tx, chunk).await?;
        }
        Ok(())
    }
}

async fn add(tx: &mut Tx, counts: &[(Key, Counts)]) -> Result<(), StoreError> {
    on!(tx, |tx| {
        let mut upsert =
            QueryBuilder::new("INSERT INTO retry_counts (broker, queue, day, failures, failed, retried, exhausted) ");
        upsert.push_values(counts, |mut row, ((broker, queue, day, failures), counts)| {
            row.push_bind(&**broker)
                .push_bind(&**queue)
                .push_bind(day.as_micros())
                .push_bind(bigint(*failures))
                .push_bind(counts.failed)
                .push_bind(counts.retried)
                .push_bind(counts.exhausted);
        });
        upsert.push(
            " ON CONFLICT (broker, queue, day, failures) DO UPDATE SET failed = retry_counts.failed + excluded.failed,
                retried = retry_counts.retried + excluded.retried,
                exhausted = retry_counts.exhausted + excluded.exhausted",
        );
        upsert.build().execute(&mut **tx).await?;
    });
    Ok(())
}

#[derive(FromRow)]
struct Row {
    broker: String,
    queue: String,
    failures: i64,
    failed: i64,
    retried: i64,
    exhausted: i64,
}

impl Store {
    /// Adds the outcome of messages that waited in RabbitMQ and that the database has not seen.
    pub async fn add_retry_counts(&self, counts: &[RetryCounts], at: Timestamp) -> Result<(), StoreError> {
        let mut tally = RetryTally::default();
        for counts in counts {
            let queue = counts.queue.as_deref().unwrap_or_default();
            let entry = tally.entry(&counts.broker, queue, at, counts.failures);
            entry.failed += bigint(counts.failed);
            entry.retried += bigint(counts.retried);
            entry.exhausted += bigint(counts.exhausted);
        }
        let mut tx = self.db.begin().await?;
        tally.apply(&mut tx).await?;
        tx.commit().await
    }
}

impl StoreReader {
    /// Outcomes of automatic retries since the day of `since`, by broker, queue and number of failures.
    pub async fn retry_counts(&self, since: Timestamp) -> Result<Vec<RetryCounts>, StoreError> {
        const SELECT: &str = "SELECT broker, queue, failures, CAST(sum(failed) AS BIGINT) AS failed,
            CAST(sum(retried) AS BIGINT) AS retried, CAST(sum(exhausted) AS BIGINT) AS exhausted
            FROM retry_counts WHERE day >= $1 GROUP BY broker, queue, failures ORDER BY broker, queue, failures";
        let rows: Vec<Row> = on!(self.db.reader(), |pool| sqlx::query_as(SELECT)
            .bind(since.floor_to(DAY).as_micros())
            .fetch_all(pool)
            .await?);
        Ok(rows.into_iter().map(RetryCounts::from).collect())
    }
}

impl From<Row> for RetryCounts {
    fn from(row: Row) -> Self {
        Self {
            broker: row.broker,
            queue: Some(row.queue).filter(|queue| !queue.is_empty()),
            failures: row.failures.unsigned_abs(),
            failed: row.failed.unsigned_abs(),
            retried: row.retried.unsigned_abs(),
            exhausted: row.exhausted.unsigned_abs(),
        }
    }
}
