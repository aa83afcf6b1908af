//! Groups of letters with similar failures: listing them, and their figures.

mod counted_in;
pub(crate) mod counts;
pub(crate) mod filter;
pub(crate) mod key;
mod known;
pub(crate) mod merging;
mod moving;
mod note;
pub(crate) mod outcomes;
pub(crate) mod roots;
pub(crate) mod splitting;
pub(crate) mod state;
pub(crate) mod tally;
mod told_as;
pub(crate) mod waking;

use amqp_message::time::Timestamp;
use sqlx::{Database, Encode, QueryBuilder, Type};
use sqlx_macros::FromRow;
use uuid::Uuid;

use key::KeyRow;

use super::{
    Store, StoreError, StoreReader,
    db::{Sql, id_list::push_uuids, on},
    letters::rows::bigint,
};
use crate::domain::{
    actor::Actor,
    group::{Group, GroupCursor, GroupFilter, GroupId, GroupPage, GroupSort, Note, Outcome},
    letter::Importance,
};

pub(crate) const COLUMNS: &str =
    "id, broker, queue, message_type, reason, error, part, split_from, critical, high, normal, low, scheduled, retried,
    discarded, first_seen, last_seen, sent, failed_again, last_sent_at, note, note_by, note_at,
    state, progress, assignee, ticket, told_as";

#[derive(FromRow)]
pub(crate) struct Row {
    id: Uuid,
    #[sqlx(flatten)]
    key: KeyRow,
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
    failed_again: i64,
    last_sent_at: Option<i64>,
    note: String,
    note_by: String,
    note_at: Option<i64>,
    state: String,
    progress: String,
    assignee: String,
    ticket: String,
    told_as: Option<Uuid>,
}

impl TryFrom<Row> for Group {
    type Error = StoreError;

    fn try_from(row: Row) -> Result<Self, StoreError> {
        let note = |at: i64| Note { text: row.note, by: Actor::named(row.note_by), at: Timestamp::from_micros(at) };
        Ok(Self {
            id: GroupId::from_uuid(row.id),
            key: row.key.try_into()?,
            open: [row.critical, row.high, row.normal, row.low].map(i64::unsigned_abs),
            scheduled: row.scheduled.unsigned_abs(),
            retried: row.retried.unsigned_abs(),
            discarded: row.discarded.unsigned_abs(),
            first_seen: Timestamp::from_micros(row.first_seen),
            last_seen: Timestamp::from_micros(row.last_seen),
            outcome: Outcome {
                sent: row.sent.unsigned_abs(),
                failed_again: row.failed_again.unsigned_abs(),
                pending: 0,
            },
            last_sent_at: row.last_sent_at.map(Timestamp::from_micros),
            note: row.note_at.map(note),
            state: state::read(&row.state, &row.progress, &row.assignee, row.ticket)?,
            told_as: row.told_as.map(GroupId::from_uuid),
        })
    }
}

impl StoreReader {
    /// Groups that `filter` lets through, `limit` of them from behind `after` on. What was sent back since
    /// `pending_since` and has not failed again counts as unknown.
    pub async fn groups(
        &self,
        filter: &GroupFilter,
        sort: GroupSort,
        after: Option<GroupCursor>,
        limit: usize,
        pending_since: Timestamp,
    ) -> Result<GroupPage, StoreError> {
        let conditions = self.conditions(filter).await?;
        let rows: Vec<Row> = on!(self.db.reader(), |pool| {
            let mut select = QueryBuilder::new("SELECT ");
            select.push(COLUMNS).push(" FROM groups");
            conditions.push(&mut select);
            push_place(&mut select, sort, after);
            select.push(" ORDER BY ").push(keys(sort).join(", ")).push(" LIMIT ").push_bind(bigint(limit as u64 + 1));
            select.build_query_as().fetch_all(pool).await?
        });
        let total = self.count_matching(filter).await?;
        let more = rows.len() > limit;
        let mut items = rows.into_iter().take(limit).map(Group::try_from).collect::<Result<Vec<_>, _>>()?;
        let next = items.last().filter(|_| more).map(Group::cursor);
        self.add_unknown(&mut items, pending_since).await?;
        Ok(GroupPage { items, total, next })
    }

    /// All groups that `filter` lets through, in no particular order, without what is unknown of them.
    ///
    /// Their number is bounded by how many ways there are to fail, not by how many letters there are.
    pub async fn matching_groups(&self, filter: &GroupFilter) -> Result<Vec<Group>, StoreError> {
        let conditions = self.conditions(filter).await?;
        let rows: Vec<Row> = on!(self.db.reader(), |pool| {
            let mut select = QueryBuilder::new("SELECT ");
            select.push(COLUMNS).push(" FROM groups");
            conditions.push(&mut select);
            select.build_query_as().fetch_all(pool).await?
        });
        rows.into_iter().map(Group::try_from).collect()
    }

    pub async fn group(&self, id: GroupId, pending_since: Timestamp) -> Result<Option<Group>, StoreError> {
        let mut group = self.groups_by_id(&[id]).await?.pop();
        self.add_unknown(group.as_mut_slice(), pending_since).await?;
        Ok(group)
    }

    /// Those of `ids` that exist, in no particular order, without what is unknown of them.
    pub async fn groups_by_id(&self, ids: &[GroupId]) -> Result<Vec<Group>, StoreError> {
        self.rows_by_id(ids, "merged_into IS NULL AND ").await
    }

    /// The same, and those that are part of another.
    pub async fn groups_ever_by_id(&self, ids: &[GroupId]) -> Result<Vec<Group>, StoreError> {
        self.rows_by_id(ids, "").await
    }

    async fn rows_by_id(&self, ids: &[GroupId], condition: &str) -> Result<Vec<Group>, StoreError> {
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let rows: Vec<Row> = on!(self.db.reader(), |pool| {
            let mut select = QueryBuilder::new("SELECT ");
            select.push(COLUMNS).push(" FROM groups WHERE ").push(condition).push("id IN ");
            push_uuids(&mut select, ids.iter().map(|id| id.as_uuid()).collect());
            select.build_query_as().fetch_all(pool).await?
        });
        let theirs = rows.into_iter().filter(|row| self.scope.includes(&row.key.broker, &row.key.queue));
        theirs.map(Group::try_from).collect()
    }
}

impl Store {
    /// Removes groups that no letter is in any more, or on its way into, that nothing has come into since `before` and
    /// that nobody has written a note on, or has taken, snoozed, merged or split, and what happened by the hour before
    /// `before`.
    pub async fn forget_groups(&self, before: Timestamp) -> Result<u64, StoreError> {
        const GROUPS: Sql = Sql {
            sqlite: "DELETE FROM groups WHERE last_seen < $1 AND note_at IS NULL
                AND state IN ('open', 'resolved') AND assignee = '' AND ticket = ''
                AND critical + high + normal + low + scheduled + retried + discarded = 0
                AND merged_into IS NULL AND id NOT IN (SELECT merged_into FROM groups WHERE merged_into IS NOT NULL)
                AND id NOT IN (SELECT group_id FROM group_splits) AND NOT is_moving",
            postgres: "DELETE FROM groups WHERE id IN (SELECT id FROM groups
                WHERE last_seen < $1 AND note_at IS NULL
                AND state IN ('open', 'resolved') AND assignee = '' AND ticket = ''
                AND critical + high + normal + low + scheduled + retried + discarded = 0
                AND merged_into IS NULL AND id NOT IN (SELECT merged_into FROM groups WHERE merged_into IS NOT NULL)
                AND id NOT IN (SELECT group_id FROM group_splits) AND NOT is_moving
                ORDER BY id FOR UPDATE SKIP LOCKED)",
        };
        const HOURS: &str = "DELETE FROM group_hours WHERE start < $1";
        let groups = GROUPS.pick(self.db.writer());
        Ok(on!(self.db.writer(), |pool| {
            sqlx::query(HOURS).bind(before.as_micros()).execute(pool).await?;
            sqlx::query(groups).bind(before.as_micros()).execute(pool).await?.rows_affected()
        }))
    }
}

/// What a list is sorted by, in the words of its index; all in it are words of our own. `~` turns the order of any number
/// around, also of the least one.
const fn keys(sort: GroupSort) -> &'static [&'static str] {
    match sort {
        GroupSort::Importance => &[
            "CASE WHEN critical > 0 THEN 0 WHEN high > 0 THEN 1 WHEN normal > 0 THEN 2 WHEN low > 0 THEN 3 ELSE 4 END",
            "~ (critical + high + normal + low)",
            "~ last_seen",
            "id",
        ],
        GroupSort::Biggest => &["~ (critical + high + normal + low)", "~ last_seen", "id"],
        GroupSort::Newest => &["~ last_seen", "id"],
    }
}

/// Pushes that only what stands behind `after` is meant.
fn push_place<DB: Database>(query: &mut QueryBuilder<DB>, sort: GroupSort, after: Option<GroupCursor>)
where
    for<'q> i64: Encode<'q, DB> + Type<DB>,
    for<'q> Uuid: Encode<'q, DB> + Type<DB>,
{
    let Some(after) = after else { return };
    let weight = after.importance.map_or(Importance::ALL.len(), |importance| importance as usize);
    let (open, seen) = (!bigint(after.open), !after.last_seen.as_micros());
    let numbers: &[i64] = match sort {
        GroupSort::Importance => &[bigint(weight as u64), open, seen],
        GroupSort::Biggest => &[open, seen],
        GroupSort::Newest => &[seen],
    };
    query.push(" AND (").push(keys(sort).join(", ")).push(") > (");
    for number in numbers {
        query.push_bind(*number).push(", ");
    }
    query.push_bind(after.id.as_uuid()).push(")");
}
