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
//!
//! A node that is killed also forgets what services rejected in its last moments, and dead-letters that once more when it is
//! back, sometimes twice: with another time, and not marked. So by a new connection a dead letter that differs from an entry by
//! that time alone is the failure we already have, where our headers or a `message_id` name it.

use amqp_message::time::Timestamp;
use sqlx::QueryBuilder;

use super::{
    delivery_entries::{encode, entries},
    intake::{AckState, Arrival, IntakeBatch, Recorded},
};
use crate::store::{
    Store, StoreError,
    db::{Either, Sql, Tx, on},
};

const ENTRIES: &str = "SELECT entries FROM pending_acks WHERE id = $1";

/// Lets other servers commit first what they took from the batch's queue, where the batch may hold it again: until then
/// nobody sees what they know.
pub(crate) async fn wait_for_others(
    tx: &mut Tx,
    broker: &str,
    queue: &str,
    may_repeat: bool,
) -> Result<(), StoreError> {
    const FIRST_OF_ALL: &str = "SELECT pg_advisory_xact_lock_shared(hashtextextended($1 || ' ' || $2, 0))";
    const AFTER_THEM: &str = "SELECT pg_advisory_xact_lock(hashtextextended($1 || ' ' || $2, 0))";
    if let Either::Postgres(tx) = tx {
        let wait = if may_repeat { AFTER_THEM } else { FIRST_OF_ALL };
        sqlx::query(wait).bind(broker).bind(queue).execute(&mut **tx).await?;
    }
    Ok(())
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

    /// Forgets rows that a session left behind before `then`, and before `confirmed` those whose acknowledgement the broker has
    /// seen.
    pub async fn forget_pending_acks(&self, then: Timestamp, confirmed: Timestamp) -> Result<(), StoreError> {
        const FORGET: Sql = Sql {
            sqlite: "DELETE FROM pending_acks WHERE recorded_at < $1 OR (confirmed AND recorded_at < $2)",
            // In whatever order others lock them.
            postgres: "DELETE FROM pending_acks WHERE id IN (SELECT id FROM pending_acks
                WHERE recorded_at < $1 OR (confirmed AND recorded_at < $2) FOR UPDATE SKIP LOCKED)",
        };
        let forget = FORGET.pick(self.db.writer());
        on!(self.db.writer(), |pool| sqlx::query(forget)
            .bind(then.as_micros())
            .bind(confirmed.as_micros())
            .execute(pool)
            .await
            .map(drop)?);
        Ok(())
    }
}
