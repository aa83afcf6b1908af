//! Opening groups again that were acknowledged or set aside: when letters come, when their time is over, when something about
//! them changes.

use std::collections::HashMap;

use amqp_message::time::Timestamp;
use sqlx::QueryBuilder;
use uuid::Uuid;

use super::state::{locked, log, write};
use crate::{
    domain::{
        actor::Actor,
        group::{Group, GroupId},
        group_state::{Arrivals, GroupState, Known, Until},
        letter::{Importance, Status},
    },
    store::{
        Store, StoreError, StoreReader,
        db::{Tx, id_list::push_uuids, on},
    },
};

/// Groups that are changed in one commit.
const AT_ONCE: usize = 1_000;

/// A letter that has come into a group or left it.
#[derive(Clone, Copy)]
pub(super) struct Step {
    pub received_at: Timestamp,
    /// When it turned out that its retry cannot be sent: that is why it has come.
    pub unsent_at: Option<Timestamp>,
    pub by: i64,
    pub status: Status,
    pub importance: Importance,
}

/// A snoozed group that waits for something about its letters to change.
#[derive(Clone, Debug, PartialEq)]
pub struct Waiting {
    pub group: Group,
    /// Since when it is snoozed.
    pub since: Timestamp,
}

/// What has come into groups that nobody else changes until the transaction ends opens those again that it concerns.
pub(super) async fn arrived(tx: &mut Tx, steps: &HashMap<GroupId, &[Step]>) -> Result<(), StoreError> {
    let not_open = not_open(tx, steps.keys()).await?;
    if not_open.is_empty() {
        return Ok(());
    }
    for (id, group) in locked(tx, &not_open).await? {
        let Some(((_, since), steps)) = group.state.progress.set.as_ref().zip(steps.get(&id)) else { continue };
        if let Some(state) = group.state.after_arrivals(&arrivals(&group, *since, steps)) {
            wake(tx, &group, &state).await?;
        }
    }
    Ok(())
}

async fn not_open(tx: &mut Tx, groups: impl Iterator<Item = &GroupId>) -> Result<Vec<GroupId>, StoreError> {
    let groups: Vec<Uuid> = groups.map(|group| group.as_uuid()).collect();
    if groups.is_empty() {
        return Ok(Vec::new());
    }
    let ids: Vec<Uuid> = on!(tx, |tx| {
        let mut select = QueryBuilder::new("SELECT id FROM groups WHERE state <> 'open' AND id IN ");
        push_uuids(&mut select, groups);
        select.build_query_scalar().fetch_all(&mut **tx).await?
    });
    Ok(ids.into_iter().map(GroupId::from_uuid).collect())
}

/// What of it came after the state of the group was set. What has only moved has left its place and come into another.
fn arrivals(group: &Group, since: Timestamp, steps: &[Step]) -> Arrivals {
    let new = || steps.iter().filter(|step| step.received_at > since);
    let unsent_at = steps.iter().filter_map(|step| step.unsent_at).filter(|at| *at > since).min();
    Arrivals {
        more: new().map(|step| step.by).sum::<i64>().max(0),
        open_at: new().filter(|step| step.by > 0 && step.status == Status::Open).map(|step| step.received_at).min(),
        unsent_at,
        last_at: new().map(|step| step.received_at).max().or(unsent_at).unwrap_or(since),
        before: before(group, steps),
        now: group.importance(),
    }
}

/// The most important among the letters that were open before these steps, which are counted already.
fn before(group: &Group, steps: &[Step]) -> Option<Importance> {
    let of = |importance: &Importance| {
        let these = steps.iter().filter(|step| step.status == Status::Open && step.importance == *importance);
        group.open[*importance as usize].saturating_add_signed(-these.map(|step| step.by).sum::<i64>())
    };
    Importance::ALL.iter().find(|importance| of(importance) > 0).copied()
}

/// Writes a state that nobody has asked for.
async fn wake(tx: &mut Tx, group: &Group, state: &GroupState) -> Result<(), StoreError> {
    write(tx, group.id, state).await?;
    if group.state.phase() == state.phase() {
        return Ok(());
    }
    let Some(reopened) = &state.progress.reopened else { return Ok(()) };
    log(tx, group, ("wake", reopened.reason()), &Actor::system(), reopened.at).await
}

impl Store {
    /// Wakes groups whose snooze is over by now; says how many.
    pub async fn wake_groups(&self, now: Timestamp) -> Result<u64, StoreError> {
        const DUE: &str = "SELECT id FROM groups WHERE wake_at <= $1 AND merged_into IS NULL ORDER BY id LIMIT 1000";
        let due: Vec<Uuid> =
            on!(self.db.reader(), |pool| sqlx::query_scalar(DUE).bind(now.as_micros()).fetch_all(pool).await?);
        let due: Vec<GroupId> = due.into_iter().map(GroupId::from_uuid).collect();
        self.wake_each(&due, |state| state.after_time(now)).await
    }

    /// Wakes a group that waits for a change, of which this was found; says whether it still did.
    pub async fn wake_changed(&self, id: GroupId, what: &str, at: Timestamp) -> Result<bool, StoreError> {
        Ok(self.wake_each(&[id], |state| state.after_change(what.to_owned(), at)).await? > 0)
    }

    /// Keeps what was known of the letters of a group when it was snoozed, where it still is since then.
    pub async fn keep_known(&self, id: GroupId, since: Timestamp, known: &Known) -> Result<(), StoreError> {
        let keep = |state: &GroupState| {
            let is_same = state.set_aside_since() == Some(since);
            is_same.then(|| state.with_known(known.clone())).flatten()
        };
        self.wake_each(&[id], keep).await.map(drop)
    }

    /// Groups that were changed by a clock that was ahead are as if they were changed now.
    pub(crate) async fn put_back_clock_of_groups(&self, now: Timestamp) -> Result<(), StoreError> {
        const CHANGED: &str = "SELECT id FROM groups WHERE progress <> '' ORDER BY id";
        let ids: Vec<Uuid> = on!(self.db.reader(), |pool| sqlx::query_scalar(CHANGED).fetch_all(pool).await?);
        let ids: Vec<GroupId> = ids.into_iter().map(GroupId::from_uuid).collect();
        for some in ids.chunks(AT_ONCE) {
            self.wake_each(some, |state| state.with_clock_put_back(now)).await?;
        }
        Ok(())
    }

    async fn wake_each(
        &self,
        ids: &[GroupId],
        next: impl Fn(&GroupState) -> Option<GroupState>,
    ) -> Result<u64, StoreError> {
        if ids.is_empty() {
            return Ok(0);
        }
        let mut tx = self.db.begin().await?;
        let mut woken = 0;
        for group in locked(&mut tx, ids).await?.values() {
            if let Some(state) = next(&group.state) {
                wake(&mut tx, group, &state).await?;
                woken += 1;
            }
        }
        tx.commit().await?;
        Ok(woken)
    }
}

impl StoreReader {
    /// Snoozed groups that wait for a change.
    pub async fn groups_to_compare(&self) -> Result<Vec<Waiting>, StoreError> {
        const SNOOZED: &str = "SELECT id FROM groups WHERE state = 'snoozed' AND wake_at IS NULL";
        let ids: Vec<Uuid> = on!(self.db.reader(), |pool| sqlx::query_scalar(SNOOZED).fetch_all(pool).await?);
        let ids: Vec<GroupId> = ids.into_iter().map(GroupId::from_uuid).collect();
        let groups = self.groups_by_id(&ids).await?;
        let waits = |group: Group| {
            let since = group.state.set_aside_since()?;
            let is_meant = group.state.progress.until == Some(Until::Change);
            is_meant.then_some(Waiting { group, since })
        };
        Ok(groups.into_iter().filter_map(waits).collect())
    }

    /// A group that fails with the same error in another queue of the broker or with another type, and did not before then.
    /// A part is none: its error is that of the group that was split.
    pub async fn newly_alike(&self, group: &Group, since: Timestamp) -> Result<Option<Group>, StoreError> {
        const ALIKE: &str = "SELECT id FROM groups WHERE broker = $1 AND error = $2 AND first_seen > $3
            AND (queue <> $4 OR message_type <> $5) AND split_from IS NULL AND merged_into IS NULL
            ORDER BY first_seen LIMIT 1";
        if group.key.error.is_empty() {
            return Ok(None);
        }
        let id: Option<Uuid> = on!(self.db.reader(), |pool| sqlx::query_scalar(ALIKE)
            .bind(&*group.key.broker)
            .bind(&*group.key.error)
            .bind(since.as_micros())
            .bind(group.key.queue.as_deref().unwrap_or_default())
            .bind(group.key.message_type.as_deref().unwrap_or_default())
            .fetch_optional(pool)
            .await?);
        let Some(id) = id else { return Ok(None) };
        Ok(self.groups_by_id(&[GroupId::from_uuid(id)]).await?.pop())
    }
}
