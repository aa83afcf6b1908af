//! Telling an outage, which passes, from an error, which stays.

use dead_letter_office::{
    domain::{filter::LetterFilter, health::DatabaseTrouble},
    store::{Store, StoreError},
};

use super::{
    concurrency::waiting,
    database::{DISCARD, TestDatabase, batch, order},
    make::an_arrival,
};
use crate::support::postgres::Postgres;

async fn what_keeps_it_from_being_used_has_a_name(database: &TestDatabase) {
    assert!(database.check_writable().await.is_ok());
    database.tamper("DROP TABLE jobs").await;
    assert_eq!(database.check_writable().await.unwrap_err().trouble(), DatabaseTrouble::Refuses);
}

async fn a_missing_table_stays_missing(database: &TestDatabase) {
    database.tamper("DROP TABLE contents").await;
    let error = database.record(&batch("main", &[an_arrival()])).await.unwrap_err();
    assert!(matches!(error, StoreError::Statement(_)), "{error}");
    assert!(!error.is_outage());
    assert_eq!(database.total().await, 0);
}

/// Reads a letter after this was done to it: the error names what cannot be read.
async fn check_unreadable(database: &TestDatabase, tampering: &str, what: &str) {
    let letter = database.take_in_new(an_arrival()).await;
    database.tamper(tampering).await;
    let error = database.letter(letter).await.unwrap_err();
    assert!(matches!(error, StoreError::Unreadable { .. }), "{error}");
    assert!(error.to_string().contains(what), "{error}");
    assert!(!error.is_outage());
}

async fn headers_that_are_no_json_are_unreadable(database: &TestDatabase) {
    check_unreadable(database, "UPDATE contents SET headers = 'nonsense'", "headers").await;
}

async fn a_status_of_a_later_version_is_unreadable(database: &TestDatabase) {
    check_unreadable(database, "UPDATE facets SET status = 'lost'", "a status").await;
    assert!(database.count(&LetterFilter::default()).await.is_err());
}

on_both!(
    what_keeps_it_from_being_used_has_a_name,
    a_missing_table_stays_missing,
    headers_that_are_no_json_are_unreadable,
    a_status_of_a_later_version_is_unreadable,
);

#[tokio::test]
async fn a_read_only_file_is_an_outage_for_writers_only() {
    let database = TestDatabase::sqlite().await;
    database.take_in_new(an_arrival()).await;
    let store = Store::open(&format!("{}?mode=ro", database.url())).await.unwrap();
    assert_eq!(store.count(&LetterFilter::default()).await.unwrap(), 1);
    let error = store.check_writable().await.unwrap_err();
    assert!(error.is_outage());
    assert_eq!(error.trouble(), DatabaseTrouble::ReadOnly);
    assert!(store.record(&batch("main", &[an_arrival()])).await.unwrap_err().is_outage());
}

/// As it does when the disk is full.
#[tokio::test]
async fn a_transaction_that_sqlite_ends_by_itself_is_no_trouble_for_the_next() {
    let database = TestDatabase::sqlite().await;
    database.tamper("CREATE TRIGGER t AFTER INSERT ON letters BEGIN SELECT RAISE(ROLLBACK, 'full'); END").await;
    assert!(database.record(&batch("main", &[an_arrival()])).await.is_err());
    database.tamper("DROP TRIGGER t").await;
    database.take_in_new(an_arrival()).await;
}

#[tokio::test]
async fn a_directory_that_is_not_there_is_an_outage() {
    let Err(error) = Store::open("sqlite:///no/such/directory/database.db").await else { panic!("it was opened") };
    assert!(error.is_outage(), "{error}");
}

/// SQLite keeps text in a column of numbers, if somebody puts it there.
#[tokio::test]
async fn a_value_of_the_wrong_type_is_no_outage() {
    let database = TestDatabase::sqlite().await;
    let letter = database.take_in_new(an_arrival()).await;
    database.tamper("UPDATE letters SET attempts = 'many'").await;
    let error = database.summary(letter).await.unwrap_err();
    assert!(!error.is_outage(), "{error}");
}

#[tokio::test]
async fn a_server_that_shuts_down_is_an_outage() {
    let Some(database) = TestDatabase::postgres().await else { return };
    let (letter, server) = (database.take_in_new(an_arrival()).await, database.server().unwrap());
    let mut lock = server.begin().await.unwrap();
    sqlx::query("LOCK TABLE letters").execute(&mut *lock).await.unwrap();
    let kill = async {
        waiting(server, 1).await;
        let kill = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
            WHERE wait_event_type = 'Lock' AND datname = current_database()";
        sqlx::query(kill).execute(&mut *lock).await.unwrap();
    };
    let order = order(&DISCARD, std::slice::from_ref(&letter));
    let (acted, ()) = tokio::join!(database.act(&order), kill);
    assert!(acted.unwrap_err().is_outage());
    lock.rollback().await.unwrap();
    database.does(&DISCARD, &[letter]).await;
}

#[tokio::test]
async fn connections_that_were_cut_are_replaced() {
    let Some(database) = TestDatabase::postgres().await else { return };
    let cut = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
        WHERE datname = current_database() AND pid <> pg_backend_pid()";
    assert!(database.number(cut).await > 0);
    database.take_in_new(an_arrival()).await;
}

#[tokio::test]
async fn a_database_that_is_gone_is_no_passing_trouble() {
    let Some(server) = Postgres::shared() else { return };
    let database = server.database();
    let url = database.url.replace("test_", "gone_");
    let Err(error) = Store::open(&url).await else { panic!("it was opened") };
    assert!(!error.is_outage(), "{error}");
    assert!(error.to_string().ends_with("does not exist (SQLSTATE 3D000)"), "{error}");
}
