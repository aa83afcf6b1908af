//! Two databases under one roof.
//!
//! [`on!`] expands one block once for each database, so that every statement is type-checked against both drivers.
//! Inside such a block nobody asks which database it is: where the dialects truly differ, [`Sql::pick`] chooses the
//! text beforehand.

pub(crate) mod columns;
pub(crate) mod file;
pub(crate) mod id_list;
mod lock;
mod postgres;
mod presence;
mod renewal;

use std::{
    fs,
    path::{Path, PathBuf},
    str::FromStr,
    sync::{Arc, OnceLock},
    time::Duration,
};

use log::LevelFilter;
use sqlx::{
    ConnectOptions, Connection, PgPool, Postgres, Sqlite, SqlitePool, Transaction,
    postgres::PgConnectOptions,
    sqlite::{SqliteAutoVacuum, SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous},
};

use lock::FileLock;
use presence::Presence;
use renewal::Renewal;

use super::StoreError;

/// How long a caller waits for a free connection before it is told that the database does not answer.
const ACQUIRE_TIMEOUT: Duration = Duration::from_secs(10);
/// Pages are short reads; more connections than this only compete for two cores.
const READERS: u32 = 4;

/// A statement that takes so long is logged, unless something else is said.
pub const SLOW_STATEMENT: Duration = Duration::from_secs(1);

/// Runs the block with `$conn` bound to the SQLite or the Postgres side of `$either`.
macro_rules! on {
    ($either:expr, |$conn:ident| $body:expr) => {
        match $either {
            $crate::store::db::Either::Sqlite($conn) => $body,
            $crate::store::db::Either::Postgres($conn) => $body,
        }
    };
}
pub(crate) use on;

#[derive(Clone)]
pub(crate) enum Either<S, P> {
    Sqlite(S),
    Postgres(P),
}

/// An open transaction; dropped without [`commit`](Self::commit) it is rolled back.
pub(crate) type Tx = Either<Transaction<'static, Sqlite>, Transaction<'static, Postgres>>;

impl Tx {
    pub(crate) async fn commit(self) -> Result<(), StoreError> {
        on!(self, |tx| tx.commit().await?);
        Ok(())
    }

    /// Lets no other transaction write to a table until this one ends, as on SQLite none does anyway; for small tables that
    /// people change.
    pub(crate) async fn lock_table(&mut self, lock: LockTable) -> Result<(), StoreError> {
        if let Self::Postgres(tx) = self {
            sqlx::query(lock.0).execute(&mut **tx).await?;
        }
        Ok(())
    }
}

/// A statement that locks a table.
pub(crate) struct LockTable(pub(crate) &'static str);

/// A statement whose text differs between the databases.
pub(crate) struct Sql {
    pub(crate) sqlite: &'static str,
    pub(crate) postgres: &'static str,
}

impl Sql {
    pub(crate) const fn pick<S, P>(&self, either: &Either<S, P>) -> &'static str {
        match either {
            Either::Sqlite(_) => self.sqlite,
            Either::Postgres(_) => self.postgres,
        }
    }
}

#[derive(Clone)]
pub(crate) struct Db {
    /// Any number of readers.
    read: Either<SqlitePool, PgPool>,
    /// On SQLite exactly one connection: writers queue here instead of failing with SQLITE_BUSY.
    write: Either<SqlitePool, PgPool>,
    /// Held by a server on SQLite.
    lock: Arc<OnceLock<FileLock>>,
    renewal: Renewal,
    presence: Presence,
}

impl Db {
    /// Opens the database that `url` names; a SQLite file is created where there is none. Statements that take as long as
    /// `slow` are logged: their texts, never the values that are bound to them.
    pub(crate) async fn open(url: &str, slow: Duration) -> Result<Self, StoreError> {
        if url.starts_with("sqlite:") {
            return Self::open_sqlite(url, slow).await;
        }
        // The driver itself takes an address of any kind and tries to reach a Postgres there.
        if !url.starts_with("postgres:") && !url.starts_with("postgresql:") {
            return Err(StoreError::Url("it takes sqlite://… or postgres://…".to_owned()));
        }
        let options = PgConnectOptions::from_str(url)
            .map_err(|error| StoreError::Url(error.to_string()))?
            .application_name("dlo")
            .log_slow_statements(LevelFilter::Warn, slow);
        let renewal = Renewal::default();
        let pool = postgres::connect(&renewal, options).await?;
        let (read, write) = (Either::Postgres(pool.clone()), Either::Postgres(pool));
        Ok(Self { read, write, lock: Arc::default(), renewal, presence: Presence::default() })
    }

    /// The same database with readers that nobody else uses; they are opened when they are needed.
    pub(crate) fn with_own_readers(&self) -> Self {
        let read = match &self.read {
            Either::Sqlite(pool) => {
                let options = (*pool.connect_options()).clone();
                Either::Sqlite(sqlite_pool(READERS).connect_lazy_with(options))
            }
            Either::Postgres(pool) => {
                let options = (*pool.connect_options()).clone().application_name("dlo pages");
                Either::Postgres(postgres::pool(&self.renewal).connect_lazy_with(options))
            }
        };
        Self { read, ..self.clone() }
    }

    /// The SQLite file that [`open`](Self::open) would create, where there is none yet.
    pub(crate) fn file(url: &str) -> Option<PathBuf> {
        let options = url.starts_with("sqlite:").then(|| SqliteConnectOptions::from_str(url).ok()).flatten()?;
        let file = options.get_filename();
        (!is_in_memory(url, file)).then(|| file.to_owned())
    }

    pub(crate) fn missing_file(url: &str) -> Option<PathBuf> {
        let file = Self::file(url)?;
        let folder = file.parent().filter(|folder| *folder != Path::new("")).unwrap_or(Path::new("."));
        (folder.is_dir() && !file.exists()).then_some(file)
    }

    async fn open_sqlite(url: &str, slow: Duration) -> Result<Self, StoreError> {
        // The broker is acknowledged after the commit, so a commit has to be on disk: WAL with synchronous=FULL
        // (https://www.sqlite.org/pragma.html#pragma_synchronous).
        let options = SqliteConnectOptions::from_str(url)
            .map_err(|error| StoreError::Url(error.to_string()))?
            .create_if_missing(true)
            .log_slow_statements(LevelFilter::Warn, slow)
            .journal_mode(SqliteJournalMode::Wal)
            .synchronous(SqliteSynchronous::Full)
            .busy_timeout(ACQUIRE_TIMEOUT);
        let file = options.get_filename();
        // Before the first table: what retention frees then goes back with `PRAGMA incremental_vacuum`. To say it again would
        // write.
        let is_new = fs::metadata(file).map_or(true, |found| found.len() == 0);
        let first = if is_new { options.clone().auto_vacuum(SqliteAutoVacuum::Incremental) } else { options.clone() };
        if !is_in_memory(url, file) && !url.contains("mode=ro") {
            file::make_private(file);
        }
        let unopened = |cause| StoreError::File { file: file.display().to_string(), cause };
        let write = sqlite_pool(1).connect_with(first).await.map_err(unopened)?;
        let read = sqlite_pool(READERS).connect_with(options.clone()).await.map_err(unopened)?;
        let (read, write) = (Either::Sqlite(read), Either::Sqlite(write));
        Ok(Self { read, write, lock: Arc::default(), renewal: Renewal::default(), presence: Presence::default() })
    }

    /// Keeps other servers from a SQLite database, as long as this one or a clone of it lives.
    ///
    /// # Errors
    /// [`StoreError::Locked`] if another process has it.
    pub(crate) fn lock(&self) -> Result<(), StoreError> {
        if let Either::Sqlite(pool) = &self.write {
            let lock = FileLock::of(pool.connect_options().get_filename())?;
            self.lock.get_or_init(|| lock);
        }
        Ok(())
    }

    /// Has Postgres be asked on new connections from now on: one that was made while the server was read-only stays so.
    pub(crate) fn renew_connections(&self) {
        self.renewal.begin();
    }

    /// Whether there is a database at all; a file always is.
    pub(crate) async fn is_there(&self) -> bool {
        match &self.read {
            Either::Sqlite(_) => true,
            Either::Postgres(pool) => self.presence.ask(&pool.connect_options()).await,
        }
    }

    pub(crate) fn was_there(&self) -> bool {
        match &self.read {
            Either::Sqlite(_) => true,
            Either::Postgres(_) => self.presence.was_there(),
        }
    }

    /// A pool for single statements that only read.
    pub(crate) const fn reader(&self) -> &Either<SqlitePool, PgPool> {
        &self.read
    }

    pub(crate) const fn writer(&self) -> &Either<SqlitePool, PgPool> {
        &self.write
    }

    /// Begins a transaction that writes.
    ///
    /// On SQLite it takes the write lock at once: a transaction that reads first and upgrades later fails with
    /// SQLITE_BUSY without waiting (<https://www.sqlite.org/lang_transaction.html>).
    pub(crate) async fn begin(&self) -> Result<Tx, StoreError> {
        Ok(match &self.write {
            Either::Sqlite(pool) => Either::Sqlite(pool.begin_with("BEGIN IMMEDIATE").await?),
            Either::Postgres(pool) => Either::Postgres(pool.begin().await?),
        })
    }

    /// Begins a transaction that only reads, and all of whose statements see the database at the same moment.
    pub(crate) async fn snapshot(&self) -> Result<Tx, StoreError> {
        const FROZEN: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY";
        Ok(match &self.read {
            Either::Sqlite(pool) => Either::Sqlite(pool.begin().await?),
            Either::Postgres(pool) => Either::Postgres(pool.begin_with(FROZEN).await?),
        })
    }

    /// Begins a transaction that only reads, and in which Postgres reads a table as a whole only where no index serves. It
    /// cannot know how many rows the index of words gives, and by what it expects reads a million of them to find few.
    pub(crate) async fn by_index(&self) -> Result<Tx, StoreError> {
        const BY_INDEX: &str = "BEGIN READ ONLY; SET LOCAL enable_seqscan = off";
        Ok(match &self.read {
            Either::Sqlite(pool) => Either::Sqlite(pool.begin().await?),
            Either::Postgres(pool) => Either::Postgres(pool.begin_with(BY_INDEX).await?),
        })
    }
}

fn sqlite_pool(connections: u32) -> SqlitePoolOptions {
    SqlitePoolOptions::new()
        .max_connections(connections)
        .acquire_timeout(ACQUIRE_TIMEOUT)
        .idle_timeout(None)
        .max_lifetime(None)
        // Nothing lies between that could have been cut; a page would ask for that twenty times.
        .test_before_acquire(false)
        .before_acquire(|connection, _| {
            // SQLite ends a transaction by itself when the disk is full, and the driver goes on counting it.
            let is_usable = !connection.is_in_transaction();
            Box::pin(async move { Ok(is_usable) })
        })
}

/// A SQLite database that is in no file.
fn is_in_memory(url: &str, file: &Path) -> bool {
    url.contains("mode=memory") || file.to_string_lossy().starts_with("file:")
}
