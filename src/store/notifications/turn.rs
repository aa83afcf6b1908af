//! One process at a time looks at the groups that concern people.

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
        // A process that is stopped in the midst of its look must not keep the others from theirs.
        const BEGIN: &str = "BEGIN; SET LOCAL idle_in_transaction_session_timeout = '60s'";
        const ALONE: &str = "SELECT pg_advisory_xact_lock(7301, 11)";
        let Either::Postgres(pool) = self.db.writer() else { return Ok(IncidentTurn(None)) };
        let mut tx = pool.begin_with(BEGIN).await?;
        sqlx::query(ALONE).execute(&mut *tx).await?;
        Ok(IncidentTurn(Some(Either::Postgres(tx))))
    }
}
