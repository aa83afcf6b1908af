//! What goes wrong with the database, and whether it may pass.

use std::time::Duration;

use sqlx::{error::DatabaseError, postgres::PgDatabaseError};
use thiserror::Error;

use crate::domain::{health::DatabaseTrouble, version::Changed};

/// Each says its cause, and therefore has none that would be said once more.
#[derive(Debug, Error)]
pub enum StoreError {
    #[error("database.url is not usable: {0}")]
    Url(String),
    #[error("no connection to the database at {address}: {}", said(cause))]
    NoConnection { address: String, cause: sqlx::Error },
    #[error("the database file {file} cannot be opened: {cause}")]
    File { file: String, cause: sqlx::Error },
    #[error("the database cannot be used at the moment: {}", said(.0))]
    Unavailable(sqlx::Error),
    #[error("the database has not answered for {} s", .0.as_secs())]
    NoAnswer(Duration),
    #[error("the database refused a statement: {}", said(.0))]
    Statement(sqlx::Error),
    #[error("the database could not be brought to this version: {0}")]
    Migration(sqlx::migrate::MigrateError),
    #[error("{file} is not to be had: {why}")]
    Locked { file: String, why: String },
    #[error("the database holds {what} that this version cannot read: {why}")]
    Unreadable { what: &'static str, why: String },
}

impl From<sqlx::migrate::MigrateError> for StoreError {
    fn from(error: sqlx::migrate::MigrateError) -> Self {
        Self::Migration(error)
    }
}

impl From<sqlx::Error> for StoreError {
    fn from(error: sqlx::Error) -> Self {
        match error {
            error if is_outage(&error) => Self::Unavailable(error),
            sqlx::Error::ColumnDecode { .. } | sqlx::Error::Decode(_) => {
                Self::Unreadable { what: "a value", why: error.to_string() }
            }
            error => Self::Statement(error),
        }
    }
}

impl StoreError {
    /// Whether the database answers and refuses what it was given, or cannot read what it holds: to try the same again
    /// changes nothing.
    pub const fn is_refusal(&self) -> bool {
        matches!(self, Self::Statement(_) | Self::Unreadable { .. })
    }

    /// Whether trying again later may help without anything being changed.
    pub fn is_outage(&self) -> bool {
        match self {
            Self::Unavailable(_) | Self::NoAnswer(_) => true,
            Self::NoConnection { cause, .. } | Self::File { cause, .. } => is_outage(cause),
            _ => false,
        }
    }

    /// What it says of the database.
    pub fn trouble(&self) -> DatabaseTrouble {
        match self {
            Self::Unavailable(sqlx::Error::Database(error)) | Self::Statement(sqlx::Error::Database(error)) => {
                code(&**error).map_or(DatabaseTrouble::Refuses, |code| trouble(&code, self.is_outage()))
            }
            error if error.is_outage() => DatabaseTrouble::Unreachable,
            _ => DatabaseTrouble::Refuses,
        }
    }
}

/// What the database says. Postgres adds a line of its own source, which would be taken for one of ours.
fn said(error: &sqlx::Error) -> String {
    match error {
        sqlx::Error::Database(refusal) => match refusal.try_downcast_ref::<PgDatabaseError>() {
            Some(refusal) => format!("{} (SQLSTATE {})", refusal.message(), refusal.code()),
            None => error.to_string(),
        },
        error => error.to_string(),
    }
}

/// The code of an error: of Postgres its SQLSTATE, of SQLite its primary code.
enum Code {
    Postgres(String),
    Sqlite(u32),
}

fn code(error: &dyn DatabaseError) -> Option<Code> {
    let code = error.code()?;
    if error.try_downcast_ref::<PgDatabaseError>().is_some() {
        return Some(Code::Postgres(code.into_owned()));
    }
    // The extended code's lowest byte is the primary code.
    code.parse::<u32>().ok().map(|code| Code::Sqlite(code & 0xff))
}

/// Read-only is also who may not write (42501).
fn trouble(code: &Code, is_outage: bool) -> DatabaseTrouble {
    match code {
        Code::Postgres(state) if matches!(&**state, "25006" | "42501") => DatabaseTrouble::ReadOnly,
        Code::Postgres(state) if state == "53100" => DatabaseTrouble::Full,
        Code::Sqlite(8) => DatabaseTrouble::ReadOnly,
        Code::Sqlite(13) => DatabaseTrouble::Full,
        _ if is_outage => DatabaseTrouble::Unreachable,
        _ => DatabaseTrouble::Refuses,
    }
}

/// Why something was not changed that several people change.
#[derive(Debug)]
pub enum ChangeError<T> {
    /// It is not as it was expected.
    Changed(Changed<T>),
    Store(StoreError),
}

impl<T> From<Changed<T>> for ChangeError<T> {
    fn from(changed: Changed<T>) -> Self {
        Self::Changed(changed)
    }
}

impl<T> From<StoreError> for ChangeError<T> {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl<T> From<sqlx::Error> for ChangeError<T> {
    fn from(error: sqlx::Error) -> Self {
        Self::Store(error.into())
    }
}

/// Errors although the statement is right: nothing answers, or the database is shutting down, out of connections, out
/// of disk, locked or read-only at the moment.
fn is_outage(error: &sqlx::Error) -> bool {
    match error {
        sqlx::Error::Database(error) => is_outage_of_database(&**error),
        sqlx::Error::Io(_)
        | sqlx::Error::Tls(_)
        | sqlx::Error::Protocol(_)
        | sqlx::Error::PoolTimedOut
        | sqlx::Error::PoolClosed
        | sqlx::Error::WorkerCrashed
        | sqlx::Error::BeginFailed => true,
        _ => false,
    }
}

fn is_outage_of_database(error: &dyn DatabaseError) -> bool {
    /// Classes of SQLSTATE (<https://www.postgresql.org/docs/current/errcodes-appendix.html>): connection exception,
    /// serialization failure, insufficient resources, operator intervention, system error; and read-only.
    const POSTGRES: [&str; 6] = ["08", "40", "53", "57", "58", "25006"];
    /// SQLITE_BUSY, LOCKED, READONLY, IOERR, CORRUPT, FULL, CANTOPEN (<https://www.sqlite.org/rescode.html>).
    const SQLITE: [u32; 7] = [5, 6, 8, 10, 11, 13, 14];
    match code(error) {
        Some(Code::Postgres(state)) => POSTGRES.iter().any(|class| state.starts_with(class)),
        Some(Code::Sqlite(code)) => SQLITE.contains(&code),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cause_is_said_once() {
        let error = anyhow::Error::from(StoreError::from(sqlx::Error::PoolTimedOut));
        assert_eq!(format!("{error:#}"), error.to_string());
    }
}
