//! Which group stands for which: one that was merged is part of another, which may be part of a third.

use std::collections::{BTreeSet, HashMap};

use sqlx::QueryBuilder;
use uuid::Uuid;

use super::tally::hold;
use crate::{
    domain::group::GroupId,
    store::{
        StoreError,
        db::{Either, Tx, id_list::push_uuids, on},
    },
};

/// What stands for these groups.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Roots(HashMap<GroupId, GroupId>);

impl Roots {
    /// The group that stands for another, or that one itself.
    pub(crate) fn of(&self, mut group: GroupId) -> GroupId {
        while let Some(into) = self.0.get(&group) {
            group = *into;
        }
        group
    }

    /// It, what stands for it, and all between.
    pub(super) fn chain(&self, group: GroupId) -> impl Iterator<Item = GroupId> {
        std::iter::successors(Some(group), |group| self.0.get(group).copied())
    }
}

/// What stands for `groups` at this moment.
pub(crate) async fn roots(tx: &mut Tx, groups: &BTreeSet<GroupId>) -> Result<Roots, StoreError> {
    let mut roots = Roots::default();
    let mut next: Vec<Uuid> = groups.iter().map(|group| group.as_uuid()).collect();
    while !next.is_empty() {
        let rows: Vec<(Uuid, Uuid)> = on!(tx, |tx| {
            let mut select = QueryBuilder::new("SELECT id, merged_into FROM groups");
            select.push(" WHERE merged_into IS NOT NULL AND id IN ");
            push_uuids(&mut select, next);
            select.build_query_as().fetch_all(&mut **tx).await?
        });
        next = rows.iter().map(|(_, into)| *into).collect();
        roots.0.extend(rows.into_iter().map(|(id, into)| (GroupId::from_uuid(id), GroupId::from_uuid(into))));
    }
    Ok(roots)
}

/// Keeps what stands for `groups` from becoming another, and from being forgotten, until the transaction ends; says whether
/// it is as it was read, and all is there.
pub(crate) async fn hold_roots(tx: &mut Tx, groups: &BTreeSet<GroupId>, read: &Roots) -> Result<bool, StoreError> {
    // On SQLite there is only one writer.
    if matches!(tx, Either::Sqlite(_)) {
        return Ok(true);
    }
    let all: BTreeSet<GroupId> = groups.iter().flat_map(|group| read.chain(*group)).collect();
    let held: BTreeSet<GroupId> = hold(tx, all.iter()).await?.into_iter().collect();
    let are_there = groups.iter().all(|group| held.contains(&read.of(*group)));
    // A statement sees what was committed while the one before it waited.
    let now = roots(tx, groups).await?;
    Ok(are_there && groups.iter().all(|group| now.of(*group) == read.of(*group)))
}
