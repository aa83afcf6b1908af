//! Groups that are split by a field.
//!
//! In which part a letter is follows from what it says, as its group does; so it is told when it is enriched, and splitting a
//! group means that its letters are enriched anew. Parts are made one with their group again by merging them into it: the
//! split stays, so that letters that come find their part, and by it the group.

use std::collections::BTreeSet;

use amqp_message::time::Timestamp;
use sqlx::QueryBuilder;
use sqlx_macros::FromRow;
use uuid::Uuid;

use super::{
    COLUMNS, Row,
    key::{NewGroup, make_groups},
    merging::{MergeOrder, Part, locked_parts, may, set_apart, set_into},
    state::log,
};
use crate::{
    domain::{
        actor::Actor,
        group::{Group, GroupId, GroupKey},
        letter::LetterId,
        number,
        rights::Right,
        split::{GroupSplit, Said, SplitRefusal},
    },
    grouping,
    store::{
        Store, StoreError, StoreReader,
        db::{Tx, on},
        letters::rows::parse,
    },
};

#[derive(FromRow)]
struct SplitRow {
    group_id: Uuid,
    field: String,
    parts: String,
    set_by: String,
    set_at: i64,
}

impl TryFrom<SplitRow> for GroupSplit {
    type Error = StoreError;

    fn try_from(row: SplitRow) -> Result<Self, StoreError> {
        let unreadable =
            |error: serde_json::Error| StoreError::Unreadable { what: "a split group", why: error.to_string() };
        Ok(Self {
            group: GroupId::from_uuid(row.group_id),
            field: parse("a field", &row.field)?,
            values: serde_json::from_str::<BTreeSet<Said>>(&row.parts).map_err(unreadable)?,
            by: Actor::named(row.set_by),
            at: Timestamp::from_micros(row.set_at),
        })
    }
}

/// Where a letter stands among those of its group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlaceInGroup(i64, i64, Uuid);

impl PlaceInGroup {
    /// Before all of them.
    pub const FIRST: Self = Self(i64::MIN, i64::MIN, Uuid::nil());
}

const SPLITS: &str = "SELECT group_id, field, parts, set_by, set_at FROM group_splits";

impl StoreReader {
    /// All groups that are split, or were and whose parts were merged.
    pub async fn group_splits(&self) -> Result<Vec<GroupSplit>, StoreError> {
        let rows: Vec<SplitRow> = on!(self.db.reader(), |pool| sqlx::query_as(SPLITS).fetch_all(pool).await?);
        rows.into_iter().map(GroupSplit::try_from).collect()
    }

    /// One whose letters are not all where they belong.
    pub async fn split_to_apply(&self) -> Result<Option<GroupSplit>, StoreError> {
        let row: Option<SplitRow> = on!(self.db.reader(), |pool| {
            let mut select = QueryBuilder::new(SPLITS);
            select.push(" WHERE NOT is_applied ORDER BY set_at LIMIT 1");
            select.build_query_as().fetch_optional(pool).await?
        });
        row.map(GroupSplit::try_from).transpose()
    }

    /// The parts of a group, as far as they were not merged.
    pub async fn parts_of(&self, id: GroupId) -> Result<Vec<Group>, StoreError> {
        let rows: Vec<Row> = on!(self.db.reader(), |pool| {
            let mut select = QueryBuilder::new("SELECT ");
            select
                .push(COLUMNS)
                .push(" FROM groups WHERE merged_into IS NULL AND split_from = ")
                .push_bind(id.as_uuid());
            select.push(" ORDER BY part, id").build_query_as().fetch_all(pool).await?
        });
        let theirs = rows.into_iter().filter(|row| self.scope.includes(&row.key.broker, &row.key.queue));
        theirs.map(Group::try_from).collect()
    }

    /// The next letters of a group behind a place, and the place of the last of them.
    pub async fn letters_of_group(
        &self,
        group: GroupId,
        after: PlaceInGroup,
        limit: u32,
    ) -> Result<(Vec<LetterId>, PlaceInGroup), StoreError> {
        const SELECT: &str = "SELECT facet_id, received_at, id FROM letters
            WHERE group_id = $1 AND (facet_id, received_at, id) > ($2, $3, $4)
            ORDER BY facet_id, received_at, id LIMIT $5";
        let rows: Vec<(i64, i64, Uuid)> = on!(self.db.reader(), |pool| sqlx::query_as(SELECT)
            .bind(group.as_uuid())
            .bind(after.0)
            .bind(after.1)
            .bind(after.2)
            .bind(i64::from(limit))
            .fetch_all(pool)
            .await?);
        let last = rows.last().map_or(after, |(facet, at, id)| PlaceInGroup(*facet, *at, *id));
        Ok((rows.into_iter().map(|(.., id)| LetterId::from_uuid(id)).collect(), last))
    }
}

impl Store {
    /// Splits a group; its letters follow when they are enriched anew.
    pub async fn split_group(&self, split: &GroupSplit) -> Result<Result<(), SplitRefusal>, StoreError> {
        const SET: &str = "INSERT INTO group_splits (group_id, field, parts, set_by, set_at, is_applied)
            VALUES ($1, $2, $3, $4, $5, FALSE) ON CONFLICT (group_id) DO UPDATE SET field = excluded.field,
            parts = excluded.parts, set_by = excluded.set_by, set_at = excluded.set_at, is_applied = FALSE";
        const MERGED: &str = "SELECT id FROM groups WHERE merged_into = $1 ORDER BY id";
        let GroupSplit { group: id, field, values, by, at } = split;
        let mut tx = self.db.begin().await?;
        let merged: Vec<Uuid> =
            on!(&mut tx, |tx| sqlx::query_scalar(MERGED).bind(id.as_uuid()).fetch_all(&mut **tx).await?);
        let all: Vec<GroupId> = merged.into_iter().map(GroupId::from_uuid).chain([*id]).collect();
        let all = locked_parts(&mut tx, &all).await?;
        let (base, merged) = match to_split(&all, *id, by) {
            Ok(_) if !parts(&mut tx, *id).await?.is_empty() => return Ok(Err(SplitRefusal::IsSplit)),
            Ok(found) => found,
            Err(refusal) => return Ok(Err(refusal)),
        };
        // Those that there were before are no longer merged.
        let parts: BTreeSet<GroupId> = keys(base, split).map(|key| grouping::id(&key)).collect();
        for part in merged.into_iter().filter(|part| parts.contains(&part.group.id)) {
            set_apart(&mut tx, part, &all).await?;
        }
        on!(&mut tx, |tx| sqlx::query(SET)
            .bind(id.as_uuid())
            .bind(field.path())
            .bind(json(values)?)
            .bind(by.as_str())
            .bind(at.as_micros())
            .execute(&mut **tx)
            .await
            .map(drop)?);
        let detail = format!("by {field} into {}", number::plural(values.len() as u64, "part"));
        log(&mut tx, base, ("split", detail), by, *at).await?;
        tx.commit().await?;
        Ok(Ok(()))
    }

    /// Merges the parts of a group into it.
    pub async fn join_parts(
        &self,
        id: GroupId,
        order: MergeOrder<'_>,
    ) -> Result<Result<Vec<GroupId>, SplitRefusal>, StoreError> {
        // Its key never changes; what does is looked at once it is locked, with all else in one order.
        let base = self.groups_ever_by_id(&[id]).await?.pop();
        let mut tx = self.db.begin().await?;
        let (Some(base), Some(split)) = (base, split_of(&mut tx, id).await?) else {
            return Ok(Err(SplitRefusal::NotSplit));
        };
        // What letters that come would be in has to lead here, too.
        let keys: Vec<(GroupId, GroupKey)> = keys(&base, &split).map(|key| (grouping::id(&key), key)).collect();
        let there = parts(&mut tx, id).await?;
        let all: BTreeSet<GroupId> = there.iter().copied().chain(keys.iter().map(|(id, _)| *id)).collect();
        let new = keys.iter().map(|(id, key)| NewGroup { id: *id, key, seen: base.last_seen, from: Some(base.id) });
        make_groups(&mut tx, &new.collect::<Vec<_>>()).await?;
        let all = locked_parts(&mut tx, &all.into_iter().chain([id]).collect::<Vec<_>>()).await?;
        let base = match own(&all, id, order.by) {
            Ok(_) if there.is_empty() => return Ok(Err(SplitRefusal::NotSplit)),
            Ok(base) => base,
            Err(refusal) => return Ok(Err(refusal)),
        };
        let mut joined = Vec::new();
        for part in &all {
            if part.group.id != id && part.is_part_of().is_none() {
                set_into(&mut tx, (part.group.id, id), order).await?;
                joined.push(part.group.id);
            }
        }
        let detail = number::plural(joined.len() as u64, "part");
        log(&mut tx, base, ("join", detail), order.by, order.at).await?;
        tx.commit().await?;
        Ok(Ok(joined))
    }

    /// Writes down that the letters of a group are where they belong, unless it was split anew meanwhile.
    pub async fn split_is_applied(&self, split: &GroupSplit) -> Result<(), StoreError> {
        const APPLIED: &str = "UPDATE group_splits SET is_applied = TRUE WHERE group_id = $1 AND set_at = $2";
        on!(self.db.writer(), |pool| sqlx::query(APPLIED)
            .bind(split.group.as_uuid())
            .bind(split.at.as_micros())
            .execute(pool)
            .await
            .map(drop)?);
        Ok(())
    }
}

/// What the parts of a group have in common.
fn keys(base: &Group, split: &GroupSplit) -> impl Iterator<Item = GroupKey> {
    split.parts().map(|part| GroupKey { part: Some(part), ..base.key.clone() })
}

fn json(values: &BTreeSet<Said>) -> Result<String, StoreError> {
    let unreadable =
        |error: serde_json::Error| StoreError::Unreadable { what: "a split group", why: error.to_string() };
    serde_json::to_string(values).map_err(unreadable)
}

/// The group, if somebody may act on it and it is part of no other.
fn own<'p>(locked: &'p [Part], id: GroupId, by: &Actor) -> Result<&'p Group, SplitRefusal> {
    let part = locked.iter().find(|part| part.group.id == id && part.is_part_of().is_none());
    let group = part.map(|part| &part.group).filter(|group| may(by, Right::Read, group));
    let group = group.ok_or(SplitRefusal::NotFound)?;
    if may(by, Right::Act, group) { Ok(group) } else { Err(SplitRefusal::NotAllowed) }
}

/// A group that can be split, and the parts that it had before.
fn to_split<'p>(locked: &'p [Part], id: GroupId, by: &Actor) -> Result<(&'p Group, Vec<&'p Part>), SplitRefusal> {
    let base = own(locked, id, by)?;
    if base.key.part.is_some() {
        return Err(SplitRefusal::IsPart);
    }
    let merged: Vec<&Part> = locked.iter().filter(|part| part.group.id != id).collect();
    let is_own = |part: &&Part| part.group.key.part.as_ref().is_some_and(|part| part.of == id);
    if merged.iter().all(is_own) { Ok((base, merged)) } else { Err(SplitRefusal::HasMerged) }
}

/// The parts of a group that were not merged.
async fn parts(tx: &mut Tx, of: GroupId) -> Result<Vec<GroupId>, StoreError> {
    const PARTS: &str = "SELECT id FROM groups WHERE merged_into IS NULL AND split_from = $1";
    let ids: Vec<Uuid> = on!(tx, |tx| sqlx::query_scalar(PARTS).bind(of.as_uuid()).fetch_all(&mut **tx).await?);
    Ok(ids.into_iter().map(GroupId::from_uuid).collect())
}

async fn split_of(tx: &mut Tx, id: GroupId) -> Result<Option<GroupSplit>, StoreError> {
    let row: Option<SplitRow> = on!(tx, |tx| {
        let mut select = QueryBuilder::new(SPLITS);
        select.push(" WHERE group_id = ").push_bind(id.as_uuid());
        select.build_query_as().fetch_optional(&mut **tx).await?
    });
    row.map(GroupSplit::try_from).transpose()
}
