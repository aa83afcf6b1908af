//! What is known of the deliveries of one queue that are stored and perhaps not acknowledged. How they are told apart stands in
//! [`delivery_dedup`](super::delivery_dedup).

use std::collections::{HashMap, HashSet};

use sqlx::QueryBuilder;
use sqlx_macros::FromRow;
use uuid::Uuid;

use super::{
    delivery_entries::{Entry, encode, marked_entries},
    intake::{Arrival, Fingerprint, IntakeBatch},
    rows::parse,
};
use crate::{
    domain::{letter::LetterId, lifecycle::recognition::is_away},
    store::{
        StoreError,
        db::{Either, Tx, id_list::push_ids, on},
    },
};

#[derive(FromRow)]
struct Row {
    id: Uuid,
    session: Uuid,
    confirmed: bool,
    entries: Vec<u8>,
    /// Of the first so many entries.
    redelivered: i64,
}

/// A delivery that is committed here.
struct Known {
    batch: Uuid,
    fingerprint: Fingerprint,
    letter: LetterId,
    confirmed: bool,
    redelivered: bool,
    /// It came by the connection of the arrivals.
    is_of_session: bool,
}

/// The deliveries of one queue that are committed and perhaps not acknowledged.
#[derive(Default)]
pub(crate) struct PendingAcks {
    /// By what stays when a message is dead-lettered at another time.
    messages: HashMap<u128, Vec<Known>>,
    /// Letters that were sent back and have not been seen since.
    away: HashSet<LetterId>,
    /// The connection of the arrivals is gone.
    is_cut: bool,
    /// It is new, and not the first one ever.
    is_first: bool,
    used: Vec<(Uuid, Fingerprint, LetterId)>,
}

impl PendingAcks {
    /// Reads the rows of the batch's queue, but for those that it settles; of its own connection only where it may repeat
    /// itself. What is redelivered uses up entries: of two processes only one may use each, and so it locks them.
    pub(crate) async fn load(tx: &mut Tx, batch: &IntakeBatch<'_>, is_cut: bool) -> Result<Self, StoreError> {
        const LOCK: &str = "SELECT id FROM pending_acks WHERE broker = $1 AND queue = $2 ORDER BY id FOR UPDATE";
        const LOAD: &str = "SELECT id, session, confirmed, entries, redelivered FROM pending_acks
            WHERE broker = $1 AND queue = $2 AND (session <> $3 OR $4) AND NOT sent_on";
        if let Either::Postgres(tx) = &mut *tx
            && batch.may_repeat()
        {
            sqlx::query(LOCK).bind(batch.broker).bind(batch.queue).execute(&mut **tx).await?;
        }
        let rows: Vec<Row> = on!(tx, |tx| sqlx::query_as(LOAD)
            .bind(batch.broker)
            .bind(batch.queue)
            .bind(batch.session)
            .bind(batch.may_repeat_itself())
            .fetch_all(&mut **tx)
            .await?);
        // Where there was no other connection nothing can be its echo.
        let is_first = batch.is_first && rows.iter().any(|row| row.session != batch.session);
        let mut pending_acks = Self { is_cut, is_first, ..Self::default() };
        for row in rows.into_iter().filter(|row| !batch.settled.expired.contains(&row.id)) {
            let confirmed = row.confirmed || batch.settled.confirmed.contains(&row.id);
            for ((fingerprint, letter), redelivered) in marked_entries(&row.entries, row.redelivered) {
                let is_of_session = row.session == batch.session;
                pending_acks.add(Known { batch: row.id, fingerprint, letter, confirmed, redelivered, is_of_session });
            }
        }
        pending_acks.away = away(tx, pending_acks.named_by(batch.arrivals)).await?;
        Ok(pending_acks)
    }

    /// The letters that entries may take arrivals for which do not name their letter themselves.
    fn named_by(&self, arrivals: &[Arrival]) -> Vec<LetterId> {
        let is_silent = |arrival: &&Arrival| {
            let may_be_known = match arrival.says_which() {
                true => self.may_be_dead_lettered_again(arrival),
                false => self.may_be_delivered_again(arrival),
            };
            may_be_known && !arrival.names_its_letter()
        };
        let silent = arrivals.iter().filter(is_silent);
        let known = silent.filter_map(|arrival| self.messages.get(&arrival.fingerprint.message())).flatten();
        known.map(|known| known.letter).collect()
    }

    /// The letter that a message already is.
    pub(crate) fn take(&mut self, arrival: &Arrival) -> Option<LetterId> {
        self.delivered_again(arrival).or_else(|| self.dead_lettered_again(arrival))
    }

    const fn may_be_delivered_again(&self, arrival: &Arrival) -> bool {
        arrival.redelivered || self.is_cut
    }

    fn delivered_again(&mut self, arrival: &Arrival) -> Option<LetterId> {
        if !self.may_be_delivered_again(arrival) {
            return None;
        }
        let known = self.messages.get_mut(&arrival.fingerprint.message())?;
        let is_same = |known: &Known| !known.is_of_session && known.fingerprint == arrival.fingerprint;
        let mut same = known.iter().filter(|known| is_same(known));
        let may_be_another = same.next().is_some_and(|known| known.confirmed) || same.next().is_some();
        if may_be_another && arrival.message.properties.message_id.is_none() {
            return None;
        }
        let stands = |known: &Known| {
            let one_is_repeated = arrival.redelivered || known.redelivered;
            is_same(known) && one_is_repeated && (arrival.says_which() || !self.away.contains(&known.letter))
        };
        let Known { batch, letter, .. } = known.remove(known.iter().rposition(stands)?);
        if arrival.redelivered {
            self.used.push((batch, arrival.fingerprint, letter));
        }
        Some(letter)
    }

    fn may_be_dead_lettered_again(&self, arrival: &Arrival) -> bool {
        self.is_first && arrival.may_be_dead_lettered_again()
    }

    /// What a service has rejected RabbitMQ may forget when it is killed, and dead-letters it once more. Our headers say that
    /// it is the failure we have, even where both came by one connection; so does an id, where nothing was sent back since.
    fn dead_lettered_again(&self, arrival: &Arrival) -> Option<LetterId> {
        if !self.may_be_dead_lettered_again(arrival) {
            return None;
        }
        let stands = |known: &&Known| {
            let is_earlier = !known.is_of_session && known.fingerprint != arrival.fingerprint;
            arrival.names_its_letter() || (is_earlier && !self.away.contains(&known.letter))
        };
        let known = self.messages.get(&arrival.fingerprint.message())?;
        known.iter().rfind(stands).map(|known| known.letter)
    }

    /// Has those after it in its batch know what an arrival is.
    pub(crate) fn found(&mut self, batch: Uuid, arrival: &Arrival, letter: LetterId) {
        if self.may_be_dead_lettered_again(arrival) {
            let (fingerprint, redelivered) = (arrival.fingerprint, arrival.redelivered);
            self.add(Known { batch, fingerprint, letter, confirmed: false, redelivered, is_of_session: true });
        }
    }

    fn add(&mut self, known: Known) {
        self.messages.entry(known.fingerprint.message()).or_default().push(known);
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
