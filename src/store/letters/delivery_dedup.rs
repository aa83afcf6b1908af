//! Telling a redelivered message from a new one.
//!
//! A message is committed here and then acknowledged. When the connection or the process dies in between, RabbitMQ
//! delivers it again, and nothing in it names it. So every batch leaves a row behind, in its own commit, with the
//! fingerprints of its deliveries. The row goes some time after the broker is known to have seen the acknowledgement:
//! a node that is killed forgets those it had not written to disk. A message that RabbitMQ marks as redelivered and
//! whose fingerprint stands in such a row is the delivery we already have; unless that came by the same connection, by
//! which nothing comes twice. The mark alone says little: RabbitMQ 4.0 puts it on what is dead-lettered in one
//! quorum queue and is delivered from another, 4.3 on every dead letter.
//!
//! A server stores what it was delivered though its connection is cut by then: a broker that died may have lost it. One
//! that was redelivered it may have been quicker, so that all of it is compared with what others were redelivered.
//!
//! What a service itself publishes may be an equal copy each time it fails. So for that an entry stands for nothing once its
//! letter has been sent back. A message that says by our headers which letter it is says which of its failures, too, and so
//! does `x-death`, by its time and count.
//!
//! Two messages can be equal to the byte and still be two. Where rows hold a fingerprint more than once, or the
//! acknowledgement was seen, and the message has no `message_id`, dlo keeps what is redelivered: rather a letter
//! twice than a message lost.

use std::collections::{HashMap, HashSet};

use amqp_message::{time::Timestamp, xdeath};
use sqlx::QueryBuilder;
use sqlx_macros::FromRow;
use uuid::Uuid;

use super::{
    delivery_entries::{Entry, encode, entries, marked_entries},
    intake::{AckState, Arrival, Fingerprint, IntakeBatch, Recorded},
    rows::parse,
};
use crate::{
    domain::{letter::LetterId, lifecycle::recognition::is_away},
    store::{
        Store, StoreError,
        db::{Either, Tx, id_list::push_ids, on},
    },
};

const ENTRIES: &str = "SELECT entries FROM pending_acks WHERE id = $1";

#[derive(FromRow)]
struct Row {
    id: Uuid,
    confirmed: bool,
    entries: Vec<u8>,
    /// Of the first so many entries.
    redelivered: i64,
}

/// A delivery that is committed here.
struct Known {
    batch: Uuid,
    letter: LetterId,
    confirmed: bool,
    redelivered: bool,
}

/// The deliveries of one queue that are committed and perhaps not acknowledged.
#[derive(Default)]
pub(crate) struct PendingAcks {
    letters: HashMap<Fingerprint, Vec<Known>>,
    /// Letters that were sent back and have not been seen since.
    away: HashSet<LetterId>,
    /// The connection of the arrivals is gone.
    is_cut: bool,
    used: Vec<(Uuid, Fingerprint, LetterId)>,
}

/// Lets other servers commit first what they took from the batch's queue, where the batch may hold it again: until then
/// nobody sees what they know.
pub(crate) async fn wait_for_others(
    tx: &mut Tx,
    broker: &str,
    queue: &str,
    holds_redelivered: bool,
) -> Result<(), StoreError> {
    const FIRST_OF_ALL: &str = "SELECT pg_advisory_xact_lock_shared(hashtextextended($1 || ' ' || $2, 0))";
    const AFTER_THEM: &str = "SELECT pg_advisory_xact_lock(hashtextextended($1 || ' ' || $2, 0))";
    if let Either::Postgres(tx) = tx {
        let wait = if holds_redelivered { AFTER_THEM } else { FIRST_OF_ALL };
        sqlx::query(wait).bind(broker).bind(queue).execute(&mut **tx).await?;
    }
    Ok(())
}

impl PendingAcks {
    /// Reads the rows of the batch's queue, but for those that it settles. What is redelivered uses up entries: of two
    /// processes only one may use each, and so it locks them.
    pub(crate) async fn load(tx: &mut Tx, batch: &IntakeBatch<'_>, is_cut: bool) -> Result<Self, StoreError> {
        const LOCK: &str = "SELECT id FROM pending_acks WHERE broker = $1 AND queue = $2 ORDER BY id FOR UPDATE";
        const LOAD: &str = "SELECT id, confirmed, entries, redelivered FROM pending_acks
            WHERE broker = $1 AND queue = $2 AND session <> $3 AND NOT sent_on";
        if let Either::Postgres(tx) = &mut *tx
            && batch.holds_redelivered()
        {
            sqlx::query(LOCK).bind(batch.broker).bind(batch.queue).execute(&mut **tx).await?;
        }
        let rows: Vec<Row> = on!(tx, |tx| sqlx::query_as(LOAD)
            .bind(batch.broker)
            .bind(batch.queue)
            .bind(batch.session)
            .fetch_all(&mut **tx)
            .await?);
        let mut pending_acks = Self { is_cut, ..Self::default() };
        for row in rows.into_iter().filter(|row| !batch.settled.expired.contains(&row.id)) {
            let confirmed = row.confirmed || batch.settled.confirmed.contains(&row.id);
            for ((fingerprint, letter), redelivered) in marked_entries(&row.entries, row.redelivered) {
                let known = Known { batch: row.id, letter, confirmed, redelivered };
                pending_acks.letters.entry(fingerprint).or_default().push(known);
            }
        }
        pending_acks.away = away(tx, pending_acks.named_by(batch.arrivals)).await?;
        Ok(pending_acks)
    }

    /// The letters that entries take arrivals for which do not say themselves what they are.
    fn named_by(&self, arrivals: &[Arrival]) -> Vec<LetterId> {
        let silent = arrivals.iter().filter(|arrival| self.may_be_known(arrival) && !says_which(arrival));
        let known = silent.filter_map(|arrival| self.letters.get(&arrival.fingerprint)).flatten();
        known.map(|known| known.letter).collect()
    }

    const fn may_be_known(&self, arrival: &Arrival) -> bool {
        arrival.redelivered || self.is_cut
    }

    /// The letter that a message already is.
    pub(crate) fn take(&mut self, arrival: &Arrival) -> Option<LetterId> {
        if !self.may_be_known(arrival) {
            return None;
        }
        let known = self.letters.get_mut(&arrival.fingerprint)?;
        let may_be_another = known.len() > 1 || known.iter().any(|known| known.confirmed);
        if may_be_another && arrival.message.properties.message_id.is_none() {
            return None;
        }
        let stands = |known: &Known| {
            let one_is_repeated = arrival.redelivered || known.redelivered;
            one_is_repeated && (says_which(arrival) || !self.away.contains(&known.letter))
        };
        let Known { batch, letter, .. } = known.remove(known.iter().rposition(stands)?);
        if arrival.redelivered {
            self.used.push((batch, arrival.fingerprint, letter));
        }
        Some(letter)
    }

    /// Takes the used entries out of their rows: each stands for one delivery.
    pub(crate) async fn save(self, tx: &mut Tx) -> Result<(), StoreError> {
        const LOAD: &str = "SELECT entries, redelivered FROM pending_acks WHERE id = $1";
        const SAVE: &str = "UPDATE pending_acks SET entries = $1, redelivered = $2 WHERE id = $3";
        let mut by_batch: HashMap<Uuid, Vec<Entry>> = HashMap::new();
        for (batch, fingerprint, letter) in self.used {
            by_batch.entry(batch).or_default().push((fingerprint, letter));
        }
        for (batch, used) in by_batch {
            let (bytes, redelivered): (Vec<u8>, i64) =
                on!(&mut *tx, |tx| sqlx::query_as(LOAD).bind(batch).fetch_one(&mut **tx).await?);
            let mut left: Vec<_> = marked_entries(&bytes, redelivered).collect();
            for used in used {
                // Copies of one letter have equal entries; each stands for a delivery of its own.
                if let Some(position) = left.iter().position(|(entry, _)| *entry == used) {
                    left.remove(position);
                }
            }
            let redelivered: i64 = left.iter().map(|(_, redelivered)| i64::from(*redelivered)).sum();
            let left: Vec<u8> = left.into_iter().flat_map(|(entry, _)| encode(entry)).collect();
            on!(&mut *tx, |tx| sqlx::query(SAVE)
                .bind(left)
                .bind(redelivered)
                .bind(batch)
                .execute(&mut **tx)
                .await
                .map(drop)?);
        }
        Ok(())
    }
}

/// Whether something in it is another with each failure: our headers, or those of RabbitMQ.
pub(crate) fn says_which(arrival: &Arrival) -> bool {
    let has_our_headers = arrival.returning.is_some() && !arrival.is_recognised;
    has_our_headers || !xdeath::deaths(&arrival.message.headers).is_empty()
}

async fn away(tx: &mut Tx, letters: Vec<LetterId>) -> Result<HashSet<LetterId>, StoreError> {
    const SELECT: &str = "SELECT l.id, f.status, r.claims FROM letters l JOIN facets f ON f.id = l.facet_id
        LEFT JOIN retries r ON r.letter_id = l.id WHERE l.id IN ";
    if letters.is_empty() {
        return Ok(HashSet::new());
    }
    let rows: Vec<(Uuid, String, Option<i64>)> = on!(tx, |tx| {
        let mut select = QueryBuilder::new(SELECT);
        push_ids(&mut select, &letters);
        select.build_query_as().fetch_all(&mut **tx).await?
    });
    let mut away = HashSet::new();
    for (id, status, claims) in rows {
        if is_away(parse("a status", &status)?, claims.unwrap_or_default().unsigned_abs()) {
            away.insert(LetterId::from_uuid(id));
        }
    }
    Ok(away)
}

/// Leaves the row of a batch behind. The answer is whether it was not there yet: a commit may succeed although its
/// answer is lost, and then the same batch is recorded once more.
pub(crate) async fn remember(tx: &mut Tx, batch: &IntakeBatch<'_>, recorded: &[Recorded]) -> Result<bool, StoreError> {
    const REMEMBER: &str =
        "INSERT INTO pending_acks (id, broker, queue, session, recorded_at, confirmed, entries, redelivered)
        VALUES ($1, $2, $3, $4, $5, FALSE, $6, $7) ON CONFLICT DO NOTHING";
    // Whoever was redelivered it has left its entry, and only that one acknowledges it.
    let is_of_another =
        |arrival: &Arrival, recorded: &Recorded| !arrival.redelivered && matches!(recorded, Recorded::Redelivered(_));
    let mut here: Vec<_> = batch.arrivals.iter().zip(recorded).collect();
    here.retain(|(arrival, recorded)| !is_of_another(arrival, recorded));
    here.sort_by_key(|(arrival, _)| !arrival.redelivered);
    let redelivered: i64 = here.iter().map(|(arrival, _)| i64::from(arrival.redelivered)).sum();
    let entries = here.into_iter().map(|(arrival, recorded)| (arrival.fingerprint, recorded.letter()));
    let entries: Vec<u8> = entries.flat_map(encode).collect();
    let rows = on!(tx, |tx| sqlx::query(REMEMBER)
        .bind(batch.id)
        .bind(batch.broker)
        .bind(batch.queue)
        .bind(batch.session)
        .bind(batch.recorded_at.as_micros())
        .bind(entries)
        .bind(redelivered)
        .execute(&mut **tx)
        .await?
        .rows_affected());
    Ok(rows == 1)
}

/// What was answered when the batch was recorded, as far as its row says.
///
/// An entry that is gone was used by another process, which the message was redelivered to meanwhile. That process took
/// it for a redelivery; it was received here.
pub(crate) async fn recall(tx: &mut Tx, batch: &IntakeBatch<'_>) -> Result<Vec<Recorded>, StoreError> {
    let bytes: Vec<u8> = on!(tx, |tx| sqlx::query_scalar(ENTRIES).bind(batch.id).fetch_one(&mut **tx).await?);
    let mut entries: Vec<_> = entries(&bytes).collect();
    let mut recall = |arrival: &Arrival| {
        let position = entries.iter().position(|(fingerprint, _)| *fingerprint == arrival.fingerprint);
        let letter = position.map(|position| entries.remove(position).1);
        match letter.or(arrival.returning).unwrap_or(arrival.id) {
            letter if letter == arrival.id => Recorded::New(letter),
            letter if Some(letter) == arrival.returning => Recorded::FailedAgain(letter),
            letter => Recorded::Redelivered(letter),
        }
    };
    Ok(batch.arrivals.iter().map(&mut recall).collect())
}

/// Writes down what is settled.
pub(crate) async fn settle(tx: &mut Tx, settled: AckState<'_>) -> Result<(), StoreError> {
    for (what, batches) in [
        ("UPDATE pending_acks SET confirmed = TRUE WHERE id IN (", settled.confirmed),
        ("DELETE FROM pending_acks WHERE id IN (", settled.expired),
    ] {
        if batches.is_empty() {
            continue;
        }
        on!(&mut *tx, |tx| {
            let mut statement = QueryBuilder::new(what);
            let mut ids = statement.separated(", ");
            for batch in batches {
                ids.push_bind(*batch);
            }
            statement.push(")");
            statement.build().execute(&mut **tx).await?;
        });
    }
    Ok(())
}

impl Store {
    /// Writes down what is settled, when no further batch takes it along.
    pub async fn settle(&self, settled: AckState<'_>) -> Result<(), StoreError> {
        if settled.is_empty() {
            return Ok(());
        }
        let mut tx = self.db.begin().await?;
        settle(&mut tx, settled).await?;
        tx.commit().await
    }

    /// Forgets rows that some process left behind before `then` when it died after its acknowledgement.
    pub async fn forget_pending_acks_before(&self, then: Timestamp) -> Result<(), StoreError> {
        const FORGET: &str = "DELETE FROM pending_acks WHERE recorded_at < $1";
        on!(self.db.writer(), |pool| sqlx::query(FORGET).bind(then.as_micros()).execute(pool).await.map(drop)?);
        Ok(())
    }
}
