//! Merging groups and splitting them, which is a change that somebody makes.

use amqp_message::time::Timestamp;

use super::{audit_log::log, audited_store::AuditedStore};
use crate::{
    domain::{
        activity::{Area, AuditEntry},
        actor::Actor,
        group::GroupId,
        merge::{MergeRefusal, Merged},
        split::{GroupSplit, SplitRefusal},
    },
    store::{MergeOrder, StoreError},
};

/// Letters that are moved at a time.
pub(crate) const AT_ONCE: usize = 500;
/// So many times that is done before somebody is answered; the rest is left to [`GroupMoves`](super::group_moves).
const AT_FIRST: usize = 4;

impl AuditedStore {
    /// Makes groups one, and says at which moment, by which it is undone.
    pub(crate) async fn merge_groups(
        &self,
        ids: &[GroupId],
        by: &Actor,
    ) -> Result<Result<(Merged, Timestamp), MergeRefusal>, StoreError> {
        let at = self.clock.now();
        let merged = self.store.merge_groups(ids, MergeOrder { by, at }).await?;
        if let Ok(merged) = &merged {
            self.moves("merge", &merged.from, by, at).await?;
        }
        Ok(merged.map(|merged| (merged, at)))
    }

    /// Makes a group that was merged a group of its own again.
    pub(crate) async fn split_again(
        &self,
        id: GroupId,
        merged_at: Option<Timestamp>,
        by: &Actor,
    ) -> Result<Result<Merged, MergeRefusal>, StoreError> {
        let at = self.clock.now();
        let split = self.store.split_again(id, merged_at, MergeOrder { by, at }).await?;
        if let Ok(split) = &split {
            self.moves("unmerge", &split.from, by, at).await?;
        }
        Ok(split)
    }

    /// Splits a group by a field.
    pub(crate) async fn split_group(&self, split: &GroupSplit) -> Result<Result<(), SplitRefusal>, StoreError> {
        let done = self.store.split_group(split).await?;
        if done.is_ok() {
            self.moves("split", &[split.group], &split.by, split.at).await?;
            self.feed.settings_changed();
        }
        Ok(done)
    }

    /// Merges the parts of a group into it.
    pub(crate) async fn join_parts(
        &self,
        id: GroupId,
        by: &Actor,
    ) -> Result<Result<Vec<GroupId>, SplitRefusal>, StoreError> {
        let at = self.clock.now();
        let joined = self.store.join_parts(id, MergeOrder { by, at }).await?;
        if joined.is_ok() {
            self.moves("join", &[id], by, at).await?;
        }
        Ok(joined)
    }

    async fn moves(&self, action: &str, groups: &[GroupId], by: &Actor, at: Timestamp) -> Result<(), StoreError> {
        groups.iter().for_each(|id| log(&AuditEntry::new(at, by, Area::Groups, action, id.to_string())));
        for _ in 0..AT_FIRST {
            if !self.store.move_letters(AT_ONCE).await? {
                break;
            }
        }
        self.feed.changed(groups.len() as u64);
        Ok(())
    }
}
