//! Groups that people make one, and split again.

use amqp_message::time::Timestamp;

use super::Triage;
use crate::{
    domain::{
        actor::Actor,
        group::{Group, GroupId},
        group_state::{GroupCommand, GroupRefusal},
        merge::{MergeRefusal, Merged},
        version::Expected,
    },
    store::{ChangeError, GroupOrder, GroupReport, StoreError},
};

impl Triage {
    /// Makes groups one, and says at which moment, by which it is undone.
    pub async fn merge_groups(
        &self,
        ids: &[GroupId],
        by: &Actor,
    ) -> Result<Result<(Merged, Timestamp), MergeRefusal>, StoreError> {
        self.changes.merge_groups(ids, by).await
    }

    /// Makes a group that was merged a group of its own again.
    pub async fn split_again(&self, id: GroupId, by: &Actor) -> Result<Result<Merged, MergeRefusal>, StoreError> {
        self.changes.split_again(id, None, by).await
    }

    /// Carries out a command on each of these groups that takes it, and says at which moment, by which it is undone.
    ///
    /// # Errors
    /// One of them is not as expected.
    pub async fn act_on_groups(
        &self,
        ids: &[GroupId],
        command: &GroupCommand,
        expected: &Expected,
        by: &Actor,
    ) -> Result<(GroupReport, Timestamp), ChangeError<Group>> {
        let at = self.clock.now();
        let mut report = self.changes.act_on_groups(&GroupOrder { ids, command, by, at }, expected).await?;
        if let GroupCommand::Undo(of) = command {
            self.undo_merge(&mut report, *of, by).await?;
        }
        Ok((report, at))
    }

    /// Groups that were merged at that moment are not among those that are there.
    async fn undo_merge(&self, report: &mut GroupReport, of: Timestamp, by: &Actor) -> Result<(), StoreError> {
        for (id, refusal) in std::mem::take(&mut report.refused) {
            let is_gone = refusal == GroupRefusal::NotFound;
            match if is_gone { self.changes.split_again(id, Some(of), by).await? } else { Err(MergeRefusal::NotFound) }
            {
                Ok(_) => report.done.push(id),
                Err(MergeRefusal::NotFound) => report.refused.push((id, refusal)),
                Err(why) => report.refused.push((id, GroupRefusal::Merged(why))),
            }
        }
        Ok(())
    }
}
