//! The machine: room on the disk, and the clock.

use std::{path::Path, time::Duration};

use amqp_message::time::Timestamp;
use rustix::fs::{Access, access, statvfs};

use crate::{clock::Clock, store::Store};

/// With less nothing should begin: a day of failures can be as much.
const LEAST: u64 = 500 << 20;
/// Clocks that differ by less do no harm.
const TOLERANCE: Duration = Duration::from_secs(2);

/// How much room there is where SQLite writes; none for other databases. A remark, and whether it is enough.
pub(super) fn disk(database: &str) -> Option<(String, Result<(), String>)> {
    let file = Store::file(database)?;
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let name = folder.display();
    if let Err(error) = access(folder, Access::WRITE_OK | Access::EXEC_OK) {
        return Some((format!("folder {name}"), Err(format!("it cannot be written to: {error}"))));
    }
    let free = match statvfs(folder) {
        Ok(found) => found.f_bavail.saturating_mul(found.f_frsize),
        Err(error) => return Some((format!("folder {name}"), Err(error.to_string()))),
    };
    let outcome = if free < LEAST {
        Err("that is little: when it is full, no message is taken in, and all wait in RabbitMQ".to_owned())
    } else {
        Ok(())
    };
    Some((format!("folder {name}: {} MB free", free >> 20), outcome))
}

/// Whether the clock here and that of the database agree: retries are due by the one, and several servers share the other.
pub(super) fn clock(clock: &Clock, database: Timestamp) -> Result<(), String> {
    let now = clock.now();
    let apart = now.since(database).max(database.since(now));
    if apart < TOLERANCE {
        return Ok(());
    }
    let seconds = apart.as_secs();
    Err(format!("it differs from that of the database by {seconds} s; retries are early or late by that"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_that_differ_are_told() {
        let now = Timestamp::from_seconds(1_900_000_000);
        let check = |other: Timestamp| clock(&Clock::manual(now), other);
        assert_eq!(check(now.plus(Duration::from_secs(1))), Ok(()));
        for other in [now.plus(Duration::from_secs(5)), now.minus(Duration::from_secs(5))] {
            assert!(check(other).unwrap_err().contains("by 5 s"));
        }
    }

    #[test]
    fn where_sqlite_writes_is_looked_at() {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite://{}/dlo.db", folder.path().display());
        let (told, outcome) = disk(&url).unwrap();
        assert!(told.contains("MB free") && outcome.is_ok() || outcome.is_err(), "{told}");
        let (_, missing) = disk("sqlite:///nowhere/at/all.db").unwrap();
        assert!(missing.unwrap_err().contains("cannot be written to"));
        assert!(disk("postgres://db/dlo").is_none());
    }
}
