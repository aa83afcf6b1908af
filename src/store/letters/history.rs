//! What happened to letters.

use std::collections::BTreeMap;

use amqp_message::time::Timestamp;
use sqlx::QueryBuilder;

use super::rows::HistoryRow;
use crate::{
    domain::{
        activity::{Area, AuditEntry, Concerns},
        actor::Actor,
        history::{Event, HistoryEntry, in_order},
        letter::LetterId,
        lifecycle::{HistoryLine, Transition},
        rights::Right,
    },
    store::{
        Store, StoreError, StoreReader, audit,
        db::{
            Tx,
            columns::{self, Column},
            id_list::push_ids,
            on,
        },
    },
};

/// Lines in one statement.
const CHUNK: usize = 1_000;

/// One line that is about to be written.
pub(crate) struct NewEntry<'a> {
    pub(crate) letter: LetterId,
    pub(crate) at: Timestamp,
    pub(crate) event: Event,
    pub(crate) by: &'a str,
    pub(crate) detail: &'a str,
}

impl<'a> NewEntry<'a> {
    /// What the history of a letter says of a transition.
    pub(crate) fn all(letter: LetterId, transition: &'a Transition<'_>) -> impl Iterator<Item = Self> {
        let entry = move |line: &'a HistoryLine<'_>| Self {
            letter,
            at: line.at,
            event: line.event,
            by: line.by,
            detail: &line.detail,
        };
        transition.history.iter().map(entry)
    }
}

/// Each letter has one line at most.
pub(crate) async fn append(tx: &mut Tx, entries: &[NewEntry<'_>]) -> Result<(), StoreError> {
    // Most of what is done to many letters at once is the same sentence for all of them.
    let mut alike: BTreeMap<_, Vec<LetterId>> = BTreeMap::new();
    for entry in entries {
        let line = (entry.at, entry.event, entry.by, entry.detail);
        alike.entry(line).or_default().push(entry.letter);
    }
    for ((at, event, by, detail), letters) in alike {
        for chunk in letters.chunks(CHUNK) {
            on!(&mut *tx, |tx| {
                let mut insert = QueryBuilder::new("INSERT INTO history (letter_id, at, event, actor, detail) ");
                insert.push("SELECT id, ").push_bind(at.as_micros()).push(", ").push_bind(event.as_str());
                insert.push(", ").push_bind(by).push(", ").push_bind(detail).push(" FROM ");
                push_ids(&mut insert, chunk);
                insert.push(" AS letters");
                insert.build().execute(&mut **tx).await?;
            });
        }
    }
    Ok(())
}

/// The same where each line is a sentence of its own, or one letter has several: they are reported in this order.
pub(crate) async fn append_in_order(tx: &mut Tx, entries: &[NewEntry<'_>]) -> Result<(), StoreError> {
    const INSERT: [&str; 2] = ["INSERT INTO history (letter_id, at, event, actor, detail) ", ""];
    for chunk in entries.chunks(CHUNK) {
        let columns = vec![
            Column::ids(chunk, |entry| entry.letter.as_uuid()),
            Column::numbers(chunk, |entry| entry.at.as_micros()),
            Column::texts(chunk, |entry| entry.event.as_str()),
            Column::texts(chunk, |entry| entry.by),
            Column::texts(chunk, |entry| entry.detail),
        ];
        columns::execute(tx, INSERT, columns).await?;
    }
    Ok(())
}

impl Store {
    /// Writes down that somebody sees what is hidden in a letter; says whether there is such a letter for them.
    pub async fn reveal(&self, id: LetterId, by: &Actor, at: Timestamp) -> Result<bool, StoreError> {
        const FIND: &str = "SELECT f.broker, f.queue FROM letters l JOIN facets f ON f.id = l.facet_id WHERE l.id = $1";
        const REVEALED: &str = "INSERT INTO history (letter_id, at, event, actor, detail) VALUES ($1, $2, $3, $4, '')";
        let mut tx = self.db.begin().await?;
        let queue: Option<(String, String)> =
            on!(&mut tx, |tx| sqlx::query_as(FIND).bind(id.as_uuid()).fetch_optional(&mut **tx).await?);
        let is_theirs = |(broker, queue): &(String, String)| by.may_at(Right::Reveal, broker, queue);
        let Some((broker, queue)) = queue.filter(is_theirs) else { return Ok(false) };
        on!(&mut tx, |tx| sqlx::query(REVEALED)
            .bind(id.as_uuid())
            .bind(at.as_micros())
            .bind(Event::Revealed.as_str())
            .bind(by.as_str())
            .execute(&mut **tx)
            .await
            .map(drop)?);
        let entry = AuditEntry::new(at, by, Area::Letters, "reveal", id.to_string());
        let concerns = Concerns::Queue(broker, queue);
        audit::append(&mut tx, &AuditEntry { letters: 1, concerns, ..entry }).await?;
        tx.commit().await?;
        Ok(true)
    }
}

impl StoreReader {
    /// What happened to a letter, oldest first.
    ///
    /// That it came in is not written for each letter, it follows from the letter itself.
    pub async fn history(&self, id: LetterId) -> Result<Vec<HistoryEntry>, StoreError> {
        const RECEIVED: &str = "SELECT first_received_at FROM letters WHERE id = $1";
        const HISTORY: &str = "SELECT at, event, actor, detail FROM history WHERE letter_id = $1 ORDER BY seq";
        if !self.sees(id).await? {
            return Ok(Vec::new());
        }
        let received: Option<i64> =
            on!(self.db.reader(), |pool| sqlx::query_scalar(RECEIVED).bind(id.as_uuid()).fetch_optional(pool).await?);
        let rows: Vec<HistoryRow> =
            on!(self.db.reader(), |pool| sqlx::query_as(HISTORY).bind(id.as_uuid()).fetch_all(pool).await?);
        let received = received.map(|at| {
            let at = Timestamp::from_micros(at);
            Ok(HistoryEntry { at, event: Event::Received, by: Actor::system(), detail: String::new() })
        });
        let history: Vec<_> = received
            .into_iter()
            .chain(rows.into_iter().map(HistoryEntry::try_from))
            .collect::<Result<_, StoreError>>()?;
        Ok(in_order(history))
    }
}
