//! A copy of the database, made while it is used.

use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
};

use thiserror::Error;

use super::{
    Store, StoreError,
    db::{
        Either,
        file::{beside, private},
    },
};

#[derive(Debug, Error)]
pub enum BackupError {
    #[error("{} is there already; a backup replaces nothing", .0.display())]
    Exists(PathBuf),
    #[error("{} cannot be written: {}", .0.display(), .1)]
    File(PathBuf, #[source] io::Error),
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
        if file.exists() {
            return Err(BackupError::Exists(file.to_owned()));
        }
        let partial = beside(file, ".partial");
        let failed = |error: io::Error| BackupError::File(partial.clone(), error);
        // SQLite copies into an empty file, and keeps the rights that it has.
        private().create(true).truncate(true).open(&partial).map_err(failed)?;
        sqlx::query("VACUUM INTO $1").bind(partial.to_string_lossy().into_owned()).execute(pool).await?;
        // SQLite does not wait for the disk here.
        File::open(&partial).and_then(|copy| copy.sync_all()).map_err(failed)?;
        fs::rename(&partial, file).map_err(|error| BackupError::File(file.to_owned(), error))?;
        Ok(())
    }
}
