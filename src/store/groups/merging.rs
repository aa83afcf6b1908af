//! Making groups part of another, and splitting them again.
//!
//! What is merged keeps its row, as it was, and the letters remember by [`key_id`](super::moving) what they would be in. So it
//! is split again without a loss: its letters, those that came since too, go back to it, and its state is as it was.

use amqp_message::time::Timestamp;
use sqlx::QueryBuilder;
use sqlx_macros::FromRow;
use uuid::Uuid;

use super::{COLUMNS, Row, counted_in, roots::roots, state::log};
use crate::{
    domain::{
        actor::Actor,
        group::{Group, GroupId},
        merge::{self, MergeRefusal, Merged, MergedGroup},
        number,
        rights::Right,
    },
    store::{
        Store, StoreError, StoreReader,
        db::{Sql, Tx, id_list::push_uuids, on},
    },
};

/// Who merges or splits, and when.
#[derive(Clone, Copy)]
pub struct MergeOrder<'a> {
    pub by: &'a Actor,
    pub at: Timestamp,
}

#[derive(FromRow)]
struct MergeRow {
    #[sqlx(flatten)]
    group: Row,
    merged_into: Option<Uuid>,
    merged_by: String,
    merged_at: Option<i64>,
    is_counted_in: bool,
}

/// A group, and what it is part of.
pub(super) struct Part {
    pub group: Group,
    pub merged: Option<MergedGroup>,
    pub is_counted_in: bool,
}

impl TryFrom<MergeRow> for Part {
    type Error = StoreError;

    fn try_from(row: MergeRow) -> Result<Self, StoreError> {
        let group = Group::try_from(row.group)?;
        let merged = row.merged_into.map(|into| MergedGroup {
            group: group.clone(),
            into: GroupId::from_uuid(into),
            by: Actor::named(row.merged_by),
            at: Timestamp::from_micros(row.merged_at.unwrap_or_default()),
        });
        Ok(Self { group, merged, is_counted_in: row.is_counted_in })
    }
}

impl Part {
    /// The group that stands for it.
    pub fn is_part_of(&self) -> Option<GroupId> {
        self.merged.as_ref().map(|merged| merged.into)
    }

    /// The groups in which its retries count, too: what it is part of, and so on as far as each is counted in the next.
    /// All of them are among `locked`.
    pub fn counted_in(&self, locked: &[Self]) -> impl Iterator<Item = GroupId> {
        std::iter::successors(self.is_part_of(), move |into| {
            let above = locked.iter().find(|part| part.group.id == *into)?;
            above.is_part_of().filter(|_| above.is_counted_in)
        })
    }
}

const OF_MERGE: &str = ", merged_into, merged_by, merged_at, is_counted_in FROM groups WHERE ";

/// Groups, whatever they are part of, into which nobody puts a letter until the transaction ends.
pub(super) async fn locked_parts(tx: &mut Tx, ids: &[GroupId]) -> Result<Vec<Part>, StoreError> {
    // Stronger than what holds them, so that it waits for letters on their way into one of them.
    const LOCK: Sql = Sql { sqlite: " ORDER BY id", postgres: " ORDER BY id FOR UPDATE" };
    let lock = LOCK.pick(tx);
    let rows: Vec<MergeRow> = on!(tx, |tx| {
        let mut select = QueryBuilder::new("SELECT ");
        select.push(COLUMNS).push(OF_MERGE).push("id IN ");
        push_uuids(&mut select, ids.iter().map(|id| id.as_uuid()).collect());
        select.push(lock).build_query_as().fetch_all(&mut **tx).await?
    });
    rows.into_iter().map(Part::try_from).collect()
}

/// Makes one group part of another; its letters follow.
pub(super) async fn set_into(
    tx: &mut Tx,
    (id, into): (GroupId, GroupId),
    MergeOrder { by, at }: MergeOrder<'_>,
) -> Result<(), StoreError> {
    const SET: &str = "UPDATE groups SET merged_into = $1, merged_by = $2, merged_at = $3,
        is_counted_in = FALSE, is_moving = TRUE WHERE id = $4";
    on!(tx, |tx| sqlx::query(SET)
        .bind(into.as_uuid())
        .bind(by.as_str())
        .bind(at.as_micros())
        .bind(id.as_uuid())
        .execute(&mut **tx)
        .await
        .map(drop)?);
    Ok(())
}

/// Makes a group that was merged a group of its own again; its letters follow. All that it is part of is `locked`.
pub(super) async fn set_apart(tx: &mut Tx, part: &Part, locked: &[Part]) -> Result<(), StoreError> {
    const APART: &str = "UPDATE groups SET merged_into = NULL, merged_by = '', merged_at = NULL,
        is_counted_in = FALSE, is_moving = TRUE, parted_from = $1 WHERE id = $2";
    if part.is_counted_in {
        for into in part.counted_in(locked) {
            counted_in::take_out(tx, &part.group, into).await?;
        }
    }
    on!(tx, |tx| sqlx::query(APART)
        .bind(part.is_part_of().map(GroupId::as_uuid))
        .bind(part.group.id.as_uuid())
        .execute(&mut **tx)
        .await
        .map(drop)?);
    Ok(())
}

impl Store {
    /// Makes groups one: the one with most letters stays as it is and takes those of the others, also what will come.
    /// Their letters follow by [`move_letters`](Self::move_letters).
    pub async fn merge_groups(
        &self,
        ids: &[GroupId],
        order: MergeOrder<'_>,
    ) -> Result<Result<Merged, MergeRefusal>, StoreError> {
        let mut tx = self.db.begin().await?;
        let parts = locked_parts(&mut tx, ids).await?;
        let (into, from) = match decide(ids, &parts, order.by) {
            Ok(decided) => decided,
            Err(refusal) => return Ok(Err(refusal)),
        };
        for group in &from {
            set_into(&mut tx, (group.id, into.id), order).await?;
            log(&mut tx, group, ("merge", format!("into {}", into.key.error)), order.by, order.at).await?;
        }
        let detail = format!("{} into it", number::plural(from.len() as u64, "group"));
        log(&mut tx, into, ("merge", detail), order.by, order.at).await?;
        tx.commit().await?;
        Ok(Ok(Merged { into: into.id, from: from.iter().map(|group| group.id).collect() }))
    }

    /// Makes a group that was merged a group of its own again. Where `merged_at` is given, it has to be merged since then.
    /// Only grouping rules split what is part of a group that is itself part of another: people split that one first.
    pub async fn split_again(
        &self,
        id: GroupId,
        merged_at: Option<Timestamp>,
        order: MergeOrder<'_>,
    ) -> Result<Result<Merged, MergeRefusal>, StoreError> {
        let mut tx = self.db.begin().await?;
        let chain: Vec<GroupId> = roots(&mut tx, &[id].into()).await?.chain(id).collect();
        let Some(into) = chain.get(1).copied() else { return Ok(Err(MergeRefusal::NotMerged)) };
        let parts = locked_parts(&mut tx, &chain).await?;
        let part = match may_split(id, into, &parts, merged_at, order.by) {
            Ok(part) => part,
            Err(refusal) => return Ok(Err(refusal)),
        };
        set_apart(&mut tx, part, &parts).await?;
        log(&mut tx, &part.group, ("unmerge", String::new()), order.by, order.at).await?;
        tx.commit().await?;
        Ok(Ok(Merged { into, from: vec![id] }))
    }
}

type Decided<'p> = (&'p Group, Vec<&'p Group>);

fn decide<'p>(ids: &[GroupId], parts: &'p [Part], by: &Actor) -> Result<Decided<'p>, MergeRefusal> {
    let groups: Vec<&Group> = parts.iter().filter(|part| part.is_part_of().is_none()).map(|part| &part.group).collect();
    if groups.len() < ids.len() || !groups.iter().all(|group| may(by, Right::Read, group)) {
        return Err(MergeRefusal::NotFound);
    }
    if !groups.iter().all(|group| may(by, Right::Act, group)) {
        return Err(MergeRefusal::NotAllowed);
    }
    if !merge::are_together(groups.iter().copied()) {
        return Err(MergeRefusal::Apart);
    }
    let into = merge::into(groups.iter().copied()).filter(|_| groups.len() > 1).ok_or(MergeRefusal::TooFew)?;
    Ok((into, groups.iter().copied().filter(|group| group.id != into.id).collect()))
}

fn may_split<'p>(
    id: GroupId,
    into: GroupId,
    parts: &'p [Part],
    merged_at: Option<Timestamp>,
    by: &Actor,
) -> Result<&'p Part, MergeRefusal> {
    let of = |id| parts.iter().find(|part| part.group.id == id);
    let part = of(id).filter(|part| may(by, Right::Read, &part.group)).ok_or(MergeRefusal::NotFound)?;
    if !may(by, Right::Act, &part.group) {
        return Err(MergeRefusal::NotAllowed);
    }
    let is_meant = |merged: &MergedGroup| merged.into == into && merged_at.is_none_or(|at| at == merged.at);
    // What they are part of may have become part of another before they were locked.
    let are_all_locked = parts.iter().filter_map(Part::is_part_of).all(|into| of(into).is_some());
    if !part.merged.as_ref().is_some_and(is_meant) || !are_all_locked {
        return Err(MergeRefusal::NotMerged);
    }
    let is_in_another = of(into).is_some_and(|into| into.is_part_of().is_some());
    if is_in_another && by.as_str() != Actor::GROUPING_RULES {
        return Err(MergeRefusal::InAnother);
    }
    Ok(part)
}

pub(super) fn may(by: &Actor, right: Right, group: &Group) -> bool {
    by.may_at(right, &group.key.broker, group.key.queue.as_deref().unwrap_or_default())
}

impl StoreReader {
    /// The group that stands for one that is part of another.
    pub async fn merged_into(&self, id: GroupId) -> Result<Option<GroupId>, StoreError> {
        const INTO: &str = "SELECT merged_into, broker, queue FROM groups WHERE id = $1 AND merged_into IS NOT NULL";
        let mut root = id;
        loop {
            let next: Option<(Uuid, String, String)> =
                on!(self.db.reader(), |pool| sqlx::query_as(INTO).bind(root.as_uuid()).fetch_optional(pool).await?);
            match next.filter(|(_, broker, queue)| self.scope.includes(broker, queue)) {
                Some((into, ..)) => root = GroupId::from_uuid(into),
                None => return Ok(Some(root).filter(|root| *root != id)),
            }
        }
    }

    /// Groups that are part of this one, those that became so last first.
    pub async fn merged_from(&self, into: GroupId) -> Result<Vec<MergedGroup>, StoreError> {
        let rows: Vec<MergeRow> = on!(self.db.reader(), |pool| {
            let mut select = QueryBuilder::new("SELECT ");
            select.push(COLUMNS).push(OF_MERGE).push("merged_into = ").push_bind(into.as_uuid());
            select.push(" ORDER BY merged_at DESC, id").build_query_as().fetch_all(pool).await?
        });
        let parts = rows.into_iter().map(Part::try_from).collect::<Result<Vec<_>, _>>()?;
        let theirs = parts.into_iter().filter_map(|part| part.merged).filter(|merged| {
            let key = &merged.group.key;
            self.scope.includes(&key.broker, key.queue.as_deref().unwrap_or_default())
        });
        Ok(theirs.collect())
    }
}
