//! Which types messages are of, as far as people have said it.

use sqlx::FromRow;

use super::{Store, StoreError, activity, db::on, rows::parse};
use crate::domain::{
    activity::{Area, Deed},
    actor::Actor,
    mapping::{Carrier, Mapping, StandingMapping},
    time::Timestamp,
};

#[derive(FromRow)]
struct Row {
    broker: String,
    carrier: String,
    pattern: String,
    message_type: String,
    set_by: String,
    set_at: i64,
}

impl TryFrom<Row> for StandingMapping {
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

impl Store {
    pub async fn mappings(&self) -> Result<Vec<StandingMapping>, StoreError> {
        const SELECT: &str = "SELECT broker, carrier, pattern, message_type, set_by, set_at
            FROM mappings ORDER BY carrier, pattern, broker";
        let rows: Vec<Row> = on!(self.db.reader(), |pool| sqlx::query_as(SELECT).fetch_all(pool).await?);
        rows.into_iter().map(StandingMapping::try_from).collect()
    }

    /// Sets what messages carry, in place of what was said of the same ones before.
    pub async fn set_mapping(&self, mapping: &Mapping, by: &Actor, at: Timestamp) -> Result<(), StoreError> {
        const SET: &str = "INSERT INTO mappings (broker, carrier, pattern, message_type, set_by, set_at)
            VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (broker, carrier, pattern) DO UPDATE SET
            message_type = excluded.message_type, set_by = excluded.set_by, set_at = excluded.set_at";
        let mut tx = self.db.begin().await?;
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
        let deed = Deed::new(at, by, Area::Mappings, "set", &*mapping.pattern);
        let detail = format!("{} carries {}", mapping.carrier, mapping.message_type);
        activity::append(&mut tx, &Deed { detail, ..deed }).await?;
        tx.commit().await
    }

    /// The answer is whether there was anything to take back.
    pub async fn unset_mapping(
        &self,
        broker: Option<&str>,
        carrier: Carrier,
        pattern: &str,
        by: &Actor,
        at: Timestamp,
    ) -> Result<bool, StoreError> {
        const UNSET: &str = "DELETE FROM mappings WHERE broker = $1 AND carrier = $2 AND pattern = $3";
        let mut tx = self.db.begin().await?;
        let rows = on!(&mut tx, |tx| sqlx::query(UNSET)
            .bind(broker.unwrap_or_default())
            .bind(carrier.as_str())
            .bind(pattern)
            .execute(&mut **tx)
            .await?
            .rows_affected());
        if rows > 0 {
            let deed = Deed::new(at, by, Area::Mappings, "remove", pattern);
            activity::append(&mut tx, &Deed { detail: format!("by {carrier}"), ..deed }).await?;
        }
        tx.commit().await?;
        Ok(rows > 0)
    }
}
