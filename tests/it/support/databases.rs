//! Databases that `dlo` has migrated already.
//!
//! To migrate one, and in Postgres to make and to drop one, takes longer than most tests. So it is done once: on SQLite each
//! test has a copy of the file, on Postgres a database that another test has left, emptied and under another name.

use std::{
    path::Path,
    sync::{
        LazyLock, Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use dead_letter_office::store::Store;
use sqlx::SqlitePool;
use tokio::runtime::Runtime;

use super::postgres::{Postgres, PostgresDatabase};

/// Whatever tables there are, but for the record of migrations. Not TRUNCATE, which makes a new file of each table and
/// index, and those cost more than anything else that most tests do.
const EMPTY: &str = "DO $$ DECLARE one record; BEGIN
        SET LOCAL session_replication_role = replica;
        FOR one IN SELECT tablename FROM pg_tables WHERE schemaname = 'public' AND tablename NOT LIKE '\\_%' LOOP
            EXECUTE format('DELETE FROM %I', one.tablename);
        END LOOP;
        PERFORM setval(format('%I.%I', schemaname, sequencename)::regclass, start_value, false)
            FROM pg_sequences WHERE schemaname = 'public';
    END $$";

/// Databases of tests that are over.
static SPARE: Mutex<Vec<Spare>> = Mutex::new(Vec::new());

struct Spare {
    database: PostgresDatabase,
    users: Users,
}

/// What works on a database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Users {
    /// Only the test itself, which awaits what it begins.
    Test,
    /// Servers too, which may go on for a moment when the test is over.
    Servers,
}

pub fn sqlite_url(path: &Path) -> String {
    format!("sqlite://{}", path.display())
}

/// Puts a migrated, empty database of SQLite there, and returns its address.
pub fn sqlite_at(path: &Path) -> String {
    static FILE: LazyLock<Vec<u8>> = LazyLock::new(|| apart(migrated_sqlite_file()));
    std::fs::write(path, &*FILE).expect("a file can be written");
    sqlite_url(path)
}

/// A migrated, empty database on the Postgres that all tests share; `None` where tests for it may be skipped.
pub fn on_postgres(users: Users) -> Option<Lent> {
    static TEMPLATE: OnceLock<PostgresDatabase> = OnceLock::new();
    let server = Postgres::shared()?;
    let template = TEMPLATE.get_or_init(|| apart(migrated_postgres_database(server)));
    let spare = spare().pop();
    let database = match spare {
        Some(spare) => spare.emptied(),
        None => server.copy_of(template),
    };
    Some(Lent { url: database.url.clone(), database: Some(database), users, spoiled: AtomicBool::new(false) })
}

fn spare() -> MutexGuard<'static, Vec<Spare>> {
    SPARE.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Spare {
    fn emptied(self) -> PostgresDatabase {
        let mut database = self.database;
        if self.users == Users::Servers {
            database.rename();
        }
        database.execute(EMPTY);
        database
    }
}

/// A database that another test has when this one is over.
pub struct Lent {
    pub url: String,
    /// `None` only at the very end.
    database: Option<PostgresDatabase>,
    users: Users,
    spoiled: AtomicBool,
}

impl Lent {
    /// All that these statements answer, one line for each row. They are put to it on the connection on which it is emptied,
    /// which stays open from test to test: a new one would first read what all the tables are.
    pub fn ask(&self, statements: &[String]) -> Vec<String> {
        self.database.as_ref().expect("it is lent until this is dropped").ask(statements)
    }

    /// Its tables are not as `dlo` has made them any more, so that no other test can have it.
    pub fn spoil(&self) {
        self.spoiled.store(true, Ordering::Relaxed);
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        // What a failed test has done to it is not for the next one either.
        let is_good = !self.spoiled.load(Ordering::Relaxed) && !std::thread::panicking();
        if let Some(database) = self.database.take_if(|_| is_good) {
            spare().push(Spare { database, users: self.users });
        }
    }
}

/// Works in a runtime of its own, with whose end every connection is closed: none may be open to what is copied.
fn apart<T: Send>(work: impl Future<Output = T> + Send) -> T {
    std::thread::scope(|scope| {
        let worker = scope.spawn(|| Runtime::new().expect("a runtime").block_on(work));
        worker.join().expect("a database is migrated")
    })
}

async fn migrated_sqlite_file() -> Vec<u8> {
    let directory = tempfile::tempdir().expect("a directory");
    let (path, copy) = (directory.path().join("original.db"), directory.path().join("copy.db"));
    let url = sqlite_url(&path);
    Store::open(&url).await.expect("a file").migrate().await.expect("it is migrated");
    // All in one file, also what still stands in the log beside it.
    let raw = SqlitePool::connect(&url).await.expect("a connection");
    sqlx::query("VACUUM INTO $1").bind(copy.to_str()).execute(&raw).await.expect("a copy");
    std::fs::read(copy).expect("a copy")
}

async fn migrated_postgres_database(server: &Postgres) -> PostgresDatabase {
    let database = server.database();
    Store::open(&database.url).await.expect("a database").migrate().await.expect("it is migrated");
    database
}
