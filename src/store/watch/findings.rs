//! What the watch has found, for pages and numbers.

use std::{collections::BTreeMap, time::Duration};

use amqp_message::time::Timestamp;
use sqlx::QueryBuilder;
use sqlx_macros::FromRow;

use super::rows::{COLUMNS, QueueRow, read_state};
use crate::{
    domain::{
        queue_level::QueueLevel,
        watch::{BrokerWatch, Concern, SettingHint, Watched},
    },
    store::{StoreError, StoreReader, db::on, letters::rows::bigint},
};

/// For how long a broker's list of its queues says which there are.
const CURRENT: Duration = Duration::from_secs(5 * 60);

/// A broker that is watched, or was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WatchedBroker {
    pub name: String,
    /// When it was asked last, and when it last answered.
    pub polled_at: Option<Timestamp>,
    pub looked_at: Option<Timestamp>,
    /// Why it did not answer, or does not say everything.
    pub problem: Option<String>,
    /// Settings of its services that are likely missing.
    pub hints: Vec<SettingHint>,
}

impl WatchedBroker {
    /// When it has said which queues there are; `None` where that says nothing of `now` any more.
    pub fn listed_at(&self, now: Timestamp) -> Option<Timestamp> {
        self.looked_at.filter(|at| *at > now.minus(CURRENT) && self.problem.is_none())
    }
}

/// One of its queues.
#[derive(Clone, Debug, PartialEq)]
pub struct WatchedQueue {
    pub broker: String,
    /// How it stood when the broker last answered.
    pub level: QueueLevel,
    /// What is remembered of its consumers; `None` where none were ever seen.
    pub watched: Option<Watched>,
}

#[derive(FromRow)]
struct BrokerRow {
    broker: String,
    polled_at: Option<i64>,
    looked_at: Option<i64>,
    problem: String,
    state: String,
}

impl StoreReader {
    /// Brokers that are watched, by name.
    pub async fn watched_brokers(&self) -> Result<Vec<WatchedBroker>, StoreError> {
        let broker = |row: BrokerRow| {
            Ok(WatchedBroker {
                polled_at: row.polled_at.map(Timestamp::from_micros),
                looked_at: row.looked_at.map(Timestamp::from_micros),
                problem: Some(row.problem).filter(|problem| !problem.is_empty()),
                hints: self.seen_hints(&row.broker, read_state(&row.state)?.hints),
                name: row.broker,
            })
        };
        self.broker_rows().await?.into_iter().map(broker).collect()
    }

    /// So many of the queues of watched brokers: those that are a concern first, then those without the consumers they
    /// had, then those with most messages.
    pub async fn watched_queues(&self, limit: usize) -> Result<Vec<WatchedQueue>, StoreError> {
        let rows: Vec<QueueRow> = on!(self.db.reader(), |pool| {
            let mut select = QueryBuilder::new("SELECT ");
            select.push(COLUMNS).push(
                " FROM watched_queues ORDER BY told DESC,
                    CASE WHEN without_since IS NULL THEN 1 ELSE 0 END, coalesce(messages, 0) DESC, queue, broker LIMIT ",
            );
            select.push_bind(if self.scope.is_everything() { bigint(limit as u64) } else { i64::MAX });
            select.build_query_as().fetch_all(pool).await?
        });
        self.seen_queues(rows, limit)
    }

    /// So many of those that may be in trouble, see [`QueueLevel::troubles`]; those with most messages first.
    pub async fn queues_in_trouble(&self, limit: usize) -> Result<Vec<WatchedQueue>, StoreError> {
        let rows: Vec<QueueRow> = on!(self.db.reader(), |pool| {
            let mut select = QueryBuilder::new("SELECT ");
            select.push(COLUMNS).push(
                " FROM watched_queues WHERE (consumers = 0 AND coalesce(ready, messages) > 0)
                    OR coalesce(ready, messages) >= max_length OR state NOT IN ('running', 'live', 'flow', 'other')
                    ORDER BY coalesce(messages, 0) DESC, queue, broker LIMIT ",
            );
            select.push_bind(if self.scope.is_everything() { bigint(limit as u64) } else { i64::MAX });
            select.build_query_as().fetch_all(pool).await?
        });
        self.seen_queues(rows, limit)
    }

    /// Those of these names, on whichever broker.
    pub async fn watched_queues_named(&self, names: &[&str]) -> Result<Vec<WatchedQueue>, StoreError> {
        const CHUNK: usize = 1_000;
        let mut found = Vec::new();
        for chunk in names.chunks(CHUNK) {
            let rows: Vec<QueueRow> = on!(self.db.reader(), |pool| {
                let mut select = QueryBuilder::new("SELECT ");
                select.push(COLUMNS).push(" FROM watched_queues WHERE queue IN (");
                let mut list = select.separated(", ");
                for name in chunk {
                    list.push_bind(*name);
                }
                select.push(")");
                select.build_query_as().persistent(false).fetch_all(pool).await?
            });
            found.extend(self.seen_queues(rows, usize::MAX)?);
        }
        Ok(found)
    }

    /// All that the watch has told and that is not over, with the broker it is about.
    pub async fn concerns(&self) -> Result<Vec<(String, Concern)>, StoreError> {
        let mut watches: BTreeMap<String, BrokerWatch> = BTreeMap::new();
        for row in self.broker_rows().await? {
            watches.insert(row.broker, read_state(&row.state)?);
        }
        for row in self.reported_rows().await? {
            let queue = WatchedQueue::try_from(row)?;
            if let Some((watch, watched)) = watches.get_mut(&queue.broker).zip(queue.watched) {
                watch.queues.insert(queue.level.name, watched);
            }
        }
        let concerns = |(broker, watch): (String, BrokerWatch)| {
            let concerns: Vec<Concern> = watch.concerns().collect();
            concerns.into_iter().map(move |concern| (broker.clone(), concern))
        };
        let is_seen = |(broker, concern): &(String, Concern)| {
            concern.queue().is_none_or(|queue| self.scope.includes(broker, queue))
        };
        Ok(watches.into_iter().flat_map(concerns).filter(is_seen).collect())
    }

    /// Broker and name of each queue that has been without the consumers it had for so long that it was reported.
    pub async fn queues_without_consumers(&self) -> Result<Vec<(String, String)>, StoreError> {
        const SELECT: &str = "SELECT broker, queue FROM watched_queues WHERE told > 0 ORDER BY broker, queue";
        let mut queues: Vec<(String, String)> =
            on!(self.db.reader(), |pool| sqlx::query_as(SELECT).fetch_all(pool).await?);
        queues.retain(|(broker, queue)| self.scope.includes(broker, queue));
        Ok(queues)
    }

    fn seen_queues(&self, rows: Vec<QueueRow>, limit: usize) -> Result<Vec<WatchedQueue>, StoreError> {
        let mut queues = rows.into_iter().map(WatchedQueue::try_from).collect::<Result<Vec<_>, _>>()?;
        queues.retain(|queue| self.scope.includes(&queue.broker, &queue.level.name));
        queues.truncate(limit);
        Ok(queues)
    }

    fn seen_hints(&self, broker: &str, mut hints: Vec<SettingHint>) -> Vec<SettingHint> {
        hints.retain(|hint| self.scope.includes(broker, &hint.queue));
        hints
    }

    async fn broker_rows(&self) -> Result<Vec<BrokerRow>, StoreError> {
        const SELECT: &str = "SELECT broker, polled_at, looked_at, problem, state FROM watched_brokers ORDER BY broker";
        Ok(on!(self.db.reader(), |pool| sqlx::query_as(SELECT).fetch_all(pool).await?))
    }

    async fn reported_rows(&self) -> Result<Vec<QueueRow>, StoreError> {
        Ok(on!(self.db.reader(), |pool| {
            let mut select = QueryBuilder::new("SELECT ");
            select.push(COLUMNS).push(" FROM watched_queues WHERE told > 0");
            select.build_query_as().fetch_all(pool).await?
        }))
    }
}

impl TryFrom<QueueRow> for WatchedQueue {
    type Error = StoreError;

    fn try_from(row: QueueRow) -> Result<Self, StoreError> {
        let broker = row.broker.clone();
        let (level, watched) = row.read()?;
        Ok(Self { broker, level, watched })
    }
}
