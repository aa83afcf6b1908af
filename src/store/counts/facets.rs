//! Facets: what letters are filtered and counted by.

use std::{
    collections::{BTreeSet, HashMap},
    sync::{Mutex, PoisonError},
};

use amqp_message::death::Reason;
use sqlx::{Database, Encode, FromRow, QueryBuilder, Type};
use uuid::Uuid;

use crate::{
    domain::{
        filter::{FacetCount, LetterFilter},
        group::{GroupFilter, GroupId},
        letter::{Importance, Status},
    },
    store::{
        Store, StoreError, StoreReader,
        db::{Tx, on},
        letters::rows::parse,
    },
};

/// The combination itself. An unknown queue is the empty string, which RabbitMQ lets no queue be called.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct FacetKey {
    pub(crate) broker: String,
    pub(crate) queue: String,
    pub(crate) reason: Reason,
    pub(crate) status: Status,
    pub(crate) importance: Importance,
}

impl FacetKey {
    /// Reads the words a row holds.
    pub(crate) fn read(
        broker: &str,
        queue: &str,
        reason: &str,
        status: &str,
        importance: &str,
    ) -> Result<Self, StoreError> {
        Ok(Self {
            broker: broker.to_owned(),
            queue: queue.to_owned(),
            reason: parse("a reason", reason)?,
            status: parse("a status", status)?,
            importance: parse("an importance", importance)?,
        })
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct FacetId(pub(crate) i64);

/// The ids of facets seen so far. Facets are never deleted, so what is here stays true.
#[derive(Default)]
pub(crate) struct FacetIds(Mutex<HashMap<FacetKey, FacetId>>);

impl FacetIds {
    fn get(&self, key: &FacetKey) -> Option<FacetId> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(key).copied()
    }

    fn put(&self, key: FacetKey, id: FacetId) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(key, id);
    }
}

/// Finds facets while a transaction is open, and makes those that are new in it.
///
/// What is new is remembered only by [`committed`](Self::committed): a rollback takes the facet with it.
pub(crate) struct FacetScope<'a> {
    known: &'a FacetIds,
    made: HashMap<FacetKey, FacetId>,
}

impl FacetScope<'_> {
    /// Makes those that are new, in the one order in which everybody makes them.
    pub(crate) async fn make_all(&mut self, tx: &mut Tx, keys: BTreeSet<FacetKey>) -> Result<(), StoreError> {
        for key in &keys {
            self.id(tx, key).await?;
        }
        Ok(())
    }

    pub(crate) async fn id(&mut self, tx: &mut Tx, key: &FacetKey) -> Result<FacetId, StoreError> {
        if let Some(id) = self.known.get(key).or_else(|| self.made.get(key).copied()) {
            return Ok(id);
        }
        let id = make_facet(tx, key).await?;
        self.made.insert(key.clone(), id);
        Ok(id)
    }

    pub(crate) fn committed(self) {
        for (key, id) in self.made {
            self.known.put(key, id);
        }
    }
}

async fn make_facet(tx: &mut Tx, key: &FacetKey) -> Result<FacetId, StoreError> {
    let words = [&*key.broker, &*key.queue, key.reason.as_str(), key.status.as_str(), key.importance.as_str()];
    let id: i64 = on!(tx, |tx| {
        let mut insert = sqlx::query(MAKE);
        let mut find = sqlx::query_scalar(FIND);
        for word in words {
            insert = insert.bind(word);
            find = find.bind(word);
        }
        insert.execute(&mut **tx).await?;
        find.fetch_one(&mut **tx).await?
    });
    Ok(FacetId(id))
}

#[derive(FromRow)]
struct FacetRow {
    id: i64,
    broker: String,
    queue: String,
    reason: String,
    status: String,
    importance: String,
    count: i64,
}

impl FacetRow {
    fn key(&self) -> Result<FacetKey, StoreError> {
        FacetKey::read(&self.broker, &self.queue, &self.reason, &self.status, &self.importance)
    }
}

const ALL: &str = "SELECT id, broker, queue, reason, status, importance, count FROM facets";
const MAKE: &str = "INSERT INTO facets (broker, queue, reason, status, importance, count)
    VALUES ($1, $2, $3, $4, $5, 0) ON CONFLICT DO NOTHING";
const FIND: &str = "SELECT id FROM facets
    WHERE broker = $1 AND queue = $2 AND reason = $3 AND status = $4 AND importance = $5";

/// Facets that a filter lets through, with their kept counts.
pub(crate) struct Matching {
    pub(crate) facets: Vec<(FacetId, FacetKey, u64)>,
    /// Letters in all facets, matching or not.
    pub(crate) everything: u64,
    /// Only letters of these groups are meant; `None`: of all.
    pub(crate) groups: Option<Vec<GroupHome>>,
}

/// A group with the facets that its letters are in.
#[derive(Clone, Debug)]
pub(crate) struct GroupHome {
    pub(crate) group: GroupId,
    pub(crate) broker: String,
    /// Empty: unknown.
    pub(crate) queue: String,
    pub(crate) reason: Reason,
}

impl GroupHome {
    fn is_of(&self, key: &FacetKey) -> bool {
        self.broker == key.broker && self.queue == key.queue && self.reason == key.reason
    }
}

/// Letters that stand side by side in an index, by when they were received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Range {
    Facet(FacetId),
    Group(GroupId, FacetId),
}

impl Range {
    /// Pushes which letters are in it, as a condition on `letters`.
    pub(crate) fn push<DB: Database>(self, query: &mut QueryBuilder<DB>)
    where
        for<'q> Uuid: Encode<'q, DB> + Type<DB>,
    {
        let facet = match self {
            Self::Facet(facet) => facet,
            Self::Group(group, facet) => {
                query.push("group_id = ").push_bind(group.as_uuid()).push(" AND ");
                facet
            }
        };
        query.push("facet_id = ").push(facet.0);
    }
}

impl Matching {
    pub(crate) fn total(&self) -> u64 {
        self.facets.iter().map(|(_, _, count)| count).sum()
    }

    pub(crate) fn ids(&self) -> impl Iterator<Item = FacetId> {
        self.facets.iter().map(|(id, _, _)| *id)
    }

    /// The ranges of the indexes in which all that matches stands.
    pub(crate) fn ranges(&self) -> Vec<Range> {
        let Some(groups) = &self.groups else { return self.ids().map(Range::Facet).collect() };
        let mut ranges = Vec::new();
        for home in groups {
            let facets = self.facets.iter().filter(|(_, key, _)| home.is_of(key));
            ranges.extend(facets.map(|(facet, _, _)| Range::Group(home.group, *facet)));
        }
        ranges
    }
}

impl StoreReader {
    /// How many letters each facet has; facets without letters are left out.
    pub async fn facets(&self) -> Result<Vec<FacetCount>, StoreError> {
        let matching = self.matching(&LetterFilter::default()).await?;
        Ok(matching.facets.into_iter().map(|(_, key, count)| facet_count(key, count)).collect())
    }
}

impl Store {
    pub(crate) fn facet_scope(&self) -> FacetScope<'_> {
        FacetScope { known: &self.facets, made: HashMap::new() }
    }
}

impl StoreReader {
    /// Which facets `filter` lets through; its times are not looked at.
    pub(crate) async fn matching(&self, filter: &LetterFilter) -> Result<Matching, StoreError> {
        let rows: Vec<FacetRow> = on!(self.db.reader(), |pool| sqlx::query_as(ALL).fetch_all(pool).await?);
        let queues = filter.queue_globs();
        let groups = self.groups_of(filter).await?;
        let homes: Option<BTreeSet<(&str, &str, Reason)>> = groups.as_ref().map(|groups: &Vec<GroupHome>| {
            groups.iter().map(|home| (&*home.broker, &*home.queue, home.reason)).collect()
        });
        let is_home = |key: &FacetKey| {
            homes.as_ref().is_none_or(|homes| homes.contains(&(&*key.broker, &*key.queue, key.reason)))
        };
        let mut facets = Vec::new();
        let mut everything = 0;
        for row in rows.iter().filter(|row| row.count > 0) {
            let key = row.key()?;
            let count = row.count.unsigned_abs();
            everything += count;
            if lets_through(filter, &key) && queues.matches(&key.queue) && is_home(&key) {
                facets.push((FacetId(row.id), key, count));
            }
        }
        Ok(Matching { facets, everything, groups })
    }
}

impl StoreReader {
    /// The groups that hold the letters of `filter`, where it names groups or types; `None`: all of them.
    async fn groups_of(&self, filter: &LetterFilter) -> Result<Option<Vec<GroupHome>>, StoreError> {
        if !filter.is_of_groups() {
            return Ok(None);
        }
        if filter.types.is_empty() {
            return self.homes(&filter.groups).await.map(Some);
        }
        let of_type = GroupFilter {
            brokers: filter.brokers.clone(),
            queues: filter.queues.clone(),
            types: filter.types.clone(),
            reasons: filter.reasons.clone(),
            ..GroupFilter::default()
        };
        let mut homes = self.matching_homes(&of_type).await?;
        homes.retain(|home| filter.groups.is_empty() || filter.groups.contains(&home.group));
        Ok(Some(homes))
    }
}

fn lets_through(filter: &LetterFilter, key: &FacetKey) -> bool {
    fn any<T: PartialEq>(wanted: &[T], value: &T) -> bool {
        wanted.is_empty() || wanted.contains(value)
    }
    any(&filter.statuses, &key.status)
        && any(&filter.importances, &key.importance)
        && any(&filter.reasons, &key.reason)
        && any(&filter.brokers, &key.broker)
}

pub(crate) fn facet_count(key: FacetKey, count: u64) -> FacetCount {
    FacetCount {
        broker: key.broker,
        queue: Some(key.queue).filter(|queue| !queue.is_empty()),
        reason: key.reason,
        status: key.status,
        importance: key.importance,
        count,
    }
}
