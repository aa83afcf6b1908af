//! What a group is recognised by, and groups that are made of it.

use amqp_message::time::Timestamp;
use sqlx::FromRow;

use crate::{
    domain::group::{GroupId, GroupKey},
    store::{
        Store, StoreError,
        db::{
            Tx,
            columns::{self, Column},
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
        })
    }
}

/// A group that no letter is in yet.
pub(crate) struct NewGroup<'a> {
    pub(crate) id: GroupId,
    pub(crate) key: &'a GroupKey,
    pub(crate) seen: Timestamp,
}

/// Makes those of them that are not there.
pub(crate) async fn make_groups(tx: &mut Tx, groups: &[NewGroup<'_>]) -> Result<(), StoreError> {
    const MAKE: [&str; 2] = [
        "WITH new (id, broker, queue, message_type, reason, error, seen) AS (",
        ") INSERT INTO groups (id, broker, queue, message_type, reason, error, critical, high, normal, low, scheduled,
            retried, discarded, first_seen, last_seen, sent, failed_again, note, note_by)
        SELECT id, broker, queue, message_type, reason, error, 0, 0, 0, 0, 0, 0, 0, seen, seen, 0, 0, '', ''
        FROM new WHERE true ON CONFLICT (id) DO NOTHING",
    ];
    let columns = vec![
        Column::ids(groups, |group| group.id.as_uuid()),
        Column::texts(groups, |group| &*group.key.broker),
        Column::texts(groups, |group| group.key.queue.as_deref().unwrap_or_default()),
        Column::texts(groups, |group| group.key.message_type.as_deref().unwrap_or_default()),
        Column::texts(groups, |group| group.key.reason.as_str()),
        Column::texts(groups, |group| &*group.key.error),
        Column::numbers(groups, |group| group.seen.as_micros()),
    ];
    columns::execute(tx, MAKE, columns).await
}

impl Store {
    /// Makes a group that no letter is in yet, unless it is there.
    pub async fn make_group(&self, id: GroupId, key: &GroupKey, at: Timestamp) -> Result<(), StoreError> {
        let mut tx = self.db.begin().await?;
        make_groups(&mut tx, &[NewGroup { id, key, seen: at }]).await?;
        tx.commit().await
    }
}
