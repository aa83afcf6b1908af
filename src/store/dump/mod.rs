//! The whole database as lines of JSON, the same for SQLite and for Postgres, and back.
//!
//! Each line is a row, `{"table":{"column":value}}`, without what is null. Which columns a table has is asked of the
//! database, so that one that is added goes along by itself; a table that is added has to be put into one of the two
//! lists here. Rows come in the order of their keys, by bytes: the same content makes the same bytes.

mod export;
mod import;
mod value;

use serde::{Deserialize, Serialize};
use sqlx::AssertSqlSafe;
use thiserror::Error;

use value::Kind;

use super::{
    BackupError, StoreError,
    db::{Either, Sql, Tx, on},
};

/// All tables that go along, and what their rows are sorted by. One that refers to another comes after it.
const TABLES: &[(&str, &[&str])] = &[
    ("latest_time", &["id"]),
    ("users", &["id"]),
    ("api_tokens", &["id"]),
    ("facets", &["id"]),
    ("slices", &["scope", "start"]),
    ("days", &["scope", "start"]),
    ("letters", &["id"]),
    ("contents", &["letter_id"]),
    ("history", &["seq"]),
    ("retries", &["letter_id"]),
    ("sent_back", &["content", "letter_id"]),
    ("pending_acks", &["id"]),
    ("groups", &["id"]),
    ("group_hours", &["group_id", "start"]),
    ("jobs", &["id"]),
    ("job_letters", &["job_id", "letter_id"]),
    ("policies", &["queues", "reason"]),
    ("queue_pauses", &["broker", "queue"]),
    ("rules", &["id"]),
    ("grouping_rules", &["id"]),
    ("group_splits", &["group_id"]),
    ("rule_failures", &["rule"]),
    ("schemas", &["id"]),
    ("mappings", &["broker", "carrier", "pattern"]),
    ("views", &["id"]),
    ("markers", &["id"]),
    ("retry_counts", &["broker", "queue", "start", "failures"]),
    ("recent_retry_counts", &["start", "broker", "queue", "failures"]),
    ("delay_queues", &["broker", "name"]),
    ("incidents", &["id"]),
    ("notifications", &["seq"]),
    ("digests", &["id"]),
    ("digest_schedules", &["name"]),
    ("watched_brokers", &["broker"]),
    ("watched_queues", &["broker", "queue"]),
    ("queue_samples", &["broker", "at", "queue"]),
    ("activity", &["seq"]),
    ("activity_letters", &["seq", "letters"]),
    ("activity_term", &["id"]),
    ("idempotency_keys", &["actor", "name"]),
];

/// Tables that do not: browsers that are signed in, links for the first admin, and the index of searches, which is made again.
pub const LEFT_OUT: &[&str] =
    &["sessions", "setup_links", "search_backlog", "search_settings", "search_index", "search_words"];

/// Of which form the lines are.
const FORMAT: u32 = 1;

/// The first line.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Head {
    dlo_export: Version,
}

#[derive(Serialize, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
struct Version {
    format: u32,
    /// That of the tables.
    database: i64,
}

/// The last line: without it the file was cut short.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Foot {
    end: Rows,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Rows {
    rows: u64,
}

/// Why a database was not written to lines, or not read from them.
#[derive(Debug, Error)]
pub enum DumpError {
    #[error("line {line}: {why}. Nothing was imported")]
    Line { line: u64, why: String },
    #[error(
        "an import takes an empty database, in which no server has run yet, and this one has {0}. Nothing was imported"
    )]
    NotEmpty(String),
    #[error("{0}. Nothing was imported")]
    Inconsistent(String),
    #[error("the lines cannot be written or read: {0}")]
    Lines(std::io::Error),
    #[error(transparent)]
    File(#[from] BackupError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<std::io::Error> for DumpError {
    fn from(error: std::io::Error) -> Self {
        Self::Lines(error)
    }
}

impl From<sqlx::Error> for DumpError {
    fn from(error: sqlx::Error) -> Self {
        Self::Store(error.into())
    }
}

/// The names of all tables that go along.
pub fn exported_tables() -> impl Iterator<Item = &'static str> {
    TABLES.iter().map(|(name, _)| *name)
}

/// A table as this database has it.
struct Table {
    name: &'static str,
    columns: Vec<(String, Kind)>,
    /// Its rows in order.
    order: String,
}

impl Table {
    async fn all(tx: &mut Tx) -> Result<Vec<Self>, StoreError> {
        let mut all = Vec::with_capacity(TABLES.len());
        for (name, key) in TABLES {
            all.push(Self::new(tx, name, key).await?);
        }
        Ok(all)
    }

    async fn new(tx: &mut Tx, name: &'static str, key: &[&str]) -> Result<Self, StoreError> {
        // Without those that the database makes of others.
        const COLUMNS: Sql = Sql {
            sqlite: "SELECT name, type FROM pragma_table_info($1) ORDER BY cid",
            postgres: "SELECT CAST(attname AS TEXT), format_type(atttypid, NULL) FROM pg_attribute
                WHERE attrelid = to_regclass($1) AND attnum > 0 AND NOT attisdropped AND attgenerated = ''
                ORDER BY attnum",
        };
        let sql = COLUMNS.pick(tx);
        // Whatever the database's own order of texts is.
        let by_bytes = if matches!(tx, Either::Postgres(_)) { " COLLATE \"C\"" } else { "" };
        let found: Vec<(String, String)> = on!(tx, |tx| sqlx::query_as(sql).bind(name).fetch_all(&mut **tx).await?);
        let mut columns = Vec::with_capacity(found.len());
        for (column, declared) in found {
            let kind = Kind::of(&declared, name, &column).ok_or_else(|| StoreError::Unreadable {
                what: "a column",
                why: format!("{name}.{column} is {declared}"),
            })?;
            columns.push((column, kind));
        }
        let is_text = |name: &str| columns.iter().any(|(its, kind)| its == name && *kind == Kind::Text);
        let order = key.iter().map(|name| format!("\"{name}\"{}", if is_text(name) { by_bytes } else { "" }));
        Ok(Self { name, order: order.collect::<Vec<_>>().join(", "), columns })
    }

    /// Its columns, by comma.
    fn names(&self) -> String {
        self.columns.iter().map(|(name, _)| format!("\"{name}\"")).collect::<Vec<_>>().join(", ")
    }

    async fn is_empty(&self, tx: &mut Tx) -> Result<bool, StoreError> {
        let sql = format!("SELECT NOT EXISTS (SELECT 1 FROM \"{}\")", self.name);
        Ok(on!(tx, |tx| sqlx::query_scalar(AssertSqlSafe(sql)).fetch_one(&mut **tx).await?))
    }
}
