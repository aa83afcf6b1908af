//! Letters read under lock by whoever is about to change them.
//!
//! Postgres has many writers. So that they wait for each other only briefly and never in a circle, each transaction
//! takes what it needs in one order: batches that are not settled, letters, their retries, facets that are new, and
//! at last the counts; of each of them the smallest first.

use std::collections::HashMap;

use amqp_message::time::Timestamp;
use sqlx::QueryBuilder;
use sqlx_macros::FromRow;
use uuid::Uuid;

use super::rows::parse;
use crate::{
    domain::{
        group::GroupId,
        letter::{Importance, LetterId, Status, TypeSource},
        lifecycle::{LetterState, PendingRetry},
    },
    store::{
        StoreError,
        counts::{
            facets::{FacetId, FacetKey},
            place::Place,
        },
        db::{Either, Tx, id_list::push_ids, on},
    },
};

/// Ids in one statement.
const CHUNK: usize = 1_000;

const SELECT: &str =
    "SELECT l.id, l.facet_id, l.received_at, l.attempts, l.rounds, f.broker, f.queue, f.reason, f.status,
    f.importance, l.importance_by, l.message_type, l.type_source, l.note, l.group_id, l.enriched_at, l.danger,
    l.closed_at, l.family, l.recognised_at, r.due_at, r.job_id, r.queue AS retry_queue, r.actor, r.claimed_until, r.claims,
    CASE WHEN l.family IS NOT NULL THEN (SELECT o.id FROM letters o JOIN facets g ON g.id = o.facet_id
        WHERE o.family = l.family AND o.id <> l.id AND g.status <> 'discarded' LIMIT 1) END AS rival
    FROM letters l JOIN facets f ON f.id = l.facet_id
    LEFT JOIN retries r ON r.letter_id = l.id WHERE l.id IN ";

#[derive(FromRow)]
struct Row {
    id: Uuid,
    facet_id: i64,
    received_at: i64,
    attempts: i64,
    rounds: i64,
    broker: String,
    queue: String,
    reason: String,
    status: String,
    importance: String,
    importance_by: String,
    message_type: Option<String>,
    type_source: Option<String>,
    note: Option<String>,
    group_id: Option<Uuid>,
    enriched_at: Option<i64>,
    danger: Option<String>,
    closed_at: Option<i64>,
    family: Option<Uuid>,
    recognised_at: Option<i64>,
    rival: Option<Uuid>,
    due_at: Option<i64>,
    retry_queue: Option<String>,
    actor: Option<String>,
    claimed_until: Option<i64>,
    claims: Option<i64>,
    job_id: Option<Uuid>,
}

/// A letter that nobody else changes until the transaction ends.
pub(crate) struct LockedLetter {
    pub(crate) facet: FacetId,
    pub(crate) state: LetterState,
}

impl TryFrom<Row> for LockedLetter {
    type Error = StoreError;

    fn try_from(row: Row) -> Result<Self, StoreError> {
        let is_by_hand = row.type_source.as_deref() == Some(TypeSource::Manual.as_str());
        let retry = row.retry();
        let state = LetterState {
            id: LetterId::from_uuid(row.id),
            broker: row.broker,
            queue: Some(row.queue).filter(|queue| !queue.is_empty()),
            reason: parse("a reason", &row.reason)?,
            status: parse("a status", &row.status)?,
            importance: parse("an importance", &row.importance)?,
            importance_by: row.importance_by,
            type_by_hand: row.message_type.filter(|_| is_by_hand),
            note: row.note,
            group: row.group_id.map(GroupId::from_uuid),
            received_at: Timestamp::from_micros(row.received_at),
            enriched_at: row.enriched_at.map(Timestamp::from_micros),
            attempts: row.attempts.unsigned_abs(),
            rounds: row.rounds.unsigned_abs(),
            danger: row.danger.as_deref().map(|word| parse("a danger", word)).transpose()?,
            closed_at: row.closed_at.map(Timestamp::from_micros),
            family: row.family.map(LetterId::from_uuid),
            was_recognised: row.recognised_at.is_some(),
            rival: row.rival.map(LetterId::from_uuid),
            retry,
        };
        Ok(Self { facet: FacetId(row.facet_id), state })
    }
}

impl Row {
    fn retry(&self) -> Option<PendingRetry> {
        Some(PendingRetry {
            due_at: Timestamp::from_micros(self.due_at?),
            queue: self.retry_queue.clone()?,
            by: self.actor.clone().unwrap_or_default(),
            claimed_until: self.claimed_until.map(Timestamp::from_micros),
            claims: self.claims.unwrap_or_default().unsigned_abs(),
            job: self.job_id,
        })
    }
}

impl LockedLetter {
    /// Where it is counted.
    pub(crate) const fn place(&self) -> Place {
        Place { facet: self.facet, group: self.state.group, received_at: self.state.received_at }
    }

    /// The facet of it with this status and importance.
    pub(crate) fn key(&self, status: Status, importance: Importance) -> FacetKey {
        let LetterState { broker, queue, reason, .. } = &self.state;
        FacetKey {
            broker: broker.clone(),
            queue: queue.clone().unwrap_or_default(),
            reason: *reason,
            status,
            importance,
        }
    }
}

/// Locks and then reads those of `ids` that exist.
///
/// It takes two statements: on Postgres one that waits for a lock still sees everything else as it was before.
pub(crate) async fn lock(tx: &mut Tx, ids: &[LetterId]) -> Result<HashMap<LetterId, LockedLetter>, StoreError> {
    lock_rows(tx, ids).await?;
    let mut letters = HashMap::with_capacity(ids.len());
    for chunk in ids.chunks(CHUNK) {
        let rows: Vec<Row> = on!(&mut *tx, |tx| {
            let mut query = QueryBuilder::new(SELECT);
            push_ids(&mut query, chunk);
            query.build_query_as().fetch_all(&mut **tx).await?
        });
        for row in rows {
            let letter = LockedLetter::try_from(row)?;
            letters.insert(letter.state.id, letter);
        }
    }
    Ok(letters)
}

/// Keeps others from moving the same letters or edits of them, and from claiming their retries; on SQLite there is only
/// one writer.
async fn lock_rows(tx: &mut Tx, ids: &[LetterId]) -> Result<(), StoreError> {
    const LETTERS: &str = "SELECT id FROM letters WHERE id IN (SELECT unnest(CAST($1 AS UUID[])) UNION
            SELECT o.id FROM letters l JOIN letters o ON o.family = l.family WHERE l.id = ANY($1))
        ORDER BY id FOR UPDATE";
    const RETRIES: &str = "SELECT letter_id FROM retries WHERE letter_id = ANY($1) ORDER BY letter_id FOR UPDATE";
    let Either::Postgres(tx) = tx else { return Ok(()) };
    let ids: Vec<Uuid> = ids.iter().map(|id| id.as_uuid()).collect();
    for lock in [LETTERS, RETRIES] {
        sqlx::query(lock).bind(&ids).execute(&mut **tx).await?;
    }
    Ok(())
}
