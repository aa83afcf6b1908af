//! Where letters stand, read under lock by whoever is about to move them.

use std::collections::BTreeMap;

use sqlx::{FromRow, QueryBuilder};
use uuid::Uuid;

use super::{
    StoreError,
    db::{Sql, Tx, on},
    facets::{FacetId, FacetKey, FacetScope},
    letters::push_ids,
    tally::Tally,
};
use crate::domain::{
    letter::{LetterId, Status},
    time::Timestamp,
};

/// Ids in one statement.
const CHUNK: usize = 1_000;

const SELECT: &str = "SELECT l.id, l.facet_id, l.received_at, l.attempts, f.broker, f.queue, f.reason, f.status,
    f.importance, r.claimed_until FROM letters l JOIN facets f ON f.id = l.facet_id
    LEFT JOIN retries r ON r.letter_id = l.id WHERE l.id IN ";
/// Postgres has to be told to keep others from moving the same letters; on SQLite there is only one writer.
const LOCK: Sql = Sql { sqlite: "", postgres: " ORDER BY l.id FOR UPDATE OF l" };

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
    claimed_until: Option<i64>,
}

pub(super) struct Standing {
    pub(super) id: LetterId,
    pub(super) facet: FacetId,
    pub(super) key: FacetKey,
    pub(super) received_at: Timestamp,
    pub(super) attempts: u64,
    /// Its retry is being published, by a process that is given up for dead after this.
    pub(super) claimed_until: Option<Timestamp>,
}

impl TryFrom<Row> for Standing {
    type Error = StoreError;

    fn try_from(row: Row) -> Result<Self, StoreError> {
        Ok(Self {
            id: LetterId::from_uuid(row.id),
            facet: FacetId(row.facet_id),
            key: FacetKey::read(&row.broker, &row.queue, &row.reason, &row.status, &row.importance)?,
            received_at: Timestamp::from_micros(row.received_at),
            attempts: row.attempts.unsigned_abs(),
            claimed_until: row.claimed_until.map(Timestamp::from_micros),
        })
    }
}

/// Reads and locks those of `ids` that exist.
pub(super) async fn lock(tx: &mut Tx, ids: &[LetterId]) -> Result<Vec<Standing>, StoreError> {
    let mut standings = Vec::with_capacity(ids.len());
    let lock = LOCK.pick(tx);
    for chunk in ids.chunks(CHUNK) {
        let rows: Vec<Row> = on!(&mut *tx, |tx| {
            let mut query = QueryBuilder::new(SELECT);
            push_ids(&mut query, chunk);
            query.push(lock);
            query.build_query_as().fetch_all(&mut **tx).await?
        });
        for row in rows {
            standings.push(row.try_into()?);
        }
    }
    Ok(standings)
}

/// Moves letters to the status or importance that `change` gives their key, and keeps the counts true.
pub(super) async fn change_facets(
    tx: &mut Tx,
    scope: &mut FacetScope<'_>,
    standings: &[&Standing],
    change: impl Fn(&mut FacetKey),
) -> Result<(), StoreError> {
    let mut tally = Tally::default();
    let mut moves: BTreeMap<FacetId, Vec<LetterId>> = BTreeMap::new();
    for standing in standings {
        let mut key = standing.key.clone();
        change(&mut key);
        let facet = scope.id(tx, &key).await?;
        tally.remove(standing.facet, standing.received_at);
        tally.add(facet, standing.received_at);
        moves.entry(facet).or_default().push(standing.id);
    }
    for (facet, ids) in moves {
        for chunk in ids.chunks(CHUNK) {
            on!(&mut *tx, |tx| {
                let mut update = QueryBuilder::new("UPDATE letters SET facet_id = ");
                update.push_bind(facet.0).push(" WHERE id IN ");
                push_ids(&mut update, chunk);
                update.build().execute(&mut **tx).await?;
            });
        }
    }
    tally.apply(tx).await
}

pub(super) fn to_status(status: Status) -> impl Fn(&mut FacetKey) {
    move |key| key.status = status
}
