//! Where letters stand, read under lock by whoever is about to move them.
//!
//! Postgres has many writers. So that they wait for each other only briefly and never in a circle, each transaction
//! takes what it needs in one order: batches that are not settled, letters, their retries, facets that are new, and
//! at last the counts; of each of them the smallest first.

use std::collections::{BTreeMap, HashMap};

use sqlx::{FromRow, QueryBuilder};
use uuid::Uuid;

use super::{
    StoreError,
    db::{Either, Tx, on},
    facets::{FacetId, FacetKey, FacetScope},
    id_list::push_ids,
    rows::parse,
    tally::Tally,
};
use crate::domain::{
    danger::Danger,
    letter::{LetterId, Status},
    time::Timestamp,
};

/// Ids in one statement.
const CHUNK: usize = 1_000;

const SELECT: &str = "SELECT l.id, l.facet_id, l.received_at, l.attempts, f.broker, f.queue, f.reason, f.status,
    f.importance, l.danger, r.due_at, r.claimed_until, r.claims FROM letters l JOIN facets f ON f.id = l.facet_id
    LEFT JOIN retries r ON r.letter_id = l.id WHERE l.id IN ";

#[derive(FromRow)]
struct Row {
    id: Uuid,
    facet_id: i64,
    received_at: i64,
    attempts: i64,
    broker: String,
    queue: String,
    reason: String,
    status: String,
    importance: String,
    danger: Option<String>,
    due_at: Option<i64>,
    claimed_until: Option<i64>,
    claims: Option<i64>,
}

#[derive(Clone)]
pub(super) struct Standing {
    pub(super) id: LetterId,
    pub(super) facet: FacetId,
    pub(super) key: FacetKey,
    pub(super) received_at: Timestamp,
    pub(super) attempts: u64,
    /// Why it must not be retried, when it must not.
    pub(super) danger: Option<Danger>,
    /// When its retry is due.
    pub(super) due_at: Option<Timestamp>,
    /// Its retry is being published, by a process that is given up for dead after this.
    pub(super) claimed_until: Option<Timestamp>,
    /// Its retry has not been published, not even perhaps.
    pub(super) waits: bool,
}

impl TryFrom<Row> for Standing {
    type Error = StoreError;

    fn try_from(row: Row) -> Result<Self, StoreError> {
        let key = FacetKey::read(&row.broker, &row.queue, &row.reason, &row.status, &row.importance)?;
        Ok(Self {
            id: LetterId::from_uuid(row.id),
            facet: FacetId(row.facet_id),
            waits: key.status == Status::Scheduled && row.claims == Some(0),
            key,
            received_at: Timestamp::from_micros(row.received_at),
            attempts: row.attempts.unsigned_abs(),
            danger: row.danger.as_deref().map(|word| parse("a danger", word)).transpose()?,
            due_at: row.due_at.map(Timestamp::from_micros),
            claimed_until: row.claimed_until.map(Timestamp::from_micros),
        })
    }
}

/// Locks and then reads those of `ids` that exist.
///
/// It takes two statements: on Postgres one that waits for a lock still sees everything else as it was before.
pub(super) async fn lock(tx: &mut Tx, ids: &[LetterId]) -> Result<HashMap<LetterId, Standing>, StoreError> {
    lock_rows(tx, ids).await?;
    let mut standings = HashMap::with_capacity(ids.len());
    for chunk in ids.chunks(CHUNK) {
        let rows: Vec<Row> = on!(&mut *tx, |tx| {
            let mut query = QueryBuilder::new(SELECT);
            push_ids(&mut query, chunk);
            query.build_query_as().fetch_all(&mut **tx).await?
        });
        for row in rows {
            let standing = Standing::try_from(row)?;
            standings.insert(standing.id, standing);
        }
    }
    Ok(standings)
}

/// Keeps others from moving the same letters and from claiming their retries; on SQLite there is only one writer.
async fn lock_rows(tx: &mut Tx, ids: &[LetterId]) -> Result<(), StoreError> {
    const LETTERS: &str = "SELECT id FROM letters WHERE id = ANY($1) ORDER BY id FOR UPDATE";
    const RETRIES: &str = "SELECT letter_id FROM retries WHERE letter_id = ANY($1) ORDER BY letter_id FOR UPDATE";
    let Either::Postgres(tx) = tx else { return Ok(()) };
    let ids: Vec<Uuid> = ids.iter().map(|id| id.as_uuid()).collect();
    for lock in [LETTERS, RETRIES] {
        sqlx::query(lock).bind(&ids).execute(&mut **tx).await?;
    }
    Ok(())
}

/// Moves letters to the status or importance that `change` gives their key, and keeps the counts true: to be called
/// once in a transaction, at its end.
pub(super) async fn change_facets(
    tx: &mut Tx,
    scope: &mut FacetScope<'_>,
    standings: &[&Standing],
    change: impl Fn(&Standing, &mut FacetKey),
) -> Result<(), StoreError> {
    move_letters(tx, scope, standings, None, change).await
}

/// The same for letters that were sent back at `now`.
pub(super) async fn send_back(
    tx: &mut Tx,
    scope: &mut FacetScope<'_>,
    standings: &[&Standing],
    now: Timestamp,
    change: impl Fn(&Standing, &mut FacetKey),
) -> Result<(), StoreError> {
    move_letters(tx, scope, standings, Some(now), change).await
}

async fn move_letters(
    tx: &mut Tx,
    scope: &mut FacetScope<'_>,
    standings: &[&Standing],
    sent_back_at: Option<Timestamp>,
    change: impl Fn(&Standing, &mut FacetKey),
) -> Result<(), StoreError> {
    let changed = |standing: &Standing| {
        let mut key = standing.key.clone();
        change(standing, &mut key);
        key
    };
    scope.make_all(tx, standings.iter().map(|standing| changed(standing)).collect()).await?;
    let mut tally = Tally::default();
    let mut moves: BTreeMap<FacetId, Vec<LetterId>> = BTreeMap::new();
    for standing in standings {
        let facet = scope.id(tx, &changed(standing)).await?;
        tally.remove(standing.facet, standing.received_at);
        tally.add(facet, standing.received_at);
        moves.entry(facet).or_default().push(standing.id);
    }
    for (facet, ids) in moves {
        for chunk in ids.chunks(CHUNK) {
            on!(&mut *tx, |tx| {
                let mut update = QueryBuilder::new("UPDATE letters SET facet_id = ");
                update.push_bind(facet.0);
                if let Some(at) = sent_back_at {
                    // Only what a policy sends back heals without anybody looking.
                    update.push(", retried_at = CASE WHEN handed_over_at IS NULL THEN ").push_bind(at.as_micros());
                    update.push(" END");
                }
                update.push(" WHERE id IN ");
                push_ids(&mut update, chunk);
                update.build().execute(&mut **tx).await?;
            });
        }
    }
    tally.apply(tx).await
}

pub(super) fn to_status(status: Status) -> impl Fn(&Standing, &mut FacetKey) {
    move |_, key| key.status = status
}
