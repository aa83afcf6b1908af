//! Retries that wait, that are being published, and that are done.

mod claims;
pub(super) mod delay_queues;
pub(super) mod finished;
mod identities;
pub(super) mod outcomes;
pub(super) mod pauses;
pub(super) mod policies;
pub(super) mod schedule;
pub(super) mod scheduled;
mod sent_back;
pub(super) mod sent_on;
pub(super) mod stops;
pub(super) mod waiting;

use std::{collections::HashMap, time::Duration};

use amqp_message::{message::Message, time::Timestamp};
use failure_conventions::FailureCount;
use sqlx::QueryBuilder;
use sqlx_macros::FromRow;
use uuid::Uuid;

use super::{
    Store, StoreError, StoreReader,
    db::{Either, Sql, Tx, id_list::push_ids, on},
    letters::rows::{ContentsRow, bigint, parse},
};
use crate::domain::{actor::Actor, letter::LetterId, retry::ClaimedRetry};

/// Ids in one statement.
const CHUNK: usize = 1_000;

/// What a job sends that is being stopped is left for who takes it back.
const CLAIM: Sql = Sql {
    sqlite: "UPDATE retries SET claimed_until = $1, claims = claims + 1 WHERE letter_id IN (
            SELECT letter_id FROM retries INDEXED BY retries_to_claim WHERE broker = $2 AND due_at <= $3 AND held = 0
            AND (claimed_until IS NULL OR claimed_until <= $3) AND (job_id IS NULL OR job_id NOT IN (
                SELECT id FROM jobs WHERE next_at IS NOT NULL AND state IN ('paused', 'cancelled', 'stopped')))
            ORDER BY due_at LIMIT $4)
        RETURNING letter_id",
    // The subquery of an IN may be carried out several times, and each time it skips what it has just locked.
    postgres: "UPDATE retries SET claimed_until = $1, claims = claims + 1 WHERE letter_id = ANY(ARRAY(
            SELECT letter_id FROM retries WHERE broker = $2 AND due_at <= $3 AND held = 0
            AND (claimed_until IS NULL OR claimed_until <= $3) AND (job_id IS NULL OR job_id NOT IN (
                SELECT id FROM jobs WHERE next_at IS NOT NULL AND state IN ('paused', 'cancelled', 'stopped')))
            ORDER BY due_at LIMIT $4 FOR UPDATE SKIP LOCKED))
        RETURNING letter_id",
};

#[derive(FromRow)]
struct ClaimRow {
    id: Uuid,
    queue: String,
    failed_queue: String,
    reason: String,
    routing_key: String,
    actor: String,
    attempts: i64,
    rounds: i64,
    due_at: i64,
    size: i64,
    claims: i64,
    edited_from: Option<Uuid>,
}

impl TryFrom<ClaimRow> for ClaimedRetry {
    type Error = StoreError;

    fn try_from(row: ClaimRow) -> Result<Self, StoreError> {
        Ok(Self {
            id: LetterId::from_uuid(row.id),
            queue: row.queue,
            reason: parse("a reason", &row.reason)?,
            routing_key: row.routing_key,
            failed_queue: Some(row.failed_queue).filter(|queue| !queue.is_empty()),
            by: Actor::named(row.actor),
            count: FailureCount { attempts: row.attempts.unsigned_abs(), rounds: row.rounds.unsigned_abs() },
            due_at: Timestamp::from_micros(row.due_at),
            size: row.size.unsigned_abs(),
            claims: row.claims.unsigned_abs(),
            without_expiry: false,
            is_edited: row.edited_from.is_some(),
        })
    }
}

impl StoreReader {
    /// When the next retry is due that nobody has claimed and nothing holds.
    pub async fn next_retry_due(&self, broker: &str) -> Result<Option<Timestamp>, StoreError> {
        const NEXT: Sql = Sql {
            sqlite: "SELECT due_at FROM retries INDEXED BY retries_to_claim WHERE broker = $1 AND held = 0
                AND claimed_until IS NULL AND (job_id IS NULL OR job_id NOT IN (
                    SELECT id FROM jobs WHERE next_at IS NOT NULL AND state IN ('paused', 'cancelled', 'stopped')))
                ORDER BY due_at LIMIT 1",
            postgres: "SELECT due_at FROM retries WHERE broker = $1 AND held = 0 AND claimed_until IS NULL
                AND (job_id IS NULL OR job_id NOT IN (
                    SELECT id FROM jobs WHERE next_at IS NOT NULL AND state IN ('paused', 'cancelled', 'stopped')))
                ORDER BY due_at LIMIT 1",
        };
        let next = NEXT.pick(self.db.reader());
        let due: Option<i64> =
            on!(self.db.reader(), |pool| sqlx::query_scalar(next).bind(broker).fetch_optional(pool).await?);
        Ok(due.map(Timestamp::from_micros))
    }

    /// The messages of letters that are about to be published.
    pub async fn messages(&self, ids: &[LetterId]) -> Result<HashMap<LetterId, Message>, StoreError> {
        const SELECT: &str = "SELECT letter_id, exchange, routing_key, properties, headers, earlier_deaths, remarks,
            body FROM contents WHERE letter_id IN ";
        let theirs: Vec<LetterId>;
        let ids = if self.scope.is_everything() {
            ids
        } else {
            theirs = self.summaries(ids).await?.iter().map(|letter| letter.id).collect();
            &theirs
        };
        let mut messages = HashMap::with_capacity(ids.len());
        for chunk in ids.chunks(CHUNK) {
            let rows: Vec<ContentsRow> = on!(self.db.reader(), |pool| {
                let mut query = QueryBuilder::new(SELECT);
                push_ids(&mut query, chunk);
                query.build_query_as().fetch_all(pool).await?
            });
            for row in rows {
                messages.insert(LetterId::from_uuid(row.letter_id), row.into_message()?);
            }
        }
        Ok(messages)
    }
}

impl Store {
    /// Claims retries that are due, oldest first, for `lease`; until then no other process publishes them. Those into a
    /// queue that is paused stand aside until it is resumed.
    ///
    /// The claim is on disk when this returns: a process that dies while publishing leaves a trace of it.
    pub async fn claim_due_retries(
        &self,
        broker: &str,
        now: Timestamp,
        lease: Duration,
        limit: usize,
    ) -> Result<Vec<ClaimedRetry>, StoreError> {
        let mut tx = self.db.begin().await?;
        pauses::release(&mut tx, broker, limit).await?;
        let sql = CLAIM.pick(&tx);
        let ids: Vec<Uuid> = on!(&mut tx, |tx| sqlx::query_scalar(sql)
            .bind(now.plus(lease).as_micros())
            .bind(broker)
            .bind(now.as_micros())
            .bind(bigint(limit as u64))
            .fetch_all(&mut **tx)
            .await?);
        let ids = pauses::hold(&mut tx, broker, ids).await?;
        let mut claimed = claimed(&mut tx, &ids).await?;
        for chunk in ids.chunks(CHUNK) {
            sent_back::remember(&mut tx, chunk, now).await?;
        }
        tx.commit().await?;
        claimed.sort_by_key(|retry| (retry.due_at, retry.id));
        Ok(claimed)
    }

    /// Ends the leases that a process which died has left behind, where nobody else can hold one: a SQLite database has
    /// one server. On Postgres they end by themselves.
    pub async fn release_abandoned_claims(&self) -> Result<(), StoreError> {
        const RELEASE: &str = "UPDATE retries SET claimed_until = NULL WHERE claimed_until IS NOT NULL";
        if let Either::Sqlite(pool) = self.db.writer() {
            sqlx::query(RELEASE).execute(pool).await?;
        }
        Ok(())
    }
}

async fn claimed(tx: &mut Tx, ids: &[LetterId]) -> Result<Vec<ClaimedRetry>, StoreError> {
    const SELECT: &str =
        "SELECT l.id, r.queue, f.queue AS failed_queue, f.reason, l.routing_key, r.actor, l.attempts, l.rounds, r.due_at, l.size,
        r.claims, l.edited_from FROM retries r JOIN letters l ON l.id = r.letter_id JOIN facets f ON f.id = l.facet_id
        WHERE r.letter_id IN ";
    let mut claimed = Vec::with_capacity(ids.len());
    for chunk in ids.chunks(CHUNK) {
        let rows: Vec<ClaimRow> = on!(&mut *tx, |tx| {
            let mut query = QueryBuilder::new(SELECT);
            push_ids(&mut query, chunk);
            query.build_query_as().fetch_all(&mut **tx).await?
        });
        for row in rows {
            claimed.push(row.try_into()?);
        }
    }
    Ok(claimed)
}
