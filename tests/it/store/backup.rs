//! The files of a database: copied, restored, closed to others, and smaller when letters are gone.

use std::{fs, os::unix::fs::PermissionsExt, path::Path};

use dead_letter_office::{
    domain::lifecycle::retention::Outdated,
    store::{BackupError, Recorded, Store},
};
use sqlx::SqlitePool;

use super::{
    database::{DISCARD, TestDatabase, record, sqlite_url},
    make::{Make, an_arrival, later},
};
use crate::support::postgres::Postgres;

fn mode(file: &Path) -> u32 {
    fs::metadata(file).unwrap().permissions().mode() & 0o777
}

#[tokio::test]
async fn a_backup_is_the_database_at_one_moment_while_it_is_written() {
    let database = TestDatabase::sqlite().await;
    let directory = tempfile::tempdir().unwrap();
    let copy = directory.path().join("copy.db");
    let first = database.take_in_new(an_arrival().body("whole")).await;
    let other = database.second_server().await;
    let write = async {
        for _ in 0..50 {
            database.take_in_many(20).await;
        }
    };
    let (copied, ()) = tokio::join!(other.backup(&copy), write);
    copied.unwrap();
    let restored = Store::open(&sqlite_url(&copy)).await.unwrap();
    restored.check_version().await.unwrap();
    assert_eq!(restored.letter(first).await.unwrap().unwrap().message.body, b"whole");
    let letters = restored.sums().await.unwrap().iter().map(|(.., count)| count).sum::<u64>();
    assert_eq!(letters % 20, 1, "whole commits: {letters}");
    let raw = SqlitePool::connect(&sqlite_url(&copy)).await.unwrap();
    let found: String = sqlx::query_scalar("PRAGMA integrity_check").fetch_one(&raw).await.unwrap();
    assert_eq!(found, "ok");
    let counted: i64 = sqlx::query_scalar("SELECT count(*) FROM letters").fetch_one(&raw).await.unwrap();
    assert_eq!(counted.unsigned_abs(), letters);
    record(&restored, "main", &[an_arrival()]).await;
    assert_eq!(mode(&copy), 0o600);
    assert!(!directory.path().join("copy.db.partial").exists());
}

#[tokio::test]
async fn a_backup_replaces_nothing() {
    let database = TestDatabase::sqlite().await;
    let directory = tempfile::tempdir().unwrap();
    let copy = directory.path().join("copy.db");
    fs::write(&copy, "the last backup").unwrap();
    assert!(matches!(database.backup(&copy).await.unwrap_err(), BackupError::Exists(_)));
    assert_eq!(fs::read_to_string(&copy).unwrap(), "the last backup");
    let error = database.backup(Path::new("/nowhere/at/all.db")).await.unwrap_err();
    assert!(matches!(error, BackupError::File(..)), "{error}");
}

#[tokio::test]
async fn a_dump_of_postgres_is_restored() {
    let Some(database) = TestDatabase::postgres().await else { return };
    let error = database.backup(Path::new("copy.db")).await.unwrap_err().to_string();
    assert!(error.contains("pg_dump --format=custom --file=copy.db"), "{error}");
    let id = database.take_in_new(an_arrival().body("whole")).await;
    let Some(restored) = Postgres::shared().unwrap().dumped_and_restored(database.url()) else { return };
    let store = Store::open(&restored.url).await.unwrap();
    store.check_version().await.unwrap();
    assert_eq!(store.letter(id).await.unwrap().unwrap().message.body, b"whole");
    let recorded = record(&store, "main", &[an_arrival()]).await;
    assert!(matches!(recorded[0], Recorded::New(_)), "its numbers go on");
}

#[tokio::test]
async fn its_files_are_for_nobody_else() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("new.db");
    let files = || ["", "-wal", "-shm", ".lock"].map(|ending| format!("{}{ending}", file.display()));
    for others_could in [false, true] {
        if others_could {
            files().iter().filter(|file| Path::new(file).exists()).for_each(|file| {
                fs::set_permissions(file, fs::Permissions::from_mode(0o644)).unwrap();
            });
        }
        let store = Store::open(&sqlite_url(&file)).await.unwrap();
        store.lock().unwrap();
        store.migrate().await.unwrap();
        assert_eq!(files().map(|file| mode(Path::new(&file))), [0o600; 4]);
    }
}

#[tokio::test]
async fn space_goes_back_some_at_a_time_when_letters_are_gone() {
    const MEBIBYTE: usize = 1 << 20;
    let database = TestDatabase::sqlite().await;
    assert_eq!(database.give_back_space().await.unwrap(), 0);
    let large: Vec<_> = (0..32_u8).map(|n| an_arrival().body(vec![n; MEBIBYTE])).collect();
    let ids: Vec<_> = record(&database, "main", &large).await.into_iter().map(Recorded::letter).collect();
    let pages = database.number("PRAGMA page_count").await;
    database.does(&DISCARD, &ids).await;
    database.forget_settled(Outdated { retried: later(9), discarded: later(9) }, 1_000).await.unwrap();
    let mut rounds = Vec::new();
    loop {
        match database.give_back_space().await.unwrap() {
            0 => break,
            given_back => rounds.push(given_back),
        }
    }
    assert!(rounds.len() > 1 && rounds.iter().all(|pages| *pages <= 2_500), "{rounds:?}");
    assert!(database.number("PRAGMA page_count").await < pages / 2);
    assert!(database.number("PRAGMA freelist_count").await > 0, "some stay for what comes in next");
}
