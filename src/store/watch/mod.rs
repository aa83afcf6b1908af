//! The watch over brokers: who keeps it, and what is remembered from look to look.
//!
//! Several processes may share a database and all be able to watch. One of them holds the claim on a broker and renews it
//! with every look; only what the holder writes counts, and another takes over once the claim has ended. A look writes
//! the rows that it changes, all in one commit.

pub(crate) mod findings;
pub(crate) mod rows;
mod samples;

use std::{collections::BTreeMap, time::Duration};

use amqp_message::time::Timestamp;
use sqlx::QueryBuilder;
use uuid::Uuid;

use super::{
    Store, StoreError, StoreReader,
    clock::longest_claim,
    db::{Either, Tx, columns, on},
    watch::rows::{COLUMNS, NewRow, QueueRow, read_state, write_state},
};
use crate::domain::{
    queue_level::QueueLevel,
    watch::{BrokerWatch, Watched},
};

/// Rows that are written at a time.
const CHUNK: usize = 1_000;

/// The result of asking for the claim on a broker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Claim {
    /// It is ours, as it was before.
    Kept,
    /// It is ours from now on.
    Taken,
    /// Another process watches.
    Elsewhere,
}

/// What is kept of a watched broker.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WatchKept {
    pub watch: BrokerWatch,
    /// How its queues stood when it last answered, without what changes at every look: rates and idle times. Each queue of
    /// which the watch remembers something is among them.
    pub levels: BTreeMap<String, QueueLevel>,
}

/// What a look has changed.
pub struct WatchUpdate<'a> {
    pub broker: &'a str,
    pub watcher: Uuid,
    /// How long the claim holds from now on.
    pub claimed_until: Timestamp,
    pub before: &'a WatchKept,
    pub after: &'a WatchKept,
    /// Why the broker did not answer, or does not say everything; empty: all is well.
    pub problem: &'a str,
}

impl Store {
    /// Asks for the claim on a broker, for `lease`.
    pub async fn claim_watch(
        &self,
        broker: &str,
        watcher: Uuid,
        now: Timestamp,
        lease: Duration,
    ) -> Result<Claim, StoreError> {
        const KEEP: &str = "UPDATE watched_brokers SET claimed_until = $1 WHERE broker = $2 AND watcher = $3";
        const TAKE: &str = "INSERT INTO watched_brokers (broker, watcher, claimed_until, problem, state)
            VALUES ($2, $3, $1, '', '') ON CONFLICT (broker) DO UPDATE
            SET watcher = excluded.watcher, claimed_until = excluded.claimed_until
            WHERE watched_brokers.claimed_until <= $4 OR watched_brokers.claimed_until > $5";
        let until = now.plus(lease).as_micros();
        let mut tx = self.db.begin().await?;
        let claim = on!(&mut tx, |tx| {
            let kept = sqlx::query(KEEP).bind(until).bind(broker).bind(watcher).execute(&mut **tx).await?;
            if kept.rows_affected() > 0 {
                Claim::Kept
            } else {
                let take = sqlx::query(TAKE).bind(until).bind(broker).bind(watcher).bind(now.as_micros());
                let taken = take.bind(longest_claim(now, lease)).execute(&mut **tx).await?.rows_affected() > 0;
                if taken { Claim::Taken } else { Claim::Elsewhere }
            }
        });
        tx.commit().await?;
        Ok(claim)
    }

    /// Gives a claim back, so that another process need not wait for its end.
    pub async fn release_watch(&self, broker: &str, watcher: Uuid) -> Result<(), StoreError> {
        const RELEASE: &str = "UPDATE watched_brokers SET claimed_until = 0 WHERE broker = $1 AND watcher = $2";
        on!(self.db.writer(), |pool| sqlx::query(RELEASE).bind(broker).bind(watcher).execute(pool).await.map(drop)?);
        Ok(())
    }

    /// Ends the claims that a process which died has left behind, where nobody else can hold one: a SQLite database has
    /// one server. On Postgres they end by themselves.
    pub async fn release_abandoned_watches(&self) -> Result<(), StoreError> {
        const RELEASE: &str = "UPDATE watched_brokers SET claimed_until = 0";
        if let Either::Sqlite(pool) = self.db.writer() {
            sqlx::query(RELEASE).execute(pool).await?;
        }
        Ok(())
    }
}

impl StoreReader {
    /// What is kept of a broker; nothing of one that was never watched.
    pub async fn watch_kept(&self, broker: &str) -> Result<WatchKept, StoreError> {
        const STATE: &str = "SELECT state, polled_at, looked_at FROM watched_brokers WHERE broker = $1";
        let state: Option<(String, Option<i64>, Option<i64>)> =
            on!(self.db.reader(), |pool| sqlx::query_as(STATE).bind(broker).fetch_optional(pool).await?);
        let (state, polled_at, looked_at) = state.unwrap_or_default();
        let mut watch = BrokerWatch {
            polled_at: polled_at.map(Timestamp::from_micros),
            looked_at: looked_at.map(Timestamp::from_micros),
            ..read_state(&state)?
        };
        let rows: Vec<QueueRow> = on!(self.db.reader(), |pool| {
            let mut select = QueryBuilder::new("SELECT ");
            select.push(COLUMNS).push(" FROM watched_queues WHERE broker = ").push_bind(broker);
            select.build_query_as().fetch_all(pool).await?
        });
        let mut levels = BTreeMap::new();
        for row in rows {
            let (level, watched) = row.read()?;
            if let Some(watched) = watched {
                watch.queues.insert(level.name.clone(), watched);
            }
            levels.insert(level.name.clone(), level);
        }
        Ok(WatchKept { watch, levels })
    }
}

impl Store {
    /// Writes down what a look has changed. The answer is whether the claim was still ours; if not, nothing is written.
    pub async fn keep_watch(&self, update: &WatchUpdate<'_>) -> Result<bool, StoreError> {
        const KEEP: &str =
            "UPDATE watched_brokers SET claimed_until = $1, polled_at = $2, looked_at = $3, problem = $4,
            state = $5 WHERE broker = $6 AND watcher = $7";
        let watch = &update.after.watch;
        let mut tx = self.db.begin().await?;
        let rows = on!(&mut tx, |tx| sqlx::query(KEEP)
            .bind(update.claimed_until.as_micros())
            .bind(watch.polled_at.map(Timestamp::as_micros))
            .bind(watch.looked_at.map(Timestamp::as_micros))
            .bind(update.problem)
            .bind(write_state(watch))
            .bind(update.broker)
            .bind(update.watcher)
            .execute(&mut **tx)
            .await?
            .rows_affected());
        if rows == 0 {
            return Ok(false);
        }
        write_changed(&mut tx, update).await?;
        samples::write(&mut tx, update).await?;
        remove_gone(&mut tx, update).await?;
        tx.commit().await?;
        Ok(true)
    }

    /// Removes all that is kept of brokers that nobody has asked since `before`, and says which these were.
    pub async fn forget_watches(&self, before: Timestamp) -> Result<Vec<String>, StoreError> {
        const BROKERS: &str =
            "DELETE FROM watched_brokers WHERE coalesce(polled_at, claimed_until) < $1 RETURNING broker";
        const QUEUES: &str = "DELETE FROM watched_queues WHERE broker NOT IN (SELECT broker FROM watched_brokers)";
        const SAMPLES: &str = "DELETE FROM queue_samples WHERE broker NOT IN (SELECT broker FROM watched_brokers)";
        let mut tx = self.db.begin().await?;
        let brokers: Vec<String> = on!(&mut tx, |tx| {
            let brokers = sqlx::query_scalar(BROKERS).bind(before.as_micros()).fetch_all(&mut **tx).await?;
            sqlx::query(QUEUES).execute(&mut **tx).await?;
            sqlx::query(SAMPLES).execute(&mut **tx).await?;
            brokers
        });
        tx.commit().await?;
        Ok(brokers)
    }
}

impl WatchKept {
    /// What is kept of one queue.
    fn of(&self, queue: &str) -> (Option<&QueueLevel>, Option<&Watched>) {
        (self.levels.get(queue), self.watch.queues.get(queue))
    }
}

async fn write_changed(tx: &mut Tx, update: &WatchUpdate<'_>) -> Result<(), StoreError> {
    const UPSERT: [&str; 2] = [
        "INSERT INTO watched_queues (broker, queue, kind, state, messages, ready, unacknowledged, consumers, policy,
            max_length, grows_by, had, seen, had_consumers_at, without_since, without_for, with_for, interrupted, told, absences) ",
        " ON CONFLICT (broker, queue) DO UPDATE SET kind = excluded.kind, state = excluded.state,
            messages = excluded.messages, ready = excluded.ready, unacknowledged = excluded.unacknowledged,
            consumers = excluded.consumers, policy = excluded.policy, max_length = excluded.max_length, grows_by = excluded.grows_by,
            had = excluded.had, seen = excluded.seen, had_consumers_at = excluded.had_consumers_at, without_since = excluded.without_since,
            without_for = excluded.without_for, with_for = excluded.with_for, interrupted = excluded.interrupted,
            told = excluded.told, absences = excluded.absences",
    ];
    let is_changed = |queue: &str| update.before.of(queue) != update.after.of(queue);
    let changed = update.after.levels.values().filter(|level| is_changed(&level.name));
    let watched = |level: &QueueLevel| update.after.watch.queues.get(&level.name);
    let rows: Vec<NewRow<'_>> =
        changed.map(|level| NewRow { broker: update.broker, level, watched: watched(level) }).collect();
    for chunk in rows.chunks(CHUNK) {
        columns::execute(tx, UPSERT, rows::columns(chunk)).await?;
    }
    Ok(())
}

async fn remove_gone(tx: &mut Tx, update: &WatchUpdate<'_>) -> Result<(), StoreError> {
    let is_gone = |queue: &&String| !update.after.levels.contains_key(*queue);
    let gone: Vec<&String> = update.before.levels.keys().filter(is_gone).collect();
    for chunk in gone.chunks(CHUNK) {
        on!(&mut *tx, |tx| {
            let mut delete = QueryBuilder::new("DELETE FROM watched_queues WHERE broker = ");
            delete.push_bind(update.broker).push(" AND queue IN (");
            let mut list = delete.separated(", ");
            for queue in chunk {
                list.push_bind(queue.as_str());
            }
            delete.push(")");
            delete.build().execute(&mut **tx).await?;
        });
    }
    Ok(())
}
