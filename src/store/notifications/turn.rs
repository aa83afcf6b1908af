//! One process at a time looks at the groups that concern people, and one at a time claims what is to be sent to them.

use sqlx::{PgPool, Postgres, Transaction};

use crate::store::{
    Store, StoreError,
    db::{Either, Tx},
};

/// The right to look, until it is ended or dropped.
pub struct IncidentTurn(Option<Tx>);

impl IncidentTurn {
    /// Leaves it to other processes.
    pub async fn end(self) -> Result<(), StoreError> {
        match self.0 {
            Some(tx) => tx.commit().await,
            None => Ok(()),
        }
    }
}

impl Store {
    /// Waits until no other process looks. A SQLite database has one server.
    pub async fn incident_turn(&self) -> Result<IncidentTurn, StoreError> {
        const ALONE: &str = "SELECT pg_advisory_xact_lock(7301, 11)";
        let Either::Postgres(pool) = self.db.writer() else { return Ok(IncidentTurn(None)) };
        Ok(IncidentTurn(Some(Either::Postgres(alone(pool, ALONE).await?))))
    }

    /// Begins a transaction beside which nobody else claims: how many are claimed already is what decides.
    pub(super) async fn claiming_turn(&self) -> Result<Tx, StoreError> {
        const ALONE: &str = "SELECT pg_advisory_xact_lock(7301, 12)";
        match self.db.writer() {
            Either::Sqlite(_) => self.db.begin().await,
            Either::Postgres(pool) => Ok(Either::Postgres(alone(pool, ALONE).await?)),
        }
    }
}

async fn alone(pool: &PgPool, lock: &'static str) -> Result<Transaction<'static, Postgres>, StoreError> {
    // A process that is stopped in the midst of its turn must not keep the others from theirs.
    const BEGIN: &str = "BEGIN; SET LOCAL idle_in_transaction_session_timeout = '60s'";
    let mut tx = pool.begin_with(BEGIN).await?;
    sqlx::query(lock).execute(&mut *tx).await?;
    Ok(tx)
}
