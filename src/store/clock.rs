//! What a clock that was ahead leaves behind: times that are not over yet when it is put right.
//!
//! The latest time that any server has seen is kept. Where the clock says less, it was put back since, or that of another
//! server is ahead.

use std::time::Duration;

use amqp_message::time::Timestamp;

use super::{
    Store, StoreError,
    db::{Either, Sql, Tx, on},
};

/// By so much the clocks of several servers may differ.
const TOLERANCE: Duration = Duration::from_secs(10);
/// Retries that are changed in one commit.
const AT_ONCE: i64 = 10_000;

/// A clock was put back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SetBack {
    pub by: Duration,
    /// Retries that were scheduled for later than they should be.
    pub retries: u64,
}

/// No claim that is made for `lease` reaches beyond this: one that does was made by a clock that was ahead.
pub(crate) fn longest_claim(now: Timestamp, lease: Duration) -> i64 {
    now.plus(lease.saturating_mul(2)).as_micros()
}

impl Store {
    /// What time the database server has; none for SQLite, which has no clock of its own.
    pub async fn server_time(&self) -> Result<Option<Timestamp>, StoreError> {
        const NOW: &str = "SELECT (EXTRACT(EPOCH FROM clock_timestamp()) * 1000000)::bigint";
        let Either::Postgres(pool) = self.db.reader() else { return Ok(None) };
        let micros: i64 = sqlx::query_scalar(NOW).fetch_one(pool).await?;
        Ok(Some(Timestamp::from_micros(micros)))
    }

    /// Keeps what the clock says. Where it was put back, retries that were scheduled meanwhile are due after their delay
    /// from now on, what is claimed stays so for two `lease`s at most, incidents that were opened or reported meanwhile
    /// were so now, groups changed now, and retries of many letters were begun now, which are looked at at once.
    pub async fn observe_clock(&self, now: Timestamp, lease: Duration) -> Result<Option<SetBack>, StoreError> {
        const LATEST: &str = "SELECT at FROM latest_time WHERE id = 1";
        const KEEP: &str = "INSERT INTO latest_time (id, at) VALUES (1, $1) ON CONFLICT (id) DO UPDATE SET
            at = CASE WHEN excluded.at > latest_time.at THEN excluded.at ELSE latest_time.at END";
        const PUT_BACK: &str = "UPDATE latest_time SET at = $1 WHERE id = 1 AND at > $1";
        let latest: Option<i64> = on!(self.db.reader(), |pool| sqlx::query_scalar(LATEST).fetch_optional(pool).await?);
        let by = latest.map_or(Duration::ZERO, |latest| Timestamp::from_micros(latest).since(now));
        let set_back = match by > TOLERANCE {
            true => Some(SetBack { by, retries: self.shorten_waits(now, by, lease).await? }),
            false => None,
        };
        // At last: what is cut short is done again.
        let keep = if set_back.is_some() { PUT_BACK } else { KEEP };
        on!(self.db.writer(), |pool| sqlx::query(keep).bind(now.as_micros()).execute(pool).await.map(drop)?);
        Ok(set_back)
    }

    /// The latest time at which a retry that is not done was scheduled.
    pub async fn latest_schedule(&self) -> Result<Option<Timestamp>, StoreError> {
        const LATEST: &str = "SELECT max(scheduled_at) FROM retries";
        let latest: Option<i64> = on!(self.db.reader(), |pool| sqlx::query_scalar(LATEST).fetch_one(pool).await?);
        Ok(latest.map(Timestamp::from_micros))
    }

    async fn shorten_waits(&self, now: Timestamp, by: Duration, lease: Duration) -> Result<u64, StoreError> {
        self.put_back_clock_of_incidents(now).await?;
        self.put_back_clock_of_groups(now).await?;
        let mut tx = self.db.begin().await?;
        shorten_claims(&mut tx, now, by, lease).await?;
        put_back_jobs(&mut tx, now).await?;
        tx.commit().await?;
        let mut shortened = 0;
        loop {
            let mut tx = self.db.begin().await?;
            let some = shorten_some(&mut tx, now).await?;
            tx.commit().await?;
            if some == 0 {
                return Ok(shortened);
            }
            shortened += some;
        }
    }
}

async fn shorten_claims(tx: &mut Tx, now: Timestamp, by: Duration, lease: Duration) -> Result<(), StoreError> {
    const CLAIMS: Sql = Sql {
        sqlite: "UPDATE retries SET claimed_until = claimed_until - $1 WHERE claimed_until > $2",
        postgres: "UPDATE retries SET claimed_until = claimed_until - $1 WHERE letter_id = ANY(ARRAY(
            SELECT letter_id FROM retries WHERE claimed_until > $2 ORDER BY letter_id FOR UPDATE))",
    };
    let (claims, by) = (CLAIMS.pick(tx), Timestamp::default().plus(by).as_micros());
    on!(tx, |tx| sqlx::query(claims).bind(by).bind(longest_claim(now, lease)).execute(&mut **tx).await.map(drop)?);
    Ok(())
}

/// A retry of many letters counts its delay from when it was begun, and what is not due yet waits when it is looked at.
async fn put_back_jobs(tx: &mut Tx, now: Timestamp) -> Result<(), StoreError> {
    // An update of many rows would take them in any order.
    const LOCK: &str = "SELECT id FROM jobs
        WHERE action = 'retry' AND (created_at > $1 OR next_at > $1 OR last_sent_at > $1)
        ORDER BY id FOR NO KEY UPDATE";
    // Other jobs keep when they were begun: letters that they have discarded are found by it.
    const PUT_BACK: &str = "UPDATE jobs SET created_at = CASE WHEN created_at > $1 THEN $1 ELSE created_at END,
            next_at = CASE WHEN next_at > $1 THEN $1 ELSE next_at END,
            last_sent_at = CASE WHEN last_sent_at > $1 THEN $1 ELSE last_sent_at END
        WHERE action = 'retry' AND (created_at > $1 OR next_at > $1 OR last_sent_at > $1)";
    if let Either::Postgres(tx) = &mut *tx {
        sqlx::query(LOCK).bind(now.as_micros()).execute(&mut **tx).await?;
    }
    on!(tx, |tx| sqlx::query(PUT_BACK).bind(now.as_micros()).execute(&mut **tx).await.map(drop)?);
    Ok(())
}

async fn shorten_some(tx: &mut Tx, now: Timestamp) -> Result<u64, StoreError> {
    const RETRIES: Sql = Sql {
        sqlite: "UPDATE retries SET due_at = due_at - scheduled_at + $1, scheduled_at = $1 WHERE letter_id IN (
            SELECT letter_id FROM retries WHERE scheduled_at > $1 LIMIT $2)",
        postgres:
            "UPDATE retries SET due_at = due_at - scheduled_at + $1, scheduled_at = $1 WHERE letter_id = ANY(ARRAY(
            SELECT letter_id FROM retries WHERE scheduled_at > $1 ORDER BY letter_id LIMIT $2 FOR UPDATE))",
    };
    let retries = RETRIES.pick(tx);
    Ok(on!(tx, |tx| {
        sqlx::query(retries).bind(now.as_micros()).bind(AT_ONCE).execute(&mut **tx).await?.rows_affected()
    }))
}
