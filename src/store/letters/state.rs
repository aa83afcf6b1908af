//! Where letters stand, read under lock by whoever is about to move them.
//!
//! Postgres has many writers. So that they wait for each other only briefly and never in a circle, each transaction
//! takes what it needs in one order: batches that are not settled, letters, their retries, facets that are new, and
//! at last the counts; of each of them the smallest first.

use std::collections::{BTreeMap, HashMap};

use amqp_message::time::Timestamp;
use failure_conventions::danger::Danger;
use sqlx::{FromRow, QueryBuilder};
use uuid::Uuid;

use super::rows::parse;
use crate::{
    domain::{
        group::GroupId,
        letter::{LetterId, Status, TypeSource},
    },
    store::{
        StoreError,
        counts::{
            facets::{FacetId, FacetKey, FacetScope},
            tally::{Place, Tally},
        },
        db::{Either, Tx, id_list::push_ids, on},
    },
};

/// Ids in one statement.
const CHUNK: usize = 1_000;

const BY_HAND: &str = TypeSource::Manual.as_str();

const SELECT: &str = "SELECT l.id, l.facet_id, l.received_at, l.attempts, f.broker, f.queue, f.reason, f.status,
    f.importance, l.importance_by, l.message_type, l.type_source, l.group_id, l.enriched_at, l.danger, l.closed_at,
    l.family, r.due_at, r.queue AS retry_queue, r.claimed_until, r.claims,
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
    broker: String,
    queue: String,
    reason: String,
    status: String,
    importance: String,
    importance_by: String,
    message_type: Option<String>,
    type_source: Option<String>,
    group_id: Option<Uuid>,
    enriched_at: Option<i64>,
    danger: Option<String>,
    closed_at: Option<i64>,
    family: Option<Uuid>,
    rival: Option<Uuid>,
    due_at: Option<i64>,
    retry_queue: Option<String>,
    claimed_until: Option<i64>,
    claims: Option<i64>,
}

#[derive(Clone)]
pub(crate) struct LetterState {
    pub(crate) id: LetterId,
    pub(crate) facet: FacetId,
    pub(crate) key: FacetKey,
    pub(crate) received_at: Timestamp,
    pub(crate) attempts: u64,
    /// Who says how important it is.
    pub(crate) importance_by: String,
    /// The type a person has given it.
    pub(crate) type_by_hand: Option<String>,
    pub(crate) group: Option<GroupId>,
    /// When it was sorted last.
    pub(crate) enriched_at: Option<Timestamp>,
    /// Why it must not be retried, when it must not.
    pub(crate) danger: Option<Danger>,
    /// When it was sent back or discarded.
    pub(crate) closed_at: Option<Timestamp>,
    /// The first of the letters that are edits of one another, where it is one of those.
    pub(crate) family: Option<LetterId>,
    /// Another of them that is not discarded. As long as there is one, this one must not be sent.
    pub(crate) rival: Option<LetterId>,
    /// When its retry is due, and where it goes.
    pub(crate) due_at: Option<Timestamp>,
    pub(crate) retry_queue: Option<String>,
    /// Its retry is being published, by a process that is given up for dead after this.
    pub(crate) claimed_until: Option<Timestamp>,
    /// Its retry has not been published, not even perhaps.
    pub(crate) waits: bool,
}

impl TryFrom<Row> for LetterState {
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
            importance_by: row.importance_by,
            type_by_hand: row.message_type.filter(|_| row.type_source.as_deref() == Some(BY_HAND)),
            group: row.group_id.map(GroupId::from_uuid),
            enriched_at: row.enriched_at.map(Timestamp::from_micros),
            danger: row.danger.as_deref().map(|word| parse("a danger", word)).transpose()?,
            closed_at: row.closed_at.map(Timestamp::from_micros),
            family: row.family.map(LetterId::from_uuid),
            rival: row.rival.map(LetterId::from_uuid),
            due_at: row.due_at.map(Timestamp::from_micros),
            retry_queue: row.retry_queue,
            claimed_until: row.claimed_until.map(Timestamp::from_micros),
        })
    }
}

impl LetterState {
    /// Where it is counted.
    pub(crate) const fn place(&self) -> Place {
        Place { facet: self.facet, group: self.group, received_at: self.received_at }
    }

    /// Where a retry goes: to the queue that is named, to where the retry goes that waits already, or to where it failed.
    pub(crate) fn target<'a>(&'a self, named: Option<&'a str>) -> Option<&'a str> {
        let failed = Some(&*self.key.queue).filter(|queue| !queue.is_empty());
        named.or(self.retry_queue.as_deref()).or(failed)
    }
}

/// Locks and then reads those of `ids` that exist.
///
/// It takes two statements: on Postgres one that waits for a lock still sees everything else as it was before.
pub(crate) async fn lock(tx: &mut Tx, ids: &[LetterId]) -> Result<HashMap<LetterId, LetterState>, StoreError> {
    lock_rows(tx, ids).await?;
    let mut states = HashMap::with_capacity(ids.len());
    for chunk in ids.chunks(CHUNK) {
        let rows: Vec<Row> = on!(&mut *tx, |tx| {
            let mut query = QueryBuilder::new(SELECT);
            push_ids(&mut query, chunk);
            query.build_query_as().fetch_all(&mut **tx).await?
        });
        for row in rows {
            let state = LetterState::try_from(row)?;
            states.insert(state.id, state);
        }
    }
    Ok(states)
}

/// Keeps others from moving the same letters or edits of them, and from claiming their retries; on SQLite there is only
/// one writer.
async fn lock_rows(tx: &mut Tx, ids: &[LetterId]) -> Result<(), StoreError> {
    const LETTERS: &str = "SELECT id FROM letters WHERE id IN (SELECT unnest($1) UNION
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

/// Moves letters to the status or importance that `change` gives their key, `at` this moment, and keeps the counts true:
/// to be called once in a transaction, at its end.
pub(crate) async fn change_facets(
    tx: &mut Tx,
    scope: &mut FacetScope<'_>,
    states: &[&LetterState],
    at: Timestamp,
    change: impl Fn(&LetterState, &mut FacetKey),
) -> Result<(), StoreError> {
    let changed = |state: &LetterState| {
        let mut key = state.key.clone();
        change(state, &mut key);
        key
    };
    scope.make_all(tx, states.iter().map(|state| changed(state)).collect()).await?;
    let mut tally = Tally::default();
    let mut moves: BTreeMap<(FacetId, Settled), Vec<LetterId>> = BTreeMap::new();
    for state in states {
        let key = changed(state);
        let facet = scope.id(tx, &key).await?;
        tally.remove(state.place());
        tally.add(Place { facet, ..state.place() });
        if state.key.status == Status::Scheduled && key.status == Status::Retried {
            tally.sent(state.group, at);
        }
        moves.entry((facet, Settled::by(state.key.status, key.status, at))).or_default().push(state.id);
    }
    for ((facet, settled), ids) in moves {
        for chunk in ids.chunks(CHUNK) {
            on!(&mut *tx, |tx| {
                let mut update = QueryBuilder::new("UPDATE letters SET facet_id = ");
                update.push_bind(facet.0);
                match settled {
                    Settled::AsBefore => {}
                    Settled::Now(at) => _ = update.push(", closed_at = ").push_bind(at.as_micros()),
                    Settled::NoLonger => _ = update.push(", closed_at = NULL"),
                }
                update.push(" WHERE id IN ");
                push_ids(&mut update, chunk);
                update.build().execute(&mut **tx).await?;
            });
        }
    }
    tally.apply(tx).await
}

/// What becomes of `closed_at` when a letter moves.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Settled {
    AsBefore,
    Now(Timestamp),
    NoLonger,
}

impl Settled {
    fn by(from: Status, to: Status, at: Timestamp) -> Self {
        match to {
            _ if from == to => Self::AsBefore,
            Status::Retried | Status::Discarded => Self::Now(at),
            Status::Open | Status::Scheduled => Self::NoLonger,
        }
    }
}

pub(crate) fn to_status(status: Status) -> impl Fn(&LetterState, &mut FacetKey) {
    move |_, key| key.status = status
}
