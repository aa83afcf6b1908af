//! What a group is recognised by, and groups that are made of it.

use std::collections::BTreeSet;

use amqp_message::time::Timestamp;
use sqlx::QueryBuilder;
use sqlx_macros::FromRow;
use uuid::Uuid;

use crate::{
    domain::group::{GroupId, GroupKey, GroupPart},
    store::{
        Store, StoreError,
        db::{
            Tx,
            columns::{self, Column},
            id_list::push_uuids,
            on,
        },
        letters::rows::parse,
    },
};

#[derive(FromRow)]
pub(super) struct KeyRow {
    pub(super) broker: String,
    pub(super) queue: String,
    message_type: String,
    reason: String,
    error: String,
    part: String,
    split_from: Option<Uuid>,
}

impl TryFrom<KeyRow> for GroupKey {
    type Error = StoreError;

    fn try_from(row: KeyRow) -> Result<Self, StoreError> {
        let known = |text: String| Some(text).filter(|text| !text.is_empty());
        Ok(Self {
            broker: row.broker,
            queue: known(row.queue),
            message_type: known(row.message_type),
            reason: parse("a reason", &row.reason)?,
            error: row.error,
            part: row.split_from.map(|of| GroupPart { of: GroupId::from_uuid(of), what: row.part }),
        })
    }
}

/// A group that no letter is in yet.
pub(crate) struct NewGroup<'a> {
    pub(crate) id: GroupId,
    pub(crate) key: &'a GroupKey,
    pub(crate) seen: Timestamp,
    /// Where its letters are until now: people are as far with it as they are with that one, and have been told.
    pub(crate) from: Option<GroupId>,
}

/// Makes those of them that are not there.
pub(crate) async fn make_groups(tx: &mut Tx, groups: &[NewGroup<'_>]) -> Result<(), StoreError> {
    const MAKE: [&str; 2] = [
        "WITH new (id, broker, queue, message_type, reason, error, part, split_from, base, seen) AS (",
        ") INSERT INTO groups (id, broker, queue, message_type, reason, error, part, split_from, critical, high, normal, low,
            scheduled, retried, discarded, first_seen, last_seen, sent, failed_again, note, note_by, note_at,
            state, progress, wake_at, assignee, ticket, told_as)
        SELECT new.id, new.broker, new.queue, new.message_type, new.reason, new.error, new.part, new.split_from, 0, 0, 0, 0,
            0, 0, 0, seen, seen, 0, 0,
            coalesce(base.note, ''), coalesce(base.note_by, ''), base.note_at,
            coalesce(base.state, 'open'), coalesce(base.progress, ''), base.wake_at,
            coalesce(base.assignee, ''), coalesce(base.ticket, ''),
            CASE WHEN new.split_from IS NULL THEN coalesce(base.told_as, base.id) ELSE base.told_as END
        FROM new LEFT JOIN groups base ON base.id = new.base WHERE true ON CONFLICT (id) DO NOTHING",
    ];
    let columns = vec![
        Column::ids(groups, |group| group.id.as_uuid()),
        Column::texts(groups, |group| &*group.key.broker),
        Column::texts(groups, |group| group.key.queue.as_deref().unwrap_or_default()),
        Column::texts(groups, |group| group.key.message_type.as_deref().unwrap_or_default()),
        Column::texts(groups, |group| group.key.reason.as_str()),
        Column::texts(groups, |group| &*group.key.error),
        Column::texts(groups, |group| group.key.part.as_ref().map(|part| &*part.what).unwrap_or_default()),
        Column::perhaps_ids(groups, |group| group.key.part.as_ref().map(|part| part.of.as_uuid())),
        Column::perhaps_ids(groups, |group| group.from.map(GroupId::as_uuid)),
        Column::numbers(groups, |group| group.seen.as_micros()),
    ];
    columns::execute(tx, MAKE, columns).await
}

/// Those of these groups that are not there.
pub(crate) async fn missing(tx: &mut Tx, mut groups: BTreeSet<GroupId>) -> Result<BTreeSet<GroupId>, StoreError> {
    if groups.is_empty() {
        return Ok(groups);
    }
    let there: Vec<Uuid> = on!(tx, |tx| {
        let mut select = QueryBuilder::new("SELECT id FROM groups WHERE id IN ");
        push_uuids(&mut select, groups.iter().map(|group| group.as_uuid()).collect::<Vec<_>>());
        select.build_query_scalar().fetch_all(&mut **tx).await?
    });
    there.into_iter().for_each(|id| _ = groups.remove(&GroupId::from_uuid(id)));
    Ok(groups)
}

impl Store {
    /// Makes a group that no letter is in yet, unless it is there.
    pub async fn make_group(&self, id: GroupId, key: &GroupKey, at: Timestamp) -> Result<(), StoreError> {
        let mut tx = self.db.begin().await?;
        make_groups(&mut tx, &[NewGroup { id, key, seen: at, from: None }]).await?;
        tx.commit().await
    }
}
