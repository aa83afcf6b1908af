//! Facets: what letters are filtered and counted by.

use std::{collections::BTreeSet, sync::Arc};

use amqp_message::death::Reason;
use sqlx::{Database, Encode, QueryBuilder, Type};
use uuid::Uuid;

use crate::{
    domain::{
        filter::{FacetCount, LetterFilter},
        group::{GroupFilter, GroupId},
        letter::{Importance, Status},
    },
    store::{
        StoreError, StoreReader,
        db::id_list::{IdList, Unnest, numbers, push_uuids},
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

/// A facet, what it stands for, and how many letters it has.
pub(crate) type SeenFacet = (FacetId, Arc<FacetKey>, u64);

/// Facets that a filter lets through, with their kept counts.
pub(crate) struct Matching {
    pub(crate) facets: Vec<SeenFacet>,
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
    /// Whether there are facets among these that were not there before.
    pub(crate) fn has_others_than(&self, before: &Self) -> bool {
        let known = |id: &FacetId| before.facets.binary_search_by_key(id, |(id, ..)| *id).is_ok();
        !self.facets.iter().all(|(id, ..)| known(id))
    }

    pub(crate) fn total(&self) -> u64 {
        self.facets.iter().map(|(_, _, count)| count).sum()
    }

    pub(crate) fn ids(&self) -> impl Iterator<Item = FacetId> {
        self.facets.iter().map(|(id, _, _)| *id)
    }

    /// Pushes ` FROM …` with letters `l` in these facets and groups; further conditions may follow.
    pub(crate) fn push_letters<DB: Unnest>(&self, query: &mut QueryBuilder<DB>)
    where
        for<'q> IdList: Encode<'q, DB> + Type<DB>,
    {
        query.push(" FROM letters l WHERE l.facet_id IN ").push(numbers(self.ids().map(|facet| facet.0)));
        self.push_groups(query);
    }

    /// Pushes that letters `l` are in these facets, which is nothing that a database could rather begin with.
    pub(crate) fn push_facets<DB: Database>(&self, query: &mut QueryBuilder<DB>) {
        query.push("CASE WHEN l.facet_id IN ").push(numbers(self.ids().map(|facet| facet.0)));
        query.push(" THEN TRUE ELSE FALSE END");
    }

    /// Pushes that letters `l` are in these groups.
    pub(crate) fn push_groups<DB: Unnest>(&self, query: &mut QueryBuilder<DB>)
    where
        for<'q> IdList: Encode<'q, DB> + Type<DB>,
    {
        if let Some(groups) = &self.groups {
            query.push(" AND l.group_id IN ");
            push_uuids(query, groups.iter().map(|home| home.group.as_uuid()).collect());
        }
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
        Ok(matching.facets.into_iter().map(|(_, key, count)| facet_count(&key, count)).collect())
    }
}

impl StoreReader {
    /// Which facets `filter` lets through; its times are not looked at.
    pub(crate) async fn matching(&self, filter: &LetterFilter) -> Result<Matching, StoreError> {
        match self.memo.as_ref().map(|memo| &memo.seen) {
            // What is asked for narrowly is read narrowly, unless all of it is there.
            Some(once) if once.initialized() || !self.scope.is_everything() || !names_words(filter) => {
                let seen = once.get_or_try_init(async || self.facets_of(&LetterFilter::default()).await).await?;
                self.matching_among(seen, filter).await
            }
            _ => self.matching_among(&self.facets_of(filter).await?, filter).await,
        }
    }

    async fn matching_among(&self, seen: &[SeenFacet], filter: &LetterFilter) -> Result<Matching, StoreError> {
        let queues = filter.queues.matcher();
        let groups = self.groups_of(filter).await?;
        let homes: Option<BTreeSet<(&str, &str, Reason)>> = groups.as_ref().map(|groups: &Vec<GroupHome>| {
            groups.iter().map(|home| (&*home.broker, &*home.queue, home.reason)).collect()
        });
        let is_home = |key: &FacetKey| {
            homes.as_ref().is_none_or(|homes| homes.contains(&(&*key.broker, &*key.queue, key.reason)))
        };
        let mut facets = Vec::new();
        for facet @ (_, key, _) in seen {
            if any(&filter.brokers, &key.broker)
                && queues.matches(&key.queue)
                && any(&filter.statuses, &key.status)
                && any(&filter.importances, &key.importance)
                && any(&filter.reasons, &key.reason)
                && is_home(key)
            {
                facets.push(facet.clone());
            }
        }
        facets.sort_unstable_by_key(|(id, ..)| *id);
        Ok(Matching { facets, groups })
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

/// An empty list lets everything through.
fn any<T: PartialEq>(wanted: &[T], value: &T) -> bool {
    wanted.is_empty() || wanted.contains(value)
}

fn names_words(filter: &LetterFilter) -> bool {
    !(filter.statuses.is_empty() && filter.importances.is_empty() && filter.reasons.is_empty())
}

pub(crate) fn facet_count(key: &FacetKey, count: u64) -> FacetCount {
    FacetCount {
        broker: key.broker.clone(),
        queue: Some(key.queue.clone()).filter(|queue| !queue.is_empty()),
        reason: key.reason,
        status: key.status,
        importance: key.importance,
        count,
    }
}
