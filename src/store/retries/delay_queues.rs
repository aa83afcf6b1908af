//! The queues in RabbitMQ that messages wait in, so that they can be deleted when nobody needs them any more.

use crate::store::{Store, StoreError, StoreReader, db::on};

impl Store {
    /// To be called before a message is published to the queue.
    pub async fn remember_delay_queue(&self, broker: &str, name: &str) -> Result<(), StoreError> {
        const REMEMBER: &str = "INSERT INTO delay_queues (broker, name) VALUES ($1, $2) ON CONFLICT DO NOTHING";
        on!(self.db.writer(), |pool| sqlx::query(REMEMBER).bind(broker).bind(name).execute(pool).await.map(drop)?);
        Ok(())
    }
}

impl StoreReader {
    pub async fn delay_queues(&self, broker: &str) -> Result<Vec<String>, StoreError> {
        const SELECT: &str = "SELECT name FROM delay_queues WHERE broker = $1 ORDER BY name";
        Ok(on!(self.db.reader(), |pool| sqlx::query_scalar(SELECT).bind(broker).fetch_all(pool).await?))
    }
}

impl Store {
    pub async fn forget_delay_queue(&self, broker: &str, name: &str) -> Result<(), StoreError> {
        const FORGET: &str = "DELETE FROM delay_queues WHERE broker = $1 AND name = $2";
        on!(self.db.writer(), |pool| sqlx::query(FORGET).bind(broker).bind(name).execute(pool).await.map(drop)?);
        Ok(())
    }
}
