//! Groups of letters that failed alike: listing them, and their figures.

use sqlx::{FromRow, QueryBuilder};
use uuid::Uuid;

use super::{
    Store, StoreError, activity,
    db::{Sql, on},
    facets::GroupHome,
    id_list::push_uuids,
    rows::parse,
};
use crate::domain::{
    activity::{Area, Deed},
    actor::Actor,
    glob::Globs,
    group::{Group, GroupFilter, GroupId, GroupKey, GroupPage, GroupSort, Note, Outcome},
    letter::Importance,
    time::Timestamp,
};

const COLUMNS: &str = "id, broker, queue, message_type, reason, error, critical, high, normal, low, scheduled, retried,
    discarded, first_seen, last_seen, sent, came_back, last_sent_at, note, note_by, note_at";

#[derive(FromRow)]
struct Row {
    id: Uuid,
    broker: String,
    queue: String,
    message_type: String,
    reason: String,
    error: String,
    critical: i64,
    high: i64,
    normal: i64,
    low: i64,
    scheduled: i64,
    retried: i64,
    discarded: i64,
    first_seen: i64,
    last_seen: i64,
    sent: i64,
    came_back: i64,
    last_sent_at: Option<i64>,
    note: String,
    note_by: String,
    note_at: Option<i64>,
}

impl TryFrom<Row> for Group {
    type Error = StoreError;

    fn try_from(row: Row) -> Result<Self, StoreError> {
        let known = |text: String| Some(text).filter(|text| !text.is_empty());
        let note = |at: i64| Note { text: row.note, by: Actor::named(row.note_by), at: Timestamp::from_micros(at) };
        Ok(Self {
            id: GroupId::from_uuid(row.id),
            key: GroupKey {
                broker: row.broker,
                queue: known(row.queue),
                message_type: known(row.message_type),
                reason: parse("a reason", &row.reason)?,
                error: row.error,
            },
            open: [row.critical, row.high, row.normal, row.low].map(i64::unsigned_abs),
            scheduled: row.scheduled.unsigned_abs(),
            retried: row.retried.unsigned_abs(),
            discarded: row.discarded.unsigned_abs(),
            first_seen: Timestamp::from_micros(row.first_seen),
            last_seen: Timestamp::from_micros(row.last_seen),
            outcome: Outcome { sent: row.sent.unsigned_abs(), came_back: row.came_back.unsigned_abs(), unknown: 0 },
            last_sent_at: row.last_sent_at.map(Timestamp::from_micros),
            note: row.note_at.map(note),
        })
    }
}

impl Store {
    /// Groups that `filter` lets through, `limit` of them from behind `after` on. What was sent back since
    /// `unknown_since` and has not failed again counts as unknown.
    pub async fn groups(
        &self,
        filter: &GroupFilter,
        sort: GroupSort,
        after: Option<GroupId>,
        limit: usize,
        unknown_since: Timestamp,
    ) -> Result<GroupPage, StoreError> {
        let mut groups = self.matching_groups(filter).await?;
        order(&mut groups, sort);
        let total = groups.len() as u64;
        let begin = after.and_then(|after| groups.iter().position(|group| group.id == after)).map_or(0, |at| at + 1);
        let rest = groups.len().saturating_sub(begin);
        let mut items: Vec<Group> = groups.into_iter().skip(begin).take(limit).collect();
        let next = items.last().filter(|_| rest > limit).map(|last| last.id);
        self.add_unknown(&mut items, unknown_since).await?;
        Ok(GroupPage { items, total, next })
    }

    /// All groups that `filter` lets through, in no particular order, without what is unknown of them.
    ///
    /// Their number is bounded by how many ways there are to fail, not by how many letters there are.
    pub async fn matching_groups(&self, filter: &GroupFilter) -> Result<Vec<Group>, StoreError> {
        let conditions = conditions(filter);
        let rows: Vec<Row> = on!(self.db.reader(), |pool| {
            let mut select = QueryBuilder::new("SELECT ");
            select.push(COLUMNS).push(" FROM groups").push(conditions);
            select.build_query_as().fetch_all(pool).await?
        });
        let (queues, types) = (Globs::new(&filter.queues), Globs::new(&filter.types));
        let wanted = |row: &Row| {
            let any = |wanted: &[String], value: &str| wanted.is_empty() || wanted.iter().any(|one| one == value);
            let reasons = filter.reasons.is_empty() || filter.reasons.iter().any(|one| one.as_str() == row.reason);
            any(&filter.brokers, &row.broker)
                && reasons
                && queues.matches(&row.queue)
                && types.matches(&row.message_type)
        };
        rows.into_iter().filter(wanted).map(Group::try_from).collect()
    }

    pub async fn group(&self, id: GroupId, unknown_since: Timestamp) -> Result<Option<Group>, StoreError> {
        let row: Option<Row> = on!(self.db.reader(), |pool| {
            let mut select = QueryBuilder::new("SELECT ");
            select.push(COLUMNS).push(" FROM groups WHERE id = ").push_bind(id.as_uuid());
            select.build_query_as().fetch_optional(pool).await?
        });
        let mut group = row.map(Group::try_from).transpose()?;
        self.add_unknown(group.as_mut_slice(), unknown_since).await?;
        Ok(group)
    }

    /// How many groups have open letters, by the weightiest of these.
    pub async fn open_groups(&self) -> Result<[u64; Importance::ALL.len()], StoreError> {
        const COUNT: &str = "SELECT weight, COUNT(*) FROM (SELECT CASE WHEN critical > 0 THEN 0 WHEN high > 0 THEN 1
                WHEN normal > 0 THEN 2 ELSE 3 END AS weight FROM groups
                WHERE critical > 0 OR high > 0 OR normal > 0 OR low > 0) AS open GROUP BY weight";
        let rows: Vec<(i32, i64)> = on!(self.db.reader(), |pool| sqlx::query_as(COUNT).fetch_all(pool).await?);
        let mut counts = [0; Importance::ALL.len()];
        for (weight, count) in rows {
            if let Some(place) = usize::try_from(weight).ok().and_then(|weight| counts.get_mut(weight)) {
                *place = count.unsigned_abs();
            }
        }
        Ok(counts)
    }

    /// Sets the note of a group, or with an empty text removes it; says whether there is such a group.
    pub async fn set_group_note(&self, id: GroupId, text: &str, by: &Actor, at: Timestamp) -> Result<bool, StoreError> {
        const SET: &str = "UPDATE groups SET note = $1, note_by = $2, note_at = $3 WHERE id = $4";
        let mut tx = self.db.begin().await?;
        let rows = on!(&mut tx, |tx| sqlx::query(SET)
            .bind(text)
            .bind(by.as_str())
            .bind(Some(at.as_micros()).filter(|_| !text.is_empty()))
            .bind(id.as_uuid())
            .execute(&mut **tx)
            .await?
            .rows_affected());
        if rows > 0 {
            let deed = Deed::new(at, by, Area::Groups, "note", id.to_string());
            activity::append(&mut tx, &Deed { detail: text.to_owned(), ..deed }).await?;
        }
        tx.commit().await?;
        Ok(rows > 0)
    }

    /// Removes groups that no letter is in any more, that nothing has come into since `before` and that nobody has
    /// written a note on, and what happened by the hour before `before`.
    pub async fn forget_groups(&self, before: Timestamp) -> Result<u64, StoreError> {
        const GROUPS: Sql = Sql {
            sqlite: "DELETE FROM groups WHERE last_seen < $1 AND note_at IS NULL
                AND critical + high + normal + low + scheduled + retried + discarded = 0",
            postgres: "DELETE FROM groups WHERE id IN (SELECT id FROM groups WHERE last_seen < $1 AND note_at IS NULL
                AND critical + high + normal + low + scheduled + retried + discarded = 0
                ORDER BY id FOR UPDATE SKIP LOCKED)",
        };
        const HOURS: &str = "DELETE FROM group_hours WHERE start < $1";
        let groups = GROUPS.pick(self.db.writer());
        Ok(on!(self.db.writer(), |pool| {
            sqlx::query(HOURS).bind(before.as_micros()).execute(pool).await?;
            sqlx::query(groups).bind(before.as_micros()).execute(pool).await?.rows_affected()
        }))
    }

    /// Where the letters of `groups` are, as far as there are such groups.
    pub(super) async fn homes(&self, groups: &[GroupId]) -> Result<Vec<GroupHome>, StoreError> {
        let rows: Vec<Row> = on!(self.db.reader(), |pool| {
            let mut select = QueryBuilder::new("SELECT ");
            select.push(COLUMNS).push(" FROM groups WHERE id IN ");
            push_uuids(&mut select, groups.iter().map(|group| group.as_uuid()).collect());
            select.build_query_as().fetch_all(pool).await?
        });
        rows.into_iter().map(|row| Ok(Group::try_from(row)?.into())).collect()
    }
}

/// All in it are words of our own.
fn conditions(filter: &GroupFilter) -> String {
    if !filter.only_open {
        return String::new();
    }
    let importances = if filter.importances.is_empty() { Importance::ALL } else { &filter.importances };
    let counts: Vec<String> = importances.iter().map(|importance| format!("{importance} > 0")).collect();
    format!(" WHERE ({})", counts.join(" OR "))
}

fn order(groups: &mut [Group], sort: GroupSort) {
    use std::cmp::Reverse;
    let weight = |group: &Group| group.importance().map_or(Importance::ALL.len(), |importance| importance as usize);
    groups.sort_unstable_by_key(|group| {
        let (open, seen) = (Reverse(group.n_open()), Reverse(group.last_seen));
        let key = match sort {
            GroupSort::Importance => (weight(group), open, seen),
            GroupSort::Biggest => (0, open, seen),
            GroupSort::Newest => (0, Reverse(0), seen),
        };
        (key, group.id)
    });
}
