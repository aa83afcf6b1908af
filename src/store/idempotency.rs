//! Calls that have to happen once, however often they are made.

use std::time::Duration;

use amqp_message::time::Timestamp;
use sqlx_macros::FromRow;

use super::{Store, StoreError, clock::longest_claim, db::on};
use crate::domain::actor::Actor;

/// A call with a key.
#[derive(Clone, Copy, Debug)]
pub struct KeyedCall<'a> {
    /// Keys of different people have nothing to do with each other.
    pub by: &'a Actor,
    pub key: &'a str,
    /// Stands for all that was asked.
    pub hash: &'a str,
}

/// An answer as it is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptAnswer {
    pub status: u16,
    /// Names and values.
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

/// What is to be done with a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyClaim {
    /// It is the first one; its answer is to be kept, or its key released.
    First,
    /// The same is under way.
    UnderWay,
    /// The same was begun, and its server died before it was answered: nobody knows whether it was done.
    CutOff,
    /// Something else was asked with this key.
    Other,
    /// It was answered so.
    Answered(KeptAnswer),
}

#[derive(FromRow)]
struct Row {
    request: String,
    begun_at: i64,
    claimed_until: i64,
    status: Option<i64>,
    headers: String,
    body: Vec<u8>,
}

impl Row {
    fn answer(self, status: i64) -> Result<KeptAnswer, StoreError> {
        let unreadable = |why: String| StoreError::Unreadable { what: "a kept answer", why };
        Ok(KeptAnswer {
            status: u16::try_from(status).map_err(|error| unreadable(error.to_string()))?,
            headers: serde_json::from_str(&self.headers).map_err(|error| unreadable(error.to_string()))?,
            body: self.body,
        })
    }
}

impl Store {
    /// Claims the key of a call for `lease`. One that was used before `since` counts as new.
    pub async fn claim_key(
        &self,
        call: KeyedCall<'_>,
        now: Timestamp,
        since: Timestamp,
        lease: Duration,
    ) -> Result<KeyClaim, StoreError> {
        const CLAIM: &str =
            "INSERT INTO idempotency_keys (actor, name, request, begun_at, claimed_until, headers, body)
            VALUES ($1, $2, $3, $4, $5, '[]', $6) ON CONFLICT (actor, name) DO NOTHING";
        const FIND: &str = "SELECT request, begun_at, claimed_until, status, headers, body FROM idempotency_keys
            WHERE actor = $1 AND name = $2";
        const CLAIM_AGAIN: &str =
            "UPDATE idempotency_keys SET request = $3, begun_at = $4, claimed_until = $5, status = NULL
            WHERE actor = $1 AND name = $2 AND begun_at = $6 AND claimed_until = $7";
        let until = now.plus(lease).as_micros();
        loop {
            let claimed = on!(self.db.writer(), |pool| sqlx::query(CLAIM)
                .bind(call.by.as_str())
                .bind(call.key)
                .bind(call.hash)
                .bind(now.as_micros())
                .bind(until)
                .bind(Vec::<u8>::new())
                .execute(pool)
                .await?
                .rows_affected());
            if claimed > 0 {
                return Ok(KeyClaim::First);
            }
            let row: Option<Row> = on!(self.db.writer(), |pool| sqlx::query_as(FIND)
                .bind(call.by.as_str())
                .bind(call.key)
                .fetch_optional(pool)
                .await?);
            // Released meanwhile.
            let Some(row) = row else { continue };
            let is_dead = row.claimed_until <= now.as_micros() || row.claimed_until > longest_claim(now, lease);
            let is_old = row.begun_at < since.as_micros();
            match row.status {
                _ if is_old => {}
                _ if row.request != call.hash => return Ok(KeyClaim::Other),
                Some(status) => return row.answer(status).map(KeyClaim::Answered),
                None if is_dead => return Ok(KeyClaim::CutOff),
                None => return Ok(KeyClaim::UnderWay),
            }
            let claimed = on!(self.db.writer(), |pool| sqlx::query(CLAIM_AGAIN)
                .bind(call.by.as_str())
                .bind(call.key)
                .bind(call.hash)
                .bind(now.as_micros())
                .bind(until)
                .bind(row.begun_at)
                .bind(row.claimed_until)
                .execute(pool)
                .await?
                .rows_affected());
            if claimed > 0 {
                return Ok(KeyClaim::First);
            }
        }
    }

    /// Keeps the answer to a call that claimed its key.
    pub async fn keep_answer(&self, call: KeyedCall<'_>, answer: &KeptAnswer) -> Result<(), StoreError> {
        const KEEP: &str = "UPDATE idempotency_keys SET status = $3, headers = $4, body = $5
            WHERE actor = $1 AND name = $2 AND request = $6";
        let headers = serde_json::json!(answer.headers).to_string();
        on!(self.db.writer(), |pool| sqlx::query(KEEP)
            .bind(call.by.as_str())
            .bind(call.key)
            .bind(i64::from(answer.status))
            .bind(headers)
            .bind(&*answer.body)
            .bind(call.hash)
            .execute(pool)
            .await
            .map(drop)?);
        Ok(())
    }

    /// Has the call be made again: it came to nothing.
    pub async fn release_key(&self, call: KeyedCall<'_>) -> Result<(), StoreError> {
        const RELEASE: &str =
            "DELETE FROM idempotency_keys WHERE actor = $1 AND name = $2 AND request = $3 AND status IS NULL";
        on!(self.db.writer(), |pool| sqlx::query(RELEASE)
            .bind(call.by.as_str())
            .bind(call.key)
            .bind(call.hash)
            .execute(pool)
            .await
            .map(drop)?);
        Ok(())
    }

    /// Forgets keys that were used before, at most so many; the answer is how many.
    pub async fn forget_keys(&self, before: Timestamp, most: u32) -> Result<u64, StoreError> {
        const FORGET: &str = "DELETE FROM idempotency_keys WHERE (actor, name) IN
            (SELECT actor, name FROM idempotency_keys WHERE begun_at < $1 ORDER BY begun_at LIMIT $2)";
        Ok(on!(self.db.writer(), |pool| sqlx::query(FORGET)
            .bind(before.as_micros())
            .bind(i64::from(most))
            .execute(pool)
            .await?
            .rows_affected()))
    }
}
