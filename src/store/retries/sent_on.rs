//! Messages that are sent on to wait in RabbitMQ, so that one which is delivered again is known.
//!
//! Before any of a batch is published, one commit has what is counted of them, what they are recognised by when they come
//! back, and an entry of each delivery. A process that dies then has left the delivery unacknowledged: who gets it next
//! finds the entry, publishes the message once more as what it was, and counts nothing.

use std::collections::{BTreeMap, HashMap};

use amqp_message::time::Timestamp;
use sqlx_macros::FromRow;
use uuid::Uuid;

use super::{outcomes::RetryTally, waiting};
use crate::{
    domain::{letter::LetterId, lifecycle::recognition::SentBack},
    store::{
        Store, StoreError,
        db::{Tx, on},
        letters::{
            delivery_dedup::wait_for_others,
            delivery_entries::entries,
            intake::{Arrival, Fingerprint, SentOn},
        },
    },
};

/// Bytes of one entry.
const ENTRY: usize = 48;

/// What is known of a delivery that came before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KnownDelivery {
    /// It is in the database.
    Stored,
    SentOn(SentOn),
}

/// Messages that are about to be published.
pub struct SendingOn<'a> {
    pub id: Uuid,
    pub broker: &'a str,
    /// The queue they were consumed from, and the connection they came by.
    pub queue: &'a str,
    pub session: Uuid,
    pub at: Timestamp,
    /// Each with the time when it is due.
    pub arrivals: Vec<(&'a Arrival, Timestamp)>,
    pub sent: Vec<SentBack>,
    pub counted: &'a RetryTally,
}

#[derive(FromRow)]
struct Row {
    id: Uuid,
    confirmed: bool,
    sent_on: bool,
    entries: Vec<u8>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Entry {
    fingerprint: Fingerprint,
    id: LetterId,
    rounds: u64,
    due: Timestamp,
}

/// An entry with its batch, and whether the broker has seen the acknowledgement.
type Found = (Uuid, bool, Entry);

impl Store {
    /// What is known of each of these that RabbitMQ has delivered before.
    pub async fn known_deliveries(
        &self,
        broker: &str,
        queue: &str,
        session: Uuid,
        arrivals: &[&Arrival],
    ) -> Result<Vec<Option<KnownDelivery>>, StoreError> {
        const LOAD: &str = "SELECT id, confirmed, sent_on, entries FROM pending_acks
            WHERE broker = $1 AND queue = $2 AND session <> $3";
        if !arrivals.iter().any(|arrival| arrival.redelivered) {
            return Ok(vec![None; arrivals.len()]);
        }
        let mut tx = self.db.begin().await?;
        wait_for_others(&mut tx, broker, queue, true).await?;
        let rows: Vec<Row> =
            on!(&mut tx, |tx| sqlx::query_as(LOAD).bind(broker).bind(queue).bind(session).fetch_all(&mut **tx).await?);
        tx.commit().await?;
        let (mut stored, mut sent_on) = (HashMap::new(), HashMap::<Fingerprint, Vec<Found>>::new());
        for row in rows {
            if row.sent_on {
                for entry in decode(&row.entries) {
                    sent_on.entry(entry.fingerprint).or_default().push((row.id, row.confirmed, entry));
                }
            } else {
                stored.extend(entries(&row.entries));
            }
        }
        let mut known = |arrival: &&Arrival| {
            if !arrival.redelivered {
                return None;
            }
            if stored.contains_key(&arrival.fingerprint) {
                return Some(KnownDelivery::Stored);
            }
            take(sent_on.get_mut(&arrival.fingerprint)?, arrival).map(KnownDelivery::SentOn)
        };
        Ok(arrivals.iter().map(&mut known).collect())
    }

    /// Writes down what is about to be published. To do so again changes nothing.
    pub async fn send_on(&self, sending: &SendingOn<'_>) -> Result<(), StoreError> {
        let mut tx = self.db.begin().await?;
        wait_for_others(&mut tx, sending.broker, sending.queue, false).await?;
        if remember(&mut tx, sending).await? {
            forget_used(&mut tx, sending).await?;
            waiting::forget(&mut tx, sending.arrivals.iter().filter_map(|(arrival, _)| arrival.waited)).await?;
            waiting::remember(&mut tx, sending.broker, &sending.sent).await?;
            sending.counted.apply(&mut tx).await?;
        }
        tx.commit().await
    }
}

/// What is published anew by a service may be equal each time. Where nothing in it says which of its failures it is, an
/// entry stands for it only where it can be no other message, and where it is acknowledged until the message is due.
fn take(found: &mut Vec<Found>, arrival: &Arrival) -> Option<SentOn> {
    let is_alone = found.len() == 1 || arrival.message.properties.message_id.is_some();
    let is_away = |confirmed, entry: &Entry| confirmed && entry.due <= arrival.received_at;
    let stands = |(_, confirmed, entry): &Found| arrival.says_which() || (is_alone && !is_away(*confirmed, entry));
    let (batch, _, Entry { id, rounds, .. }) = found.remove(found.iter().rposition(stands)?);
    Some(SentOn { batch, id, rounds })
}

/// Whether the batch was not there yet.
async fn remember(tx: &mut Tx, sending: &SendingOn<'_>) -> Result<bool, StoreError> {
    const REMEMBER: &str = "INSERT INTO pending_acks
        (id, broker, queue, session, recorded_at, confirmed, entries, sent_on)
        VALUES ($1, $2, $3, $4, $5, FALSE, $6, TRUE) ON CONFLICT DO NOTHING";
    let entry = |(arrival, due): &(&Arrival, Timestamp)| Entry {
        fingerprint: arrival.fingerprint,
        id: arrival.returning.unwrap_or(arrival.id),
        rounds: arrival.failure.rounds,
        due: *due,
    };
    let entries: Vec<u8> = sending.arrivals.iter().map(entry).flat_map(encode).collect();
    let rows = on!(tx, |tx| sqlx::query(REMEMBER)
        .bind(sending.id)
        .bind(sending.broker)
        .bind(sending.queue)
        .bind(sending.session)
        .bind(sending.at.as_micros())
        .bind(entries)
        .execute(&mut **tx)
        .await?
        .rows_affected());
    Ok(rows == 1)
}

/// Takes entries out of the batches that were not acknowledged: each stands for one delivery, of which there is a new entry.
async fn forget_used(tx: &mut Tx, sending: &SendingOn<'_>) -> Result<(), StoreError> {
    const LOAD: &str = "SELECT entries FROM pending_acks WHERE id = $1";
    const SAVE: &str = "UPDATE pending_acks SET entries = $1 WHERE id = $2";
    let mut by_batch: BTreeMap<Uuid, Vec<(Fingerprint, LetterId)>> = BTreeMap::new();
    for (arrival, _) in &sending.arrivals {
        if let Some(used) = arrival.sent_on {
            by_batch.entry(used.batch).or_default().push((arrival.fingerprint, used.id));
        }
    }
    for (batch, used) in by_batch {
        let bytes: Option<Vec<u8>> =
            on!(&mut *tx, |tx| sqlx::query_scalar(LOAD).bind(batch).fetch_optional(&mut **tx).await?);
        let Some(bytes) = bytes else { continue };
        let mut left: Vec<Entry> = decode(&bytes).collect();
        for used in used {
            if let Some(at) = left.iter().position(|entry| (entry.fingerprint, entry.id) == used) {
                left.remove(at);
            }
        }
        let left: Vec<u8> = left.into_iter().flat_map(encode).collect();
        on!(&mut *tx, |tx| sqlx::query(SAVE).bind(left).bind(batch).execute(&mut **tx).await.map(drop)?);
    }
    Ok(())
}

fn encode(entry: Entry) -> impl Iterator<Item = u8> {
    let Entry { fingerprint, id, rounds, due } = entry;
    let numbers = [rounds.to_be_bytes(), due.as_micros().to_be_bytes()].into_iter().flatten();
    fingerprint.0.to_be_bytes().into_iter().chain(id.as_uuid().into_bytes()).chain(numbers)
}

fn decode(bytes: &[u8]) -> impl Iterator<Item = Entry> {
    bytes.as_chunks::<ENTRY>().0.iter().map(|entry| {
        let number =
            |at: usize, bytes: usize| entry[at..at + bytes].iter().fold(0, |n, byte| n << 8 | u128::from(*byte));
        let long = |at: usize| u64::try_from(number(at, 8)).unwrap_or_default();
        Entry {
            fingerprint: Fingerprint(number(0, 16)),
            id: LetterId::from_uuid(Uuid::from_u128(number(16, 16))),
            rounds: long(32),
            due: Timestamp::from_micros(long(40).cast_signed()),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_read_as_it_was_written() {
        let entry = |n: u64| Entry {
            fingerprint: Fingerprint(u128::MAX - u128::from(n)),
            id: LetterId::from_uuid(Uuid::from_u128(n.into())),
            rounds: n,
            due: Timestamp::from_micros(-(n.cast_signed())),
        };
        let bytes: Vec<u8> = [entry(1), entry(u64::from(u32::MAX))].into_iter().flat_map(encode).collect();
        assert_eq!(bytes.len(), 2 * ENTRY);
        assert!(decode(&bytes).eq([entry(1), entry(u64::from(u32::MAX))]));
    }
}
