//! That an incident is acknowledged.

use amqp_message::time::Timestamp;

use super::incidents::{IncidentRecord, Telling, finish};
use crate::store::{Store, StoreError, db::on};

impl Store {
    /// Writes down since when an open incident is acknowledged, or with `None` that it is no more; says whether that was not
    /// known.
    pub async fn acknowledge_incident(
        &self,
        was: &IncidentRecord,
        since: Option<Timestamp>,
        telling: &Telling<'_>,
    ) -> Result<bool, StoreError> {
        const ACKNOWLEDGE: &str = "UPDATE incidents SET acknowledged_at = $1
            WHERE id = $2 AND resolved_at IS NULL AND coalesce(acknowledged_at, -1) = $3";
        let mut tx = self.db.begin().await?;
        let rows = on!(&mut tx, |tx| sqlx::query(ACKNOWLEDGE)
            .bind(since.map(Timestamp::as_micros))
            .bind(was.id)
            .bind(was.acknowledged_at.map_or(-1, Timestamp::as_micros))
            .execute(&mut **tx)
            .await?
            .rows_affected());
        finish(tx, rows, Some(telling)).await
    }
}
