//! Which groups are meant, as conditions on `groups`.

use std::sync::Arc;

use sqlx::{Encode, QueryBuilder, Type};
use sqlx_macros::FromRow;
use uuid::Uuid;

use crate::{
    domain::{
        filter::Names,
        group::{GroupFilter, GroupId},
        letter::Importance,
    },
    store::{
        StoreError, StoreReader,
        counts::facets::GroupHome,
        db::{
            Sql,
            id_list::{TextList, Unnest, push_queues, push_texts, push_uuids},
            on,
        },
        letters::rows::parse,
    },
};

/// Of groups with open letters, in the words of their index.
pub(crate) const OPEN: &str = "critical + high + normal + low > 0";

/// Broker and queue of a group, with a line break between them.
pub(crate) type Place = String;

/// A filter whose patterns have become the names that they stand for.
pub(crate) struct Conditions {
    only_open: bool,
    importances: Vec<Importance>,
    /// Columns, and the values that each of them may have.
    lists: Vec<(&'static str, Vec<String>)>,
    /// Of those that are there for who asks; `None`: all are.
    places: Option<Arc<[Place]>>,
}

impl Conditions {
    /// Pushes ` WHERE …`; further conditions may follow.
    pub(crate) fn push<DB: Unnest>(&self, query: &mut QueryBuilder<DB>)
    where
        for<'q> TextList: Encode<'q, DB> + Type<DB>,
    {
        query.push(" WHERE merged_into IS NULL AND ").push(self.of_open());
        for (column, values) in &self.lists {
            query.push(" AND ").push(*column).push(" IN ");
            push_texts(query, values.clone());
        }
        if let Some(places) = &self.places {
            query.push(" AND ");
            push_queues(query, places);
        }
    }

    /// All in it are words of our own.
    fn of_open(&self) -> String {
        if !self.only_open {
            return "1 = 1".to_owned();
        }
        if self.importances.is_empty() {
            return OPEN.to_owned();
        }
        let counts: Vec<String> = self.importances.iter().map(|importance| format!("{importance} > 0")).collect();
        format!("{OPEN} AND ({})", counts.join(" OR "))
    }
}

#[derive(FromRow)]
struct HomeRow {
    id: Uuid,
    broker: String,
    queue: String,
    reason: String,
    is_merged: bool,
}

impl TryFrom<HomeRow> for GroupHome {
    type Error = StoreError;

    fn try_from(row: HomeRow) -> Result<Self, StoreError> {
        let reason = parse("a reason", &row.reason)?;
        Ok(Self { group: GroupId::from_uuid(row.id), broker: row.broker, queue: row.queue, reason })
    }
}

const HOMES: &str = "SELECT id, broker, queue, reason, merged_into IS NOT NULL AS is_merged FROM groups";

impl StoreReader {
    pub(crate) async fn conditions(&self, filter: &GroupFilter) -> Result<Conditions, StoreError> {
        let reasons = filter.reasons.iter().map(|reason| reason.as_str().to_owned()).collect();
        let lists = [
            ("broker", filter.brokers.clone()),
            ("state", filter.phases.iter().map(|phase| phase.as_str().to_owned()).collect()),
            ("assignee", filter.assignees.iter().map(ToString::to_string).collect()),
            ("reason", reasons),
            ("queue", self.names(&filter.queues, "SELECT DISTINCT queue FROM facets").await?),
            ("message_type", self.names(&filter.types, "SELECT DISTINCT message_type FROM groups").await?),
        ];
        let all = [
            filter.brokers.is_empty(),
            filter.phases.is_empty(),
            filter.assignees.is_empty(),
            filter.reasons.is_empty(),
            filter.queues.is_empty(),
            filter.types.is_empty(),
        ];
        // What no name matches lets nothing through, which is not the same as not to ask.
        let lists = lists.into_iter().zip(all).filter(|(_, all)| !all).map(|(list, _)| list);
        Ok(Conditions {
            only_open: filter.only_open,
            importances: filter.importances.clone(),
            lists: lists.collect(),
            places: self.places().await?,
        })
    }

    /// Where groups are, as far as they are there for who asks; `None`: all are. Read once for a request.
    async fn places(&self) -> Result<Option<Arc<[Place]>>, StoreError> {
        match &self.memo {
            _ if self.scope.is_everything() => Ok(None),
            Some(memo) => memo.places.get_or_try_init(|| self.places_now()).await.cloned().map(Some),
            None => self.places_now().await.map(Some),
        }
    }

    async fn places_now(&self) -> Result<Arc<[Place]>, StoreError> {
        // In one row: there are thousands.
        const PLACES: Sql = Sql {
            sqlite: "SELECT json_group_array(broker || char(10) || queue) FROM (
                SELECT DISTINCT broker, queue FROM groups WHERE merged_into IS NULL) AS places",
            postgres: "SELECT CAST(to_json(array_agg(broker || chr(10) || queue)) AS TEXT) FROM (
                SELECT DISTINCT broker, queue FROM groups WHERE merged_into IS NULL) AS places",
        };
        let select = PLACES.pick(self.db.reader());
        let places: Option<String> = on!(self.db.reader(), |pool| sqlx::query_scalar(select).fetch_one(pool).await?);
        let mut places: Vec<Place> = serde_json::from_str(places.as_deref().unwrap_or("[]"))
            .map_err(|error| StoreError::Unreadable { what: "places of groups", why: error.to_string() })?;
        places.retain(|place| place.split_once('\n').is_some_and(|(broker, queue)| self.scope.includes(broker, queue)));
        Ok(places.into())
    }

    /// The names that are meant, among those that `all` selects.
    async fn names(&self, meant: &Names, all: &'static str) -> Result<Vec<String>, StoreError> {
        if meant.globs.is_empty() {
            return Ok(meant.exact.clone());
        }
        let mut names: Vec<String> = on!(self.db.reader(), |pool| sqlx::query_scalar(all).fetch_all(pool).await?);
        let matcher = meant.matcher();
        names.retain(|name| matcher.matches(name));
        Ok(names)
    }

    /// Where the letters of `groups` are, as far as there are such groups; of one that is part of another, those of that.
    pub(crate) async fn homes(&self, groups: &[GroupId]) -> Result<Vec<GroupHome>, StoreError> {
        let rows = self.home_rows(groups.iter().map(|group| group.as_uuid()).collect()).await?;
        let (merged, mut rows): (Vec<HomeRow>, Vec<HomeRow>) = rows.into_iter().partition(|row| row.is_merged);
        let mut roots = Vec::new();
        for row in merged {
            roots.extend(self.merged_into(GroupId::from_uuid(row.id)).await?.map(GroupId::as_uuid));
        }
        roots.retain(|root| rows.iter().all(|row| row.id != *root));
        if !roots.is_empty() {
            rows.extend(self.home_rows(roots).await?);
        }
        let theirs = rows.into_iter().filter(|row| self.scope.includes(&row.broker, &row.queue));
        theirs.map(GroupHome::try_from).collect()
    }

    async fn home_rows(&self, groups: Vec<Uuid>) -> Result<Vec<HomeRow>, StoreError> {
        Ok(on!(self.db.reader(), |pool| {
            let mut select = QueryBuilder::new(HOMES);
            select.push(" WHERE id IN ");
            push_uuids(&mut select, groups);
            select.build_query_as().fetch_all(pool).await?
        }))
    }

    /// The same for the groups that `filter` lets through.
    pub(crate) async fn matching_homes(&self, filter: &GroupFilter) -> Result<Vec<GroupHome>, StoreError> {
        let conditions = self.conditions(filter).await?;
        let rows: Vec<HomeRow> = on!(self.db.reader(), |pool| {
            let mut select = QueryBuilder::new(HOMES);
            conditions.push(&mut select);
            select.build_query_as().fetch_all(pool).await?
        });
        rows.into_iter().map(GroupHome::try_from).collect()
    }
}
