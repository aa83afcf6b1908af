//! Telling a redelivered message from a new one.
//!
//! A message is committed here and then acknowledged. When the connection or the process dies in between, RabbitMQ
//! delivers it again, and nothing in it names it. So every batch leaves a row behind, in its own commit, with the
//! fingerprints of its deliveries. The row goes once the broker is known to have seen the acknowledgement. A message
//! that RabbitMQ marks as redelivered and whose fingerprint stands in such a row is the delivery we already have.
//!
//! Two messages can be equal to the byte and still be two. Where a row holds a fingerprint more than once, and the
//! message has no `message_id`, the office keeps what is redelivered: rather a letter twice than a message lost.

use std::collections::HashMap;

use sqlx::{FromRow, QueryBuilder};
use uuid::Uuid;

use super::{
    Store, StoreError,
    db::{Sql, Tx, on},
    record::{Fingerprint, IntakeBatch},
};
use crate::domain::{letter::LetterId, time::Timestamp};

/// Bytes of one entry: a fingerprint and a letter's id.
const ENTRY: usize = 32;

/// Batches whose acknowledgements the broker has seen.
pub type Settled<'a> = &'a [Uuid];

#[derive(FromRow)]
struct Row {
    id: Uuid,
    entries: Vec<u8>,
}

/// The deliveries of one queue that are committed and perhaps not acknowledged.
#[derive(Default)]
pub(super) struct Unsettled {
    letters: HashMap<Fingerprint, Vec<(Uuid, LetterId)>>,
    used: Vec<(Uuid, Fingerprint, LetterId)>,
}

impl Unsettled {
    /// Locks the rows of this queue: of two processes that are redelivered equal messages only one may use an entry.
    pub(super) async fn load(tx: &mut Tx, broker: &str, queue: &str) -> Result<Self, StoreError> {
        const LOAD: Sql = Sql {
            sqlite: "SELECT id, entries FROM unsettled_batches WHERE broker = $1 AND queue = $2",
            postgres: "SELECT id, entries FROM unsettled_batches WHERE broker = $1 AND queue = $2 ORDER BY id FOR UPDATE",
        };
        let sql = LOAD.pick(tx);
        let rows: Vec<Row> = on!(tx, |tx| sqlx::query_as(sql).bind(broker).bind(queue).fetch_all(&mut **tx).await?);
        let mut unsettled = Self::default();
        for row in rows {
            for (fingerprint, letter) in entries(&row.entries) {
                unsettled.letters.entry(fingerprint).or_default().push((row.id, letter));
            }
        }
        Ok(unsettled)
    }

    /// The letter that a redelivered message already is.
    pub(super) fn take(&mut self, fingerprint: Fingerprint, has_message_id: bool) -> Option<LetterId> {
        let letters = self.letters.get_mut(&fingerprint)?;
        if letters.len() > 1 && !has_message_id {
            return None;
        }
        let (batch, letter) = letters.pop()?;
        self.used.push((batch, fingerprint, letter));
        Some(letter)
    }

    /// Takes the used entries out of their rows: each stands for one delivery.
    pub(super) async fn save(self, tx: &mut Tx) -> Result<(), StoreError> {
        const LOAD: &str = "SELECT entries FROM unsettled_batches WHERE id = $1";
        const SAVE: &str = "UPDATE unsettled_batches SET entries = $1 WHERE id = $2";
        let mut by_batch: HashMap<Uuid, Vec<(Fingerprint, LetterId)>> = HashMap::new();
        for (batch, fingerprint, letter) in self.used {
            by_batch.entry(batch).or_default().push((fingerprint, letter));
        }
        for (batch, used) in by_batch {
            let bytes: Vec<u8> = on!(&mut *tx, |tx| sqlx::query_scalar(LOAD).bind(batch).fetch_one(&mut **tx).await?);
            let left: Vec<u8> = entries(&bytes).filter(|entry| !used.contains(entry)).flat_map(encode).collect();
            on!(&mut *tx, |tx| sqlx::query(SAVE).bind(left).bind(batch).execute(&mut **tx).await.map(drop)?);
        }
        Ok(())
    }
}

fn entries(bytes: &[u8]) -> impl Iterator<Item = (Fingerprint, LetterId)> {
    bytes.as_chunks::<ENTRY>().0.iter().map(|entry| {
        let (fingerprint, id) = (u128_at(entry, 0), u128_at(entry, ENTRY / 2));
        (Fingerprint(fingerprint), LetterId::from_uuid(Uuid::from_u128(id)))
    })
}

fn u128_at(entry: &[u8; ENTRY], at: usize) -> u128 {
    entry[at..at + ENTRY / 2].iter().fold(0, |number, byte| number << 8 | u128::from(*byte))
}

fn encode((fingerprint, letter): (Fingerprint, LetterId)) -> impl Iterator<Item = u8> {
    fingerprint.0.to_be_bytes().into_iter().chain(letter.as_uuid().into_bytes())
}

/// Leaves the row of a batch behind.
pub(super) async fn remember(
    tx: &mut Tx,
    batch: &IntakeBatch<'_>,
    recorded: impl Iterator<Item = (Fingerprint, LetterId)>,
) -> Result<(), StoreError> {
    const REMEMBER: &str =
        "INSERT INTO unsettled_batches (id, broker, queue, recorded_at, entries) VALUES ($1, $2, $3, $4, $5)";
    let entries: Vec<u8> = recorded.flat_map(encode).collect();
    on!(tx, |tx| sqlx::query(REMEMBER)
        .bind(batch.id)
        .bind(batch.broker)
        .bind(batch.queue)
        .bind(batch.recorded_at.as_micros())
        .bind(entries)
        .execute(&mut **tx)
        .await
        .map(drop)?);
    Ok(())
}

pub(super) async fn forget(tx: &mut Tx, batches: Settled<'_>) -> Result<(), StoreError> {
    if batches.is_empty() {
        return Ok(());
    }
    on!(tx, |tx| {
        let mut delete = QueryBuilder::new("DELETE FROM unsettled_batches WHERE id IN (");
        let mut ids = delete.separated(", ");
        for batch in batches {
            ids.push_bind(*batch);
        }
        delete.push(")");
        delete.build().execute(&mut **tx).await?;
    });
    Ok(())
}

impl Store {
    /// Forgets batches whose acknowledgements the broker has seen, when no further batch takes them along.
    pub async fn settle(&self, batches: Settled<'_>) -> Result<(), StoreError> {
        let mut tx = self.db.begin().await?;
        forget(&mut tx, batches).await?;
        tx.commit().await
    }

    /// Forgets rows that some process left behind before `then` when it died after its acknowledgement.
    pub async fn forget_unsettled_before(&self, then: Timestamp) -> Result<(), StoreError> {
        const FORGET: &str = "DELETE FROM unsettled_batches WHERE recorded_at < $1";
        on!(self.db.writer(), |pool| sqlx::query(FORGET).bind(then.as_micros()).execute(pool).await.map(drop)?);
        Ok(())
    }
}
