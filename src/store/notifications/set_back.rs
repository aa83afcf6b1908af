//! Incidents that were written down by a clock that was ahead.

use amqp_message::time::Timestamp;

use crate::{
    domain::{incident::Incident, storm::Storm},
    store::{Store, StoreError, db::on},
};

impl Store {
    /// What is later than now is now: otherwise all that begins until the clock has caught up would belong together.
    pub(crate) async fn put_back_clock_of_incidents(&self, now: Timestamp) -> Result<(), StoreError> {
        const PUT_BACK: [&str; 3] = [
            "UPDATE incidents SET told_at = $1 WHERE told_at > $1",
            "UPDATE incidents SET opened_at = $1 WHERE opened_at > $1 AND resolved_at IS NULL",
            "UPDATE incidents SET acknowledged_at = $1 WHERE acknowledged_at > $1",
        ];
        for put_back in PUT_BACK {
            on!(self.db.writer(), |pool| sqlx::query(put_back).bind(now.as_micros()).execute(pool).await.map(drop)?);
        }
        for was in self.open_incidents().await? {
            let Some(storm) = was.incident.storm.clone().filter(|storm| storm.joined_at > now) else { continue };
            let storm = Some(Storm { joined_at: now, ..storm });
            self.keep_incident(&was, &Incident { storm, ..was.incident.clone() }).await?;
        }
        Ok(())
    }
}
