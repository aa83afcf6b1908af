//! Bringing letters to the group that stands for theirs, after groups were merged or split again.
//!
//! A letter that is in another group than follows from what it is keeps that one as its key (`key_id`). So what is to be moved
//! follows from the database alone: any process may take the next batch, and what has died has left nothing behind.

use std::collections::{BTreeSet, HashMap};

use amqp_message::time::Timestamp;
use sqlx::QueryBuilder;
use uuid::Uuid;

use super::{
    counted_in,
    merging::locked_parts,
    roots::{hold_roots, roots},
    state,
};
use crate::{
    domain::{group::GroupId, letter::LetterId},
    store::{
        Store, StoreError,
        counts::{place::Place, tally::Tally},
        db::{
            Tx,
            columns::{self, Column},
            id_list::{push_ids, push_uuids},
            on,
        },
        letters::{lock, rows::bigint},
    },
};

impl Store {
    /// Moves `limit` letters at most to the group that stands for theirs; says whether there may be more to move.
    pub async fn move_letters(&self, limit: usize) -> Result<bool, StoreError> {
        const MOVING: &str = "SELECT id FROM groups WHERE is_moving ORDER BY id LIMIT 1";
        let moving: Option<Uuid> =
            on!(self.db.reader(), |pool| sqlx::query_scalar(MOVING).fetch_optional(pool).await?);
        let Some(group) = moving.map(GroupId::from_uuid) else { return Ok(false) };
        let mut tx = self.db.begin().await?;
        let below = below(&mut tx, group).await?;
        let root = roots(&mut tx, &[group].into()).await?.of(group);
        let letters = misplaced(&mut tx, (group, root), &below, limit).await?;
        if letters.is_empty() {
            settle(&mut tx, group).await?;
        } else {
            bring(&mut tx, (group, root), &below, &letters).await?;
        }
        tx.commit().await?;
        Ok(true)
    }
}

/// The group and all that are part of it, over any number of steps.
async fn below(tx: &mut Tx, group: GroupId) -> Result<Vec<Uuid>, StoreError> {
    const BELOW: &str = "WITH RECURSIVE below (id) AS (SELECT id FROM groups WHERE id = $1
        UNION SELECT g.id FROM groups g JOIN below ON g.merged_into = below.id)
        SELECT id FROM below";
    Ok(on!(tx, |tx| sqlx::query_scalar(BELOW).bind(group.as_uuid()).fetch_all(&mut **tx).await?))
}

/// Letters that are in the group but belong to its root, and those whose key is one of `below` but that are elsewhere.
/// Those of what was split off the group may be in it, too, until they are moved as letters of that one.
async fn misplaced(
    tx: &mut Tx,
    (group, root): (GroupId, GroupId),
    below: &[Uuid],
    limit: usize,
) -> Result<Vec<LetterId>, StoreError> {
    let limit = bigint(limit as u64);
    let mut ids: Vec<Uuid> = Vec::new();
    if group != root {
        ids = on!(&mut *tx, |tx| {
            let mut select = QueryBuilder::new("SELECT id FROM letters WHERE group_id = ");
            select.push_bind(group.as_uuid()).push(" AND (key_id IS NULL OR key_id IN ");
            push_uuids(&mut select, below.to_vec());
            select.push(") LIMIT ").push_bind(limit);
            select.build_query_scalar().fetch_all(&mut **tx).await?
        });
    }
    if ids.is_empty() {
        ids = on!(tx, |tx| {
            let mut select = QueryBuilder::new("SELECT id FROM letters WHERE key_id IN ");
            push_uuids(&mut select, below.to_vec());
            select.push(" AND group_id <> ").push_bind(root.as_uuid()).push(" LIMIT ").push_bind(limit);
            select.build_query_scalar().fetch_all(&mut **tx).await?
        });
    }
    Ok(ids.into_iter().map(LetterId::from_uuid).collect())
}

/// Brings these letters to the root, as far as they still belong there.
async fn bring(
    tx: &mut Tx,
    (group, root): (GroupId, GroupId),
    below: &[Uuid],
    ids: &[LetterId],
) -> Result<(), StoreError> {
    const MOVE: [&str; 2] = [
        "WITH m (id, group_id, key_id) AS (",
        ") UPDATE letters SET group_id = m.group_id, key_id = m.key_id FROM m WHERE letters.id = m.id",
    ];
    let letters = lock::lock(tx, ids).await?;
    let keys = keys(tx, ids).await?;
    if !is_still(tx, group, root).await? {
        return Ok(());
    }
    let set_at = set_at(tx, root).await?;
    let mut tally = Tally::default();
    let mut moved: Vec<(LetterId, GroupId)> = Vec::new();
    for (id, letter) in &letters {
        let Some(is_in) = letter.state.group else { continue };
        let key = keys.get(id).copied().unwrap_or(is_in);
        if is_in != root && below.contains(&key.as_uuid()) {
            let place = Place { group: Some(root), ..letter.place() };
            tally.remove(letter.place());
            // What was there when people said how far they are with it is nothing new when it comes back.
            if key == root && Some(place.received_at) <= set_at {
                tally.moved(place)
            } else {
                tally.add(place)
            }
            moved.push((*id, key));
        }
    }
    let columns = vec![
        Column::ids(&moved, |(id, _)| id.as_uuid()),
        Column::ids(&moved, |_| root.as_uuid()),
        Column::perhaps_ids(&moved, |(_, key)| Some(key.as_uuid()).filter(|key| *key != root.as_uuid())),
    ];
    columns::execute(tx, MOVE, columns).await?;
    tally.apply(tx).await
}

/// When people have said how far they are with the group. It is not locked: others that move its letters hold it as well.
async fn set_at(tx: &mut Tx, group: GroupId) -> Result<Option<Timestamp>, StoreError> {
    const STATE: &str = "SELECT state, progress FROM groups WHERE id = $1";
    let row: Option<(String, String)> =
        on!(tx, |tx| sqlx::query_as(STATE).bind(group.as_uuid()).fetch_optional(&mut **tx).await?);
    let Some((phase, progress)) = row else { return Ok(None) };
    Ok(state::read(&phase, &progress, "", String::new())?.progress.set.map(|(_, at)| at))
}

/// What letters would be in that are in another group.
async fn keys(tx: &mut Tx, ids: &[LetterId]) -> Result<HashMap<LetterId, GroupId>, StoreError> {
    let rows: Vec<(Uuid, Uuid)> = on!(tx, |tx| {
        let mut select = QueryBuilder::new("SELECT id, key_id FROM letters WHERE key_id IS NOT NULL AND id IN ");
        push_ids(&mut select, ids);
        select.build_query_as().fetch_all(&mut **tx).await?
    });
    Ok(rows.into_iter().map(|(id, key)| (LetterId::from_uuid(id), GroupId::from_uuid(key))).collect())
}

/// Whether that root still stands for the group, until the transaction ends.
async fn is_still(tx: &mut Tx, group: GroupId, root: GroupId) -> Result<bool, StoreError> {
    let groups = BTreeSet::from([group]);
    let now = roots(tx, &groups).await?;
    Ok(now.of(group) == root && hold_roots(tx, &groups, &now).await?)
}

/// Ends a move, unless a letter has come meanwhile.
async fn settle(tx: &mut Tx, group: GroupId) -> Result<(), StoreError> {
    const SETTLE: &str = "UPDATE groups SET is_moving = FALSE, parted_from = NULL, is_counted_in = $1 WHERE id = $2";
    let groups = BTreeSet::from([group]);
    let chain: Vec<GroupId> = roots(tx, &groups).await?.chain(group).collect();
    let left = parted_from(tx, group).await?;
    let all: Vec<GroupId> = chain.iter().chain(&left).copied().collect();
    let parts = locked_parts(tx, &all).await?;
    let (below, root) = (below(tx, group).await?, roots(tx, &groups).await?.of(group));
    let Some(part) = parts.iter().find(|part| part.group.id == group) else { return Ok(()) };
    // It has become part of another, or a letter has come, before it was locked.
    if chain.last() != Some(&root) || !misplaced(tx, (group, root), &below, 1).await?.is_empty() {
        return Ok(());
    }
    if !part.is_counted_in {
        for into in part.counted_in(&parts) {
            counted_in::add(tx, &part.group, into).await?;
        }
    }
    for left in left {
        see_anew(tx, left, group).await?;
    }
    let is_part = part.is_part_of().is_some();
    on!(tx, |tx| sqlx::query(SETTLE).bind(is_part).bind(group.as_uuid()).execute(&mut **tx).await.map(drop)?);
    Ok(())
}

/// The groups that letters have left for this one: that it was part of, and all that this one is part of.
async fn parted_from(tx: &mut Tx, group: GroupId) -> Result<Vec<GroupId>, StoreError> {
    const LEFT: &str = "SELECT parted_from FROM groups WHERE id = $1";
    let left: Option<Option<Uuid>> =
        on!(&mut *tx, |tx| sqlx::query_scalar(LEFT).bind(group.as_uuid()).fetch_optional(&mut **tx).await?);
    let Some(left) = left.flatten().map(GroupId::from_uuid) else { return Ok(Vec::new()) };
    Ok(roots(tx, &[left].into()).await?.chain(left).collect())
}

/// When letters came into a group, where that was told by those that have left it for `part`.
async fn see_anew(tx: &mut Tx, group: GroupId, part: GroupId) -> Result<(), StoreError> {
    const SEE: &str = "UPDATE groups SET
            first_seen = CASE WHEN groups.first_seen < part.first_seen THEN groups.first_seen ELSE
                coalesce((SELECT min(received_at) FROM letters WHERE group_id = $1), groups.first_seen) END,
            last_seen = CASE WHEN groups.last_seen > part.last_seen THEN groups.last_seen ELSE
                coalesce((SELECT max(received_at) FROM letters WHERE group_id = $1), groups.last_seen) END
        FROM (SELECT first_seen, last_seen FROM groups WHERE id = $2) AS part WHERE groups.id = $1";
    on!(tx, |tx| sqlx::query(SEE).bind(group.as_uuid()).bind(part.as_uuid()).execute(&mut **tx).await.map(drop)?);
    Ok(())
}
