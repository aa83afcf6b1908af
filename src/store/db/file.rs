//! The file of a SQLite database: whose it is.

use std::{
    fs::{self, File, OpenOptions, Permissions, TryLockError},
    io,
    os::unix::fs::{OpenOptionsExt, PermissionsExt},
    path::{Path, PathBuf},
};

use crate::store::BackupError;

/// Read and written by its owner alone: it holds whole messages.
const PRIVATE: u32 = 0o600;

/// The same file with an ending behind its whole name: `dlo.db-wal`.
pub(crate) fn beside(file: &Path, ending: &str) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

/// How a file of a database is opened or made.
pub(crate) fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true).mode(PRIVATE);
    options
}

/// A file that gets its name when it is whole. What is cut short leaves only one that ends in `.partial`; none is ever
/// replaced. Of two who make it at once one is refused.
pub(crate) struct NewFile<'p> {
    file: &'p Path,
    pub(crate) partial: PathBuf,
    /// Locked until it has its name, or its end.
    pub(crate) opened: File,
}

impl<'p> NewFile<'p> {
    /// An empty one that others cannot read.
    pub(crate) fn create(file: &'p Path) -> Result<Self, BackupError> {
        is_not_there(file)?;
        let partial = beside(file, ".partial");
        let failed = |error| BackupError::File(partial.clone(), error);
        let opened = private().create(true).truncate(false).open(&partial).map_err(failed)?;
        // Where files cannot be locked at all, nobody else is known of.
        if matches!(opened.try_lock(), Err(TryLockError::WouldBlock)) {
            return Err(BackupError::UnderWay(partial));
        }
        // Who had it locked may have given it its name since it was opened here.
        is_not_there(file)?;
        opened.set_len(0).map_err(failed)?;
        Ok(Self { file, partial, opened })
    }

    /// Once it is on disk.
    pub(crate) fn finish(self) -> Result<(), BackupError> {
        self.opened.sync_all().map_err(|error| BackupError::File(self.partial.clone(), error))?;
        fs::rename(&self.partial, self.file).map_err(|error| BackupError::File(self.file.to_owned(), error))
    }
}

fn is_not_there(file: &Path) -> Result<(), BackupError> {
    if file.exists() { Err(BackupError::Exists(file.to_owned())) } else { Ok(()) }
}

/// Makes the database's file where there is none, and takes the rights of others from what is there. SQLite gives the
/// files that it makes beside it the same rights.
pub(crate) fn make_private(database: &Path) {
    let made = private().create(true).truncate(false).open(database);
    if let Err(error) = made {
        // SQLite says it better.
        tracing::debug!(file = %database.display(), error = %error, "the database's file cannot be opened");
    }
    for file in ["", "-wal", "-shm", ".lock"].map(|ending| beside(database, ending)) {
        if let Err(error) = restrict(&file) {
            tracing::warn!(file = %file.display(), error = %error, "others may read this file, which holds messages");
        }
    }
}

fn restrict(file: &Path) -> io::Result<()> {
    match fs::metadata(file) {
        Ok(found) if found.permissions().mode() & 0o777 & !PRIVATE != 0 => {
            fs::set_permissions(file, Permissions::from_mode(PRIVATE))
        }
        Ok(_) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}
