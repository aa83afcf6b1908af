//! A database of every version that was released opens with this one.
//!
//! `releases` holds some rows of each. Its tables are those of the migrations that it had, which are never changed again once
//! they are released: sqlx refuses a database that was made by another text.

use std::{fs, path::PathBuf, time::Duration};

use dead_letter_office::{
    domain::{filter::LetterFilter, letter::LetterId},
    store::Store,
};
use sha2::{Digest, Sha384};
use sqlx::{AssertSqlSafe, PgPool, SqlitePool};

use super::{
    database::{record, sqlite_url},
    make::an_arrival,
};
use crate::support::postgres::Postgres;

const HOUR: Duration = Duration::from_secs(60 * 60);

/// The migrations that a version had, by their numbers and descriptions.
const RELEASES: [&[(i64, &str)]; 1] = [&[(1, "initial")]];

/// What each version would have executed and written down on that database; `of_bytes` makes a literal of hex digits.
fn releases(database: &str, made: &str, of_bytes: impl Fn(&str) -> String) -> Vec<String> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let read = |path: String| fs::read_to_string(root.join(path)).unwrap();
    let apply = |(version, description): &(i64, &str)| {
        let text = read(format!("migrations/{database}/{version:04}_{description}.sql"));
        let sum: String = Sha384::digest(&text).iter().map(|byte| format!("{byte:02x}")).collect();
        format!(
            "{text}
            INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time)
                VALUES ({version}, '{description}', TRUE, {}, 0);\n",
            of_bytes(&sum)
        )
    };
    let script = |migrations: &&[(i64, &str)]| {
        let rows = read(format!("tests/it/store/releases/{:04}.{database}.sql", migrations.len()));
        format!("{made}\n{}{rows}", migrations.iter().map(apply).collect::<String>())
    };
    RELEASES.iter().map(script).collect()
}

/// It is brought to this version, what was in it is there, and it goes on.
async fn check(url: &str) {
    let store = Store::open(url).await.unwrap();
    store.migrate().await.unwrap();
    store.check_version().await.unwrap();
    let id: LetterId = "019a8b7c-0000-7000-8000-000000000001".parse().unwrap();
    let letter = store.letter(id).await.unwrap().unwrap();
    assert_eq!((letter.message.body, letter.summary.queue.as_deref()), (b"hello".to_vec(), Some("orders")));
    let day = letter.summary.received_at.floor_to(HOUR * 24);
    let bars = store.histogram(&LetterFilter::default(), day, day.plus(HOUR * 24), HOUR).await.unwrap();
    assert_eq!(bars.iter().flat_map(|bar| bar.counts).sum::<u64>(), 1);
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
    for script in releases("sqlite", MADE, |hex| format!("x'{hex}'")) {
        let directory = tempfile::tempdir().unwrap();
        let url = sqlite_url(&directory.path().join("old.db"));
        let raw = SqlitePool::connect(&format!("{url}?mode=rwc")).await.unwrap();
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
    for script in releases("postgres", MADE, |hex| format!("'\\x{hex}'")) {
        let database = server.database();
        let raw = PgPool::connect(&database.url).await.unwrap();
        sqlx::raw_sql(AssertSqlSafe(script)).execute(&raw).await.unwrap();
        raw.close().await;
        check(&database.url).await;
    }
}
