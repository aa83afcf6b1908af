//! Giving back what retention has freed.

use super::{Store, StoreError, db::Either};

/// Pages of SQLite that stay free, for what comes in next; 4 KiB each.
const KEPT: i64 = 2_500;
/// Pages that are given back at once; writers wait for it.
const AT_ONCE: i64 = 2_500;

impl Store {
    /// Gives free pages of a SQLite file back to the file system, some at a time. The answer is how many. Postgres does that
    /// by itself.
    pub async fn give_back_space(&self) -> Result<u64, StoreError> {
        const FREE: &str = "PRAGMA freelist_count";
        let (Either::Sqlite(reader), Either::Sqlite(writer)) = (self.db.reader(), self.db.writer()) else {
            return Ok(0);
        };
        let free: i64 = sqlx::query_scalar(FREE).fetch_one(reader).await?;
        let pages = (free - KEPT).min(AT_ONCE);
        if pages <= 0 {
            return Ok(0);
        }
        let give_back = sqlx::AssertSqlSafe(format!("PRAGMA incremental_vacuum({pages})"));
        Ok(sqlx::query(give_back).fetch_all(writer).await?.len() as u64)
    }
}
