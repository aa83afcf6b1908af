//! Opening, migrating, and whether the database can be used.

use dead_letter_office::store::{Store, StoreError};

use super::{
    database::{TestDatabase, sqlite_url},
    make::an_arrival,
};

async fn a_migrated_database_is_ready(database: &TestDatabase) {
    database.check_version().await.unwrap();
    database.check_writable().await.unwrap();
    database.ping().await.unwrap();
}

async fn migrating_again_changes_nothing(database: &TestDatabase) {
    let id = database.take_in_new(an_arrival()).await;
    database.second_server().await.migrate().await.unwrap();
    assert!(database.summary(id).await.unwrap().is_some());
}

async fn what_is_stored_is_there_after_a_restart(database: &TestDatabase) {
    let id = database.take_in_new(an_arrival()).await;
    let reopened = database.second_server().await;
    assert_eq!(reopened.summary(id).await.unwrap(), database.summary(id).await.unwrap());
}

/// The version is wrong, and the error says what to do.
async fn check_version_error(database: &TestDatabase, what_to_do: &str) {
    let error = database.check_version().await.unwrap_err();
    assert!(error.to_string().contains(what_to_do), "{error}");
    assert!(!error.is_outage());
}

async fn an_empty_database_wants_to_be_migrated(database: &TestDatabase) {
    database.tamper("DROP TABLE _sqlx_migrations").await;
    check_version_error(database, "run `dlo migrate`").await;
}

async fn an_older_database_wants_to_be_migrated(database: &TestDatabase) {
    database.tamper("DELETE FROM _sqlx_migrations WHERE version > 1").await;
    check_version_error(database, "run `dlo migrate`").await;
}

async fn a_newer_database_wants_a_newer_program(database: &TestDatabase) {
    database.tamper("UPDATE _sqlx_migrations SET version = 9999 WHERE version = 1").await;
    check_version_error(database, "a newer dlo").await;
    let error = database.migrate().await.unwrap_err().to_string();
    assert!(error.contains("at version 9999") && error.contains("a newer dlo"), "{error}");
}

on_both!(
    a_migrated_database_is_ready,
    migrating_again_changes_nothing,
    what_is_stored_is_there_after_a_restart,
    an_empty_database_wants_to_be_migrated,
    an_older_database_wants_to_be_migrated,
    a_newer_database_wants_a_newer_program,
);

#[tokio::test]
async fn a_sqlite_file_is_made_where_there_is_none() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(&sqlite_url(&directory.path().join("new.db"))).await.unwrap();
    store.migrate().await.unwrap();
    store.check_writable().await.unwrap();
}

/// Otherwise a full disk is noticed only by the letters it cannot store.
#[tokio::test]
async fn whether_it_can_be_written_is_tried_by_writing() {
    let database = TestDatabase::sqlite().await;
    let log = database.url().trim_start_matches("sqlite://").to_owned() + "-wal";
    let written = || std::fs::metadata(&log).map_or(0, |log| log.len());
    let before = written();
    database.check_writable().await.unwrap();
    assert!(written() > before);
}

#[tokio::test]
async fn what_is_no_address_of_a_database_is_refused() {
    for url in ["", "database.db", "mysql://localhost/dlo", "postgres://local host/", "sqlite://a.db?mode=odd"] {
        let Err(error) = Store::open(url).await else { panic!("{url} was opened") };
        assert!(matches!(error, StoreError::Url(_)), "{url}: {error}");
    }
}
