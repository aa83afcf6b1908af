//! The ledger: letters and all that is known of them, in SQLite or in Postgres.
//!
//! This floor knows SQL and the domain. It knows no broker and no clock: what time it is is handed in, and it decides
//! nothing about messages. There is one concrete [`Store`] and no trait in front of it; every statement has a test
//! that runs on both databases.
//!
//! Counts are kept, not recounted. Every letter points to a *facet*, the combination of broker, queue, reason, status
//! and importance it has at the moment; `facets` holds how many letters each has, `facet_slices` the same by slices of
//! five minutes. A filter is first turned into the facets it lets through, and then every list is a merge of short
//! index ranges and every count a sum over a small table, however many letters there are.

mod commands;
mod counts;
mod db;
mod facets;
mod history;
mod jobs;
mod letters;
mod record;
mod retries;
mod returned;
mod rows;
mod standing;
mod tally;
mod unsettled;

use thiserror::Error;

pub use commands::Order;
pub use record::{Arrival, Fingerprint, IntakeBatch, Recorded};
pub use unsettled::Settled;

use db::{Db, Either, on};
use facets::FacetIds;

/// Width of the slices that counts over time are kept in.
pub const SLICE: std::time::Duration = std::time::Duration::from_secs(5 * 60);

#[derive(Debug, Error)]
pub enum StoreError {
    #[error("database.url is not usable: {0}")]
    Url(String),
    #[error("the ledger does not answer: {0}")]
    Unavailable(#[source] sqlx::Error),
    #[error("the ledger refused a statement: {0}")]
    Statement(#[source] sqlx::Error),
    #[error("the ledger could not be brought to this version: {0}")]
    Migration(#[from] sqlx::migrate::MigrateError),
    #[error("the ledger holds {what} that this version cannot read: {why}")]
    Unreadable { what: &'static str, why: String },
}

impl From<sqlx::Error> for StoreError {
    fn from(error: sqlx::Error) -> Self {
        match error {
            sqlx::Error::Database(_) if !is_outage(&error) => Self::Statement(error),
            error => Self::Unavailable(error),
        }
    }
}

impl StoreError {
    /// Whether trying again later may help without anything being changed.
    pub const fn is_outage(&self) -> bool {
        matches!(self, Self::Unavailable(_))
    }
}

/// Errors that the database reports although the statement is right: it is shutting down, out of connections, out of
/// disk, locked or read-only at the moment.
fn is_outage(error: &sqlx::Error) -> bool {
    /// Classes of SQLSTATE (<https://www.postgresql.org/docs/current/errcodes-appendix.html>): connection exception,
    /// serialization failure, insufficient resources, operator intervention, system error; and read-only.
    const POSTGRES: [&str; 6] = ["08", "40", "53", "57", "58", "25006"];
    /// SQLITE_BUSY, LOCKED, READONLY, IOERR, CORRUPT, FULL, CANTOPEN (<https://www.sqlite.org/rescode.html>).
    const SQLITE: [u32; 7] = [5, 6, 8, 10, 11, 13, 14];
    let Some(database) = error.as_database_error() else { return true };
    let Some(code) = database.code() else { return false };
    if database.try_downcast_ref::<sqlx::postgres::PgDatabaseError>().is_some() {
        return POSTGRES.iter().any(|class| code.starts_with(class));
    }
    // The extended code's lowest byte is the primary code.
    code.parse::<u32>().is_ok_and(|code| SQLITE.contains(&(code & 0xff)))
}

pub struct Store {
    db: Db,
    facets: FacetIds,
}

impl Store {
    /// Opens the ledger at `url` (`sqlite://…` or `postgres://…`). It does not migrate it.
    ///
    /// # Errors
    /// [`StoreError::Url`] when the address is malformed, [`StoreError::Unavailable`] when nothing answers there.
    pub async fn open(url: &str) -> Result<Self, StoreError> {
        Ok(Self { db: Db::open(url).await?, facets: FacetIds::default() })
    }

    /// Brings the database to this version. It has to end before anything else uses the ledger.
    pub async fn migrate(&self) -> Result<(), StoreError> {
        match self.db.writer() {
            Either::Sqlite(pool) => sqlx::migrate!("migrations/sqlite").run(pool).await?,
            Either::Postgres(pool) => sqlx::migrate!("migrations/postgres").run(pool).await?,
        }
        Ok(())
    }

    /// Fails unless the ledger is at this version.
    pub async fn check_version(&self) -> Result<(), StoreError> {
        const APPLIED: &str = "SELECT max(version) FROM _sqlx_migrations WHERE success";
        let newest = match self.db.reader() {
            Either::Sqlite(_) => sqlx::migrate!("migrations/sqlite"),
            Either::Postgres(_) => sqlx::migrate!("migrations/postgres"),
        }
        .iter()
        .map(|migration| migration.version)
        .max();
        let applied: Option<i64> = on!(self.db.reader(), |pool| sqlx::query_scalar(APPLIED).fetch_one(pool).await?);
        if applied == newest {
            return Ok(());
        }
        Err(StoreError::Unreadable {
            what: "a schema",
            why: format!("it is at version {applied:?}, this program needs {newest:?}; run `dlo migrate`"),
        })
    }

    /// Whether the ledger answers.
    pub async fn ping(&self) -> Result<(), StoreError> {
        on!(self.db.reader(), |pool| sqlx::query("SELECT 1").execute(pool).await.map(drop)?);
        Ok(())
    }

    /// Whether the ledger can be written at this moment: what is consumed has to be stored.
    pub async fn check_writable(&self) -> Result<(), StoreError> {
        let mut tx = self.db.begin().await?;
        on!(&mut tx, |tx| sqlx::query("DELETE FROM jobs WHERE created_at < 0").execute(&mut **tx).await.map(drop)?);
        tx.commit().await
    }
}
