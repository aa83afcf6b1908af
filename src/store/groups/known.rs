//! All groups, as far as it matters for what they are merged with.

use amqp_message::time::Timestamp;
use sqlx::FromRow;
use uuid::Uuid;

use crate::{
    domain::{
        actor::Actor,
        group::{GroupId, GroupKey},
        merge::KnownGroup,
    },
    store::{Store, StoreError, StoreReader, db::on, letters::rows::parse},
};

#[derive(FromRow)]
struct Row {
    id: Uuid,
    broker: String,
    queue: String,
    message_type: String,
    reason: String,
    error: String,
    merged_into: Option<Uuid>,
    merged_by: String,
    letters: i64,
    first_seen: i64,
}

impl TryFrom<Row> for KnownGroup {
    type Error = StoreError;

    fn try_from(row: Row) -> Result<Self, StoreError> {
        let known = |text: String| Some(text).filter(|text| !text.is_empty());
        let by_rules = row.merged_by == Actor::GROUPING_RULES;
        Ok(Self {
            id: GroupId::from_uuid(row.id),
            key: GroupKey {
                broker: row.broker,
                queue: known(row.queue),
                message_type: known(row.message_type),
                reason: parse("a reason", &row.reason)?,
                error: row.error,
            },
            into: row.merged_into.map(|into| (GroupId::from_uuid(into), by_rules)),
            letters: row.letters.unsigned_abs(),
            first_seen: Timestamp::from_micros(row.first_seen),
        })
    }
}

impl StoreReader {
    /// All groups that are seen, also those that are part of others.
    pub async fn known_groups(&self) -> Result<Vec<KnownGroup>, StoreError> {
        const SELECT: &str = "SELECT id, broker, queue, message_type, reason, error, merged_into, merged_by,
            critical + high + normal + low + scheduled + retried + discarded AS letters, first_seen FROM groups";
        let rows: Vec<Row> = on!(self.db.reader(), |pool| sqlx::query_as(SELECT).fetch_all(pool).await?);
        rows.into_iter().filter(|row| self.scope.includes(&row.broker, &row.queue)).map(KnownGroup::try_from).collect()
    }
}

impl Store {
    /// Makes a group that no letter is in yet, unless it is there.
    pub async fn make_group(&self, id: GroupId, key: &GroupKey, at: Timestamp) -> Result<(), StoreError> {
        const MAKE: &str = "INSERT INTO groups (id, broker, queue, message_type, reason, error, critical, high, normal,
                low, scheduled, retried, discarded, first_seen, last_seen, sent, failed_again, note, note_by)
            VALUES ($1, $2, $3, $4, $5, $6, 0, 0, 0, 0, 0, 0, 0, $7, $7, 0, 0, '', '') ON CONFLICT (id) DO NOTHING";
        on!(self.db.writer(), |pool| sqlx::query(MAKE)
            .bind(id.as_uuid())
            .bind(&*key.broker)
            .bind(key.queue.as_deref().unwrap_or_default())
            .bind(key.message_type.as_deref().unwrap_or_default())
            .bind(key.reason.as_str())
            .bind(&*key.error)
            .bind(at.as_micros())
            .execute(pool)
            .await
            .map(drop)?);
        Ok(())
    }
}
