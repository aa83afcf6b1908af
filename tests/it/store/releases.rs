//! A database of every version that was released opens with this one.
//!
//! `releases` holds a dump of each: its tables as they were, and some rows. From the first release on these files are never
//! changed again; until then `DLO_TEST_RELEASES=write` writes the tables of today into the first.

use std::{fs, path::PathBuf};

use dead_letter_office::{domain::letter::LetterId, store::Store};
use sha2::{Digest, Sha384};
use sqlx::{AssertSqlSafe, PgPool, SqlitePool};

use super::{
    database::{record, sqlite_url},
    make::an_arrival,
};
use crate::support::postgres::Postgres;

/// What stands between the tables and the rows.
const ROWS: &str = "-- Rows.\n";
/// The migrations that a version had, by their numbers and descriptions.
const RELEASES: [&[(i64, &str)]; 1] = [&[(1, "initial")]];

struct Release {
    tables: String,
    rows: String,
    migrations: &'static [(i64, &'static str)],
}

fn releases(database: &str) -> Vec<Release> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let read = |migrations: &'static [(i64, &'static str)]| {
        let newest = migrations.len();
        let path = root.join(format!("tests/it/store/releases/{newest:04}.{database}.sql"));
        let dump = fs::read_to_string(&path).unwrap();
        let (tables, rows) = dump.split_once(ROWS).unwrap();
        let mut release = Release { tables: tables.to_owned(), rows: rows.to_owned(), migrations };
        if newest == 1 && std::env::var("DLO_TEST_RELEASES").is_ok_and(|wish| wish == "write") {
            release.tables = fs::read_to_string(root.join(format!("migrations/{database}/0001_initial.sql"))).unwrap();
            fs::write(path, format!("{}{ROWS}{}", release.tables, release.rows)).unwrap();
        }
        release
    };
    RELEASES.into_iter().map(read).collect()
}

impl Release {
    /// What the version itself would have executed and written down. A dump holds the tables of its first migration; those
    /// that came later stand behind it, each with the first line that begins with `-- Migration`.
    fn script(&self, of_bytes: impl Fn(&str) -> String, made: &str) -> String {
        let parts: Vec<&str> = self.tables.split("-- Migration\n").collect();
        let applied = self.migrations.iter().zip(&parts).map(|((version, description), text)| {
            let sum = Sha384::digest(text).iter().map(|byte| format!("{byte:02x}")).collect::<String>();
            format!(
                "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time)
                    VALUES ({version}, '{description}', TRUE, {}, 0);\n",
                of_bytes(&sum)
            )
        });
        format!("{made}\n{}\n{}\n{}", self.tables, applied.collect::<String>(), self.rows)
    }
}

/// It is brought to this version, what was in it is there, and it goes on.
async fn check(url: &str) {
    let store = Store::open(url).await.unwrap();
    let told = "a dump and its migration differ; until the first release: DLO_TEST_RELEASES=write cargo test releases";
    if let Err(error) = store.migrate().await {
        panic!("{told}: {error}");
    }
    store.check_version().await.unwrap();
    let id: LetterId = "019a8b7c-0000-7000-8000-000000000001".parse().unwrap();
    let letter = store.letter(id).await.unwrap().unwrap();
    assert_eq!((letter.message.body, letter.summary.queue.as_deref()), (b"hello".to_vec(), Some("orders")));
    let history = store.history(id).await.unwrap();
    assert_eq!(history.last().map(|entry| &*entry.detail), Some("ask Bob"));
    record(&store, "main", &[an_arrival()]).await;
    assert_eq!(store.sums().await.unwrap().iter().map(|(.., count)| count).sum::<u64>(), 2);
}

#[tokio::test]
async fn every_release_on_sqlite() {
    const MADE: &str = "CREATE TABLE _sqlx_migrations (version BIGINT PRIMARY KEY, description TEXT NOT NULL,
        installed_on TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP, success BOOLEAN NOT NULL, checksum BLOB NOT NULL,
        execution_time BIGINT NOT NULL);";
    for release in releases("sqlite") {
        let directory = tempfile::tempdir().unwrap();
        let url = sqlite_url(&directory.path().join("old.db"));
        let raw = SqlitePool::connect(&format!("{url}?mode=rwc")).await.unwrap();
        let script = release.script(|hex| format!("x'{hex}'"), MADE);
        sqlx::raw_sql(AssertSqlSafe(script)).execute(&raw).await.unwrap();
        raw.close().await;
        check(&url).await;
    }
}

#[tokio::test]
async fn every_release_on_postgres() {
    const MADE: &str = "CREATE TABLE _sqlx_migrations (version BIGINT PRIMARY KEY, description TEXT NOT NULL,
        installed_on TIMESTAMPTZ NOT NULL DEFAULT now(), success BOOLEAN NOT NULL, checksum BYTEA NOT NULL,
        execution_time BIGINT NOT NULL);";
    let Some(server) = Postgres::shared() else { return };
    for release in releases("postgres") {
        let database = server.database();
        let raw = PgPool::connect(&database.url).await.unwrap();
        let script = release.script(|hex| format!("'\\x{hex}'"), MADE);
        sqlx::raw_sql(AssertSqlSafe(script)).execute(&raw).await.unwrap();
        raw.close().await;
        check(&database.url).await;
    }
}
