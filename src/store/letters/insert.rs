//! Writing new letters, many at once.

use std::borrow::Cow;

use amqp_message::{json, time::Timestamp};
use failure_conventions::danger::Danger;

use super::{
    intake::Arrival,
    rows::{bigint, remarks_to_string},
};
use crate::{
    domain::{
        letter::LetterId,
        lifecycle::{
            Transition,
            failures::{self, FailedMessage},
        },
        policy::{Delays, Via},
    },
    store::{
        StoreError,
        counts::facets::{FacetId, FacetKey},
        db::{
            Tx,
            columns::{self, Column},
        },
    },
};

/// Rows that are written at a time.
const CHUNK: usize = 1_000;

/// What waits in RabbitMQ has failed so often when it comes here: no policy grants more retries.
const MOST_ROUNDS: u64 = Delays::MAX_RETRIES as u64 + 1;

/// A letter that is not in the database yet.
pub(super) struct NewLetter<'a> {
    pub(super) id: LetterId,
    pub(super) arrival: &'a Arrival,
    /// Its first.
    pub(super) transition: Transition<'a>,
    /// How often dlo has seen it fail, as far as that is believed.
    rounds: u64,
    /// It says that it is a letter that is not known.
    is_unknown: bool,
}

impl<'a> NewLetter<'a> {
    pub(super) fn new(id: LetterId, arrival: &'a Arrival) -> Self {
        let is_another = arrival.returning.is_some_and(|claimed| claimed != id);
        let message = FailedMessage { is_another, ..arrival.failed_message() };
        let rounds = message.rounds.min(MOST_ROUNDS);
        let message = FailedMessage { rounds, ..message };
        // What waits in RabbitMQ is not known here.
        let is_waited_for = arrival.decision.as_ref().is_some_and(|decision| decision.via() == Via::Database);
        Self {
            id,
            arrival,
            rounds,
            transition: failures::received(message, arrival.importance),
            is_unknown: arrival.returning == Some(id) && is_waited_for,
        }
    }

    fn remarks(&self) -> String {
        let mut remarks = Cow::Borrowed(&self.arrival.remarks);
        if self.rounds < self.arrival.failure.rounds {
            remarks.to_mut().push(format!(
                "its headers say that dlo saw it fail {} times, which is not believed of a message that is not known beyond {}",
                self.arrival.failure.rounds, self.rounds
            ));
        }
        if self.is_unknown {
            remarks.to_mut().push(format!(
                "its headers say that it was sent back {} times before, as the dead letter {}, which is not known (any more)",
                self.arrival.failure.rounds.saturating_sub(1),
                self.id
            ));
        }
        remarks_to_string(&self.arrival.losses, &remarks)
    }

    pub(super) fn facet(&self, broker: &str) -> FacetKey {
        self.arrival.facet(broker, &self.transition)
    }
}

/// Inserts letters with their contents, each into its facet.
pub(super) async fn insert(tx: &mut Tx, rows: &[(FacetId, &NewLetter<'_>)]) -> Result<(), StoreError> {
    for chunk in rows.chunks(CHUNK) {
        insert_letters(tx, chunk).await?;
        insert_contents(tx, chunk).await?;
    }
    Ok(())
}

async fn insert_letters(tx: &mut Tx, rows: &[(FacetId, &NewLetter<'_>)]) -> Result<(), StoreError> {
    const INSERT: [&str; 2] = [
        "WITH new (id, facet_id, at, first_failed_at, last_failed_at, exchange, routing_key, attempts, rounds, importance_by,
            size, handed_over_at, error_type, error_message, message_type, danger, content, id_key) AS (",
        ") INSERT INTO letters (id, facet_id, received_at, first_received_at, first_failed_at, last_failed_at,
            exchange, routing_key, attempts, rounds, importance_by, size, handed_over_at, error_type, error_message,
            message_type, type_source, danger, content, id_key)
        SELECT id, facet_id, at, at, first_failed_at, last_failed_at, exchange, routing_key, attempts, rounds, importance_by,
            size, handed_over_at, error_type, error_message, message_type,
            CASE WHEN message_type IS NOT NULL THEN 'header' END, danger, content, id_key FROM new",
    ];
    let columns = vec![
        Column::ids(rows, |(_, letter)| letter.id.as_uuid()),
        Column::numbers(rows, |(facet, _)| facet.0),
        Column::numbers(rows, |(_, letter)| letter.arrival.received_at.as_micros()),
        Column::numbers(rows, |(_, letter)| letter.arrival.failure.first_failed_at.map(Timestamp::as_micros)),
        Column::numbers(rows, |(_, letter)| letter.arrival.failed_at().as_micros()),
        Column::texts(rows, |(_, letter)| &*letter.arrival.failure.exchange),
        Column::texts(rows, |(_, letter)| &*letter.arrival.failure.routing_key),
        Column::numbers(rows, |(_, letter)| bigint(letter.arrival.failure.attempts)),
        Column::numbers(rows, |(_, letter)| bigint(letter.rounds)),
        Column::texts(rows, |(_, letter)| letter.arrival.importance_by),
        Column::numbers(rows, |(_, letter)| bigint(letter.arrival.message.body.len() as u64)),
        Column::numbers(rows, |(_, letter)| letter.transition.columns.handed_over_at.map(Timestamp::as_micros)),
        Column::perhaps_texts(rows, |(_, letter)| letter.arrival.error_type()),
        Column::perhaps_texts(rows, |(_, letter)| letter.arrival.error_message()),
        Column::perhaps_texts(rows, |(_, letter)| letter.arrival.failure.message_type.as_deref()),
        Column::perhaps_texts(rows, |(_, letter)| letter.arrival.failure.danger.map(Danger::as_str)),
        Column::numbers(rows, |(_, letter)| letter.arrival.content.0),
        Column::numbers(rows, |(_, letter)| letter.arrival.id_key.map(|key| key.0)),
    ];
    columns::execute(tx, INSERT, columns).await
}

async fn insert_contents(tx: &mut Tx, rows: &[(FacetId, &NewLetter<'_>)]) -> Result<(), StoreError> {
    const INSERT: [&str; 2] = [
        "WITH new (id, exchange, routing_key, properties, headers, remarks, body) AS (",
        ") INSERT INTO contents (letter_id, exchange, routing_key, properties, headers, earlier_deaths, remarks, body)
        SELECT id, exchange, routing_key, properties, headers, '[]', remarks, body FROM new",
    ];
    let columns = vec![
        Column::ids(rows, |(_, letter)| letter.id.as_uuid()),
        Column::texts(rows, |(_, letter)| &*letter.arrival.message.exchange),
        Column::texts(rows, |(_, letter)| &*letter.arrival.message.routing_key),
        Column::texts(rows, |(_, letter)| json::properties_to_string(&letter.arrival.message.properties)),
        Column::texts(rows, |(_, letter)| json::table_to_string(&letter.arrival.message.headers)),
        Column::texts(rows, |(_, letter)| letter.remarks()),
        Column::bytes(rows, |(_, letter)| &letter.arrival.message.body),
    ];
    columns::execute(tx, INSERT, columns).await
}
