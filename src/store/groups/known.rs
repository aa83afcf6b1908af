//! All groups, as far as it matters for what they are merged with.

use amqp_message::time::Timestamp;
use sqlx_macros::FromRow;
use uuid::Uuid;

use super::key::KeyRow;
use crate::{
    domain::{actor::Actor, group::GroupId, merge::KnownGroup},
    store::{StoreError, StoreReader, db::on},
};

#[derive(FromRow)]
struct Row {
    id: Uuid,
    #[sqlx(flatten)]
    key: KeyRow,
    merged_into: Option<Uuid>,
    merged_by: String,
    letters: i64,
    first_seen: i64,
}

impl TryFrom<Row> for KnownGroup {
    type Error = StoreError;

    fn try_from(row: Row) -> Result<Self, StoreError> {
        let by_rules = row.merged_by == Actor::GROUPING_RULES;
        Ok(Self {
            id: GroupId::from_uuid(row.id),
            key: row.key.try_into()?,
            into: row.merged_into.map(|into| (GroupId::from_uuid(into), by_rules)),
            letters: row.letters.unsigned_abs(),
            first_seen: Timestamp::from_micros(row.first_seen),
        })
    }
}

impl StoreReader {
    /// All groups that are seen, also those that are part of others.
    pub async fn known_groups(&self) -> Result<Vec<KnownGroup>, StoreError> {
        const SELECT: &str =
            "SELECT id, broker, queue, message_type, reason, error, part, split_from, merged_into, merged_by,
            critical + high + normal + low + scheduled + retried + discarded AS letters, first_seen FROM groups";
        let rows: Vec<Row> = on!(self.db.reader(), |pool| sqlx::query_as(SELECT).fetch_all(pool).await?);
        rows.into_iter()
            .filter(|row| self.scope.includes(&row.key.broker, &row.key.queue))
            .map(KnownGroup::try_from)
            .collect()
    }
}
