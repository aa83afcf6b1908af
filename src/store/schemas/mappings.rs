//! Which types messages are of, as far as people have said it.

use amqp_message::time::Timestamp;
use sqlx_macros::FromRow;

use crate::{
    domain::{
        activity::{Area, AuditEntry},
        actor::Actor,
        mapping::{ActiveMapping, Carrier, Mapping},
        version::Expected,
    },
    store::{
        ChangeError, Store, StoreError, StoreReader, audit,
        db::{LockTable, Tx, on},
        letters::rows::parse,
    },
};

const LOCK: LockTable = LockTable("LOCK TABLE mappings IN SHARE ROW EXCLUSIVE MODE");

#[derive(FromRow)]
struct Row {
    broker: String,
    carrier: String,
    pattern: String,
    message_type: String,
    set_by: String,
    set_at: i64,
}

impl TryFrom<Row> for ActiveMapping {
    type Error = StoreError;

    fn try_from(row: Row) -> Result<Self, StoreError> {
        let mapping = Mapping {
            broker: Some(row.broker).filter(|broker| !broker.is_empty()),
            carrier: parse("a carrier of a type", &row.carrier)?,
            pattern: row.pattern,
            message_type: row.message_type,
        };
        Ok(Self { mapping, by: Actor::named(row.set_by), at: Timestamp::from_micros(row.set_at) })
    }
}

impl StoreReader {
    pub async fn mappings(&self) -> Result<Vec<ActiveMapping>, StoreError> {
        const SELECT: &str = "SELECT broker, carrier, pattern, message_type, set_by, set_at
            FROM mappings ORDER BY carrier, pattern, broker";
        let rows: Vec<Row> = on!(self.db.reader(), |pool| sqlx::query_as(SELECT).fetch_all(pool).await?);
        rows.into_iter().map(ActiveMapping::try_from).collect()
    }
}

impl Store {
    /// Sets what messages carry, in place of what was said of the same ones before. What is said already stays as it is,
    /// with who said it.
    pub async fn set_mapping(
        &self,
        mapping: &Mapping,
        expected: &Expected,
        by: &Actor,
        at: Timestamp,
    ) -> Result<(), ChangeError<ActiveMapping>> {
        const SET: &str = "INSERT INTO mappings (broker, carrier, pattern, message_type, set_by, set_at)
            VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (broker, carrier, pattern) DO UPDATE SET
            message_type = excluded.message_type, set_by = excluded.set_by, set_at = excluded.set_at";
        let mut tx = self.db.begin().await?;
        tx.lock_table(LOCK).await?;
        let before = find(&mut tx, mapping.broker.as_deref(), mapping.carrier, &mapping.pattern).await?;
        if before.as_ref().is_some_and(|before| before.mapping == *mapping) {
            return Ok(());
        }
        expected.check(before.as_ref())?;
        on!(&mut tx, |tx| sqlx::query(SET)
            .bind(mapping.broker.as_deref().unwrap_or_default())
            .bind(mapping.carrier.as_str())
            .bind(&*mapping.pattern)
            .bind(&*mapping.message_type)
            .bind(by.as_str())
            .bind(at.as_micros())
            .execute(&mut **tx)
            .await
            .map(drop)?);
        let entry = AuditEntry::new(at, by, Area::Mappings, "set", &*mapping.pattern);
        let instead = before.map(|before| format!(", instead of {}", before.mapping.message_type)).unwrap_or_default();
        let detail =
            format!("{}{instead}", describe(mapping.broker.as_deref(), mapping.carrier, &mapping.message_type));
        audit::append(&mut tx, &AuditEntry { detail, ..entry }).await?;
        Ok(tx.commit().await?)
    }

    /// The answer is whether there was anything to take back.
    pub async fn unset_mapping(
        &self,
        broker: Option<&str>,
        carrier: Carrier,
        pattern: &str,
        expected: &Expected,
        by: &Actor,
        at: Timestamp,
    ) -> Result<bool, ChangeError<ActiveMapping>> {
        const UNSET: &str = "DELETE FROM mappings WHERE broker = $1 AND carrier = $2 AND pattern = $3";
        let mut tx = self.db.begin().await?;
        tx.lock_table(LOCK).await?;
        let Some(removed) = find(&mut tx, broker, carrier, pattern).await? else { return Ok(false) };
        expected.check(Some(&removed))?;
        on!(&mut tx, |tx| sqlx::query(UNSET)
            .bind(broker.unwrap_or_default())
            .bind(carrier.as_str())
            .bind(pattern)
            .execute(&mut **tx)
            .await
            .map(drop)?);
        let entry = AuditEntry::new(at, by, Area::Mappings, "remove", pattern);
        let detail = describe(broker, carrier, &removed.mapping.message_type);
        audit::append(&mut tx, &AuditEntry { detail, ..entry }).await?;
        tx.commit().await?;
        Ok(true)
    }
}

/// What was said of exactly these.
async fn find(
    tx: &mut Tx,
    broker: Option<&str>,
    carrier: Carrier,
    pattern: &str,
) -> Result<Option<ActiveMapping>, StoreError> {
    const SELECT: &str = "SELECT broker, carrier, pattern, message_type, set_by, set_at
        FROM mappings WHERE broker = $1 AND carrier = $2 AND pattern = $3";
    let row: Option<Row> = on!(tx, |tx| sqlx::query_as(SELECT)
        .bind(broker.unwrap_or_default())
        .bind(carrier.as_str())
        .bind(pattern)
        .fetch_optional(&mut **tx)
        .await?);
    row.map(ActiveMapping::try_from).transpose()
}

/// `the queue carries acme.texts.v1.Text, on main`
fn describe(broker: Option<&str>, carrier: Carrier, message_type: &str) -> String {
    let broker = broker.map(|broker| format!(", on {broker}")).unwrap_or_default();
    format!("the {} carries {message_type}{broker}", carrier.as_str().replace('_', " "))
}
