//! What processes on the same Postgres tell each other, by LISTEN and NOTIFY
//! (<https://www.postgresql.org/docs/current/sql-notify.html>).

use sqlx::postgres::{PgListener, PgPoolOptions};

use super::{Store, StoreError, db::Either};

const CHANNEL: &str = "dlo";

impl Store {
    /// Whether other processes can be notified: on Postgres.
    pub fn can_announce(&self) -> bool {
        matches!(self.db.writer(), Either::Postgres(_))
    }

    /// Sends it to all processes that listen, this one too; on SQLite to nobody. It takes less than 8,000 bytes.
    ///
    /// In a statement of its own, after what it is about: a transaction that notifies holds a lock of the whole server
    /// while it commits.
    pub(crate) async fn announce(&self, notice: &str) -> Result<(), StoreError> {
        if let Either::Postgres(pool) = self.db.writer() {
            sqlx::query("SELECT pg_notify($1, $2)").bind(CHANNEL).bind(notice).execute(pool).await?;
        }
        Ok(())
    }

    /// Hears what is announced from now on, on a connection of its own.
    ///
    /// # Errors
    /// If the database does not answer, or is none that can tell anything.
    pub(crate) async fn listen(&self) -> Result<Announcements, StoreError> {
        let Either::Postgres(pool) = self.db.writer() else {
            return Err(StoreError::Url("SQLite has no announcements".to_owned()));
        };
        let alone = PgPoolOptions::new().max_connections(1).connect_with((*pool.connect_options()).clone()).await?;
        let mut listener = PgListener::connect_with(&alone).await?;
        listener.listen(CHANNEL).await?;
        Ok(Announcements(listener))
    }
}

pub(crate) struct Announcements(PgListener);

impl Announcements {
    /// The next one; `None` where the connection was lost: what was said meanwhile is not heard.
    pub(crate) async fn next(&mut self) -> Result<Option<String>, StoreError> {
        let next = self.0.try_recv().await?;
        Ok(next.map(|notification| notification.payload().to_owned()))
    }
}
