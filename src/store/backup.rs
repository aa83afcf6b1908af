//! A copy of the database, made while it is used.

use std::{
    io,
    path::{Path, PathBuf},
};

use thiserror::Error;

use super::{
    Store, StoreError,
    db::{Either, file::NewFile},
};

#[derive(Debug, Error)]
pub enum BackupError {
    #[error("{} is there already; nothing is ever replaced", .0.display())]
    Exists(PathBuf),
    #[error("{} is being written by another dlo", .0.display())]
    UnderWay(PathBuf),
    #[error("{} cannot be written: {}", .0.display(), .1)]
    File(PathBuf, io::Error),
    #[error(
        "dlo copies SQLite databases. For Postgres use pg_dump, which is consistent while dlo runs, and takes roles, \
         extensions and large tables as they are: pg_dump --format=custom --file={} \"$DATABASE_URL\"", .0.display()
    )]
    NotSqlite(PathBuf),
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<sqlx::Error> for BackupError {
    fn from(error: sqlx::Error) -> Self {
        Self::Store(error.into())
    }
}

impl Store {
    /// Copies a SQLite database as it is at one moment, whoever writes to it meanwhile, into a file that is not there yet
    /// and that others cannot read. What is cut short leaves no file of that name.
    ///
    /// # Errors
    /// [`BackupError::NotSqlite`] on Postgres, which has a better way.
    pub async fn backup(&self, file: &Path) -> Result<(), BackupError> {
        let Either::Sqlite(pool) = self.db.reader() else { return Err(BackupError::NotSqlite(file.to_owned())) };
        // SQLite copies into an empty file, keeps the rights that it has, and does not wait for the disk.
        let new = NewFile::create(file)?;
        let name = new.partial.to_string_lossy().into_owned();
        sqlx::query("VACUUM INTO $1").bind(name).execute(pool).await?;
        new.finish()
    }
}
