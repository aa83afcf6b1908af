//! The version of the tables: brought up to this program's, and refused where it is another.

use std::cmp::Ordering;

use sqlx::migrate::Migrator;

use super::{
    Store, StoreError,
    db::{Either, Sql, on},
};

static SQLITE: Migrator = sqlx_macros::migrate!("migrations/sqlite");
static POSTGRES: Migrator = sqlx_macros::migrate!("migrations/postgres");

impl Store {
    /// Brings the database to this version. It has to end before anything else uses the database.
    ///
    /// # Errors
    /// [`StoreError::Unreadable`] for one that a newer version has brought to its own.
    pub async fn migrate(&self) -> Result<(), StoreError> {
        self.refuse_newer().await?;
        match self.db.writer() {
            Either::Sqlite(pool) => SQLITE.run(pool).await?,
            Either::Postgres(pool) => POSTGRES.run(pool).await?,
        }
        Ok(())
    }

    /// Fails where a newer version has brought the database to its own: this one can neither use nor migrate it.
    pub async fn refuse_newer(&self) -> Result<(), StoreError> {
        let applied = self.applied_version().await?;
        if applied > self.newest_version() { Err(self.wrong_version(applied, NEWER)) } else { Ok(()) }
    }

    /// Whether no version has used the database yet.
    pub async fn is_new(&self) -> Result<bool, StoreError> {
        Ok(self.applied_version().await? == 0)
    }

    /// Fails unless the database is at this version.
    pub async fn check_version(&self) -> Result<(), StoreError> {
        let applied = self.applied_version().await?;
        match applied.cmp(&self.newest_version()) {
            Ordering::Equal => Ok(()),
            Ordering::Less => Err(self.wrong_version(applied, "run `dlo migrate`")),
            Ordering::Greater => Err(self.wrong_version(applied, NEWER)),
        }
    }

    fn wrong_version(&self, applied: i64, what_to_do: &str) -> StoreError {
        let newest = self.newest_version();
        let why = format!("it is at version {applied}, this program is made for {newest}; {what_to_do}");
        StoreError::Unreadable { what: "a schema", why }
    }

    pub(super) fn newest_version(&self) -> i64 {
        let all = match self.db.reader() {
            Either::Sqlite(_) => &SQLITE,
            Either::Postgres(_) => &POSTGRES,
        };
        all.iter().map(|migration| migration.version).max().unwrap_or(0)
    }

    /// The version of the database, 0 where nothing has been migrated yet.
    async fn applied_version(&self) -> Result<i64, StoreError> {
        const MIGRATED: Sql = Sql {
            sqlite: "SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE name = '_sqlx_migrations')",
            postgres: "SELECT to_regclass('_sqlx_migrations') IS NOT NULL",
        };
        const APPLIED: &str = "SELECT coalesce(max(version), 0) FROM _sqlx_migrations WHERE success";
        let migrated = MIGRATED.pick(self.db.reader());
        Ok(on!(self.db.reader(), |pool| {
            match sqlx::query_scalar(migrated).fetch_one(pool).await? {
                true => sqlx::query_scalar(APPLIED).fetch_one(pool).await?,
                false => 0,
            }
        }))
    }
}

const NEWER: &str = "it needs a newer dlo: this one is older than the one that used it last";
