//! One process at a time for a SQLite database.
//!
//! What a server knows of it, which facets there are and whose claims are void, holds only as long as nobody else
//! changes it. The lock is on a file beside it: to close any file handle of the database itself would end the locks that
//! SQLite holds on it (<https://www.sqlite.org/howtocorrupt.html>, 2.2).

use std::{
    fs::{File, TryLockError},
    path::Path,
};

use super::file::{beside, private};
use crate::store::StoreError;

/// Held as long as this lives; the system ends it with the process.
#[derive(Debug)]
pub(crate) struct FileLock(#[expect(dead_code, reason = "only held")] File);

impl FileLock {
    /// # Errors
    /// If another process holds it, or the file cannot be made.
    pub(crate) fn of(database: &Path) -> Result<Self, StoreError> {
        let path = beside(database, ".lock");
        let refused = |why: String| StoreError::Locked { file: database.display().to_string(), why };
        let opened = private().create(true).truncate(false).open(&path);
        let file = opened.map_err(|error| refused(format!("{} cannot be written: {error}", path.display())))?;
        match file.try_lock() {
            Ok(()) => Ok(Self(file)),
            Err(TryLockError::WouldBlock) => Err(refused(
                "another dlo uses it. A SQLite database belongs to one process, with all its roles; for several, use \
                 Postgres"
                    .to_owned(),
            )),
            Err(TryLockError::Error(error)) => Err(refused(format!("{} cannot be locked: {error}", path.display()))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_two_one_gets_it_until_it_is_gone() {
        let directory = tempfile::tempdir().unwrap();
        let database = directory.path().join("dlo.db");
        let first = FileLock::of(&database).unwrap();
        let refused = FileLock::of(&database).unwrap_err().to_string();
        assert!(refused.contains("another dlo uses it"), "{refused}");
        drop(first);
        FileLock::of(&database).unwrap();
    }
}
