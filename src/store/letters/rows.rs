//! Rows as they are stored, and the way back to the domain.

use std::str::FromStr;

use amqp_message::{death::Death, field::FieldTable, json, message::Message, time::Timestamp, xdeath};
use failure_conventions::identity;
use serde::{Deserialize, Serialize};
use sqlx_macros::FromRow;
use uuid::Uuid;

use crate::{
    domain::{
        actor::Actor,
        group::GroupId,
        history::HistoryEntry,
        job::Job,
        letter::{Letter, LetterId, LetterSummary},
    },
    store::StoreError,
};

/// The columns of [`SummaryRow`], from letters `l`, facets `f` and retries `r`.
pub(crate) const SUMMARY_COLUMNS: &str = "l.id, f.broker, f.queue, l.exchange, l.routing_key, f.reason, l.attempts, l.rounds,
    l.first_failed_at, l.last_failed_at, l.received_at, r.due_at AS retry_at, f.status, f.importance, l.importance_by,
    l.size, l.error_type, l.error_message, l.title, l.message_type, l.type_source, l.type_confidence, l.group_id, l.danger,
    l.note, l.problem, l.edited_from, l.replaced_by,
    (SELECT t.telling FROM search_index t WHERE t.letter_id = l.id) AS telling";

#[derive(FromRow)]
pub(crate) struct SummaryRow {
    id: Uuid,
    broker: String,
    queue: String,
    exchange: String,
    routing_key: String,
    reason: String,
    attempts: i64,
    rounds: i64,
    first_failed_at: Option<i64>,
    last_failed_at: i64,
    received_at: i64,
    retry_at: Option<i64>,
    status: String,
    importance: String,
    importance_by: String,
    size: i64,
    error_type: Option<String>,
    error_message: Option<String>,
    title: Option<String>,
    message_type: Option<String>,
    type_source: Option<String>,
    type_confidence: Option<f64>,
    group_id: Option<Uuid>,
    danger: Option<String>,
    note: Option<String>,
    problem: Option<String>,
    edited_from: Option<Uuid>,
    replaced_by: Option<Uuid>,
    telling: Option<String>,
}

impl TryFrom<SummaryRow> for LetterSummary {
    type Error = StoreError;

    fn try_from(row: SummaryRow) -> Result<Self, StoreError> {
        Ok(Self {
            id: LetterId::from_uuid(row.id),
            broker: row.broker,
            queue: Some(row.queue).filter(|queue| !queue.is_empty()),
            exchange: row.exchange,
            routing_key: row.routing_key,
            reason: parse("a reason", &row.reason)?,
            error_type: row.error_type,
            error_message: row.error_message,
            title: row.title,
            message_type: row.message_type,
            type_source: row.type_source.as_deref().map(|word| parse("a source of a type", word)).transpose()?,
            type_confidence: row.type_confidence,
            group: row.group_id.map(GroupId::from_uuid),
            attempts: row.attempts.unsigned_abs(),
            rounds: row.rounds.unsigned_abs(),
            first_failed_at: row.first_failed_at.map(Timestamp::from_micros),
            last_failed_at: Timestamp::from_micros(row.last_failed_at),
            received_at: Timestamp::from_micros(row.received_at),
            retry_at: row.retry_at.map(Timestamp::from_micros),
            status: parse("a status", &row.status)?,
            importance: parse("an importance", &row.importance)?,
            importance_by: row.importance_by,
            size: row.size.unsigned_abs(),
            note: row.note,
            problem: row.problem,
            danger: row.danger.as_deref().map(|word| parse("a danger", word)).transpose()?,
            edited_from: row.edited_from.map(LetterId::from_uuid),
            replaced_by: row.replaced_by.map(LetterId::from_uuid),
            telling: row.telling.as_deref().and_then(|text| serde_json::from_str(text).ok()),
        })
    }
}

#[derive(FromRow)]
pub(crate) struct ContentsRow {
    pub(crate) letter_id: Uuid,
    exchange: String,
    routing_key: String,
    properties: String,
    headers: String,
    earlier_deaths: String,
    remarks: String,
    pub(crate) body: Vec<u8>,
}

impl ContentsRow {
    /// Whether `message` brings the same, though its framework may have wrapped it in another way.
    pub(crate) fn is_same_body(&self, message: &Message) -> bool {
        let differs_only_in_encoding = || {
            let kept = self.without_body().map(|kept| Message { body: self.body.clone(), ..kept });
            kept.is_ok_and(|kept| failure_conventions::is_same_body(&kept, message))
        };
        self.body == message.body || differs_only_in_encoding()
    }

    /// The same by its body or, where that has changed, by its id.
    pub(crate) fn is_same(&self, message: &Message) -> bool {
        let has_same_id = || self.without_body().is_ok_and(|kept| identity::have_same_id(&kept, message));
        self.is_same_body(message) || has_same_id()
    }

    pub(crate) fn into_message(self) -> Result<Message, StoreError> {
        let message = self.without_body()?;
        Ok(Message { body: self.body, ..message })
    }

    fn without_body(&self) -> Result<Message, StoreError> {
        Ok(Message {
            properties: json::properties_from_json(&json("properties", &self.properties)?)
                .map_err(unreadable("properties"))?,
            headers: self.headers()?,
            exchange: self.exchange.clone(),
            routing_key: self.routing_key.clone(),
            body: Vec::new(),
        })
    }

    /// Newest first; of earlier rounds the headers no longer tell.
    pub(crate) fn deaths(&self) -> Result<Vec<Death>, StoreError> {
        let earlier = json::deaths_from_json(&json("deaths", &self.earlier_deaths)?);
        let mut deaths = xdeath::deaths(&self.headers()?);
        deaths.extend(earlier.map_err(unreadable("deaths"))?);
        Ok(deaths)
    }

    /// What could not be kept of it, from whenever that was.
    pub(crate) fn losses(&self) -> Result<Vec<String>, StoreError> {
        let lost = |remark| match remark {
            Remark::Loss { lost } => Some(lost),
            Remark::Once(_) => None,
        };
        Ok(self.remarks()?.into_iter().filter_map(lost).collect())
    }

    fn remarks(&self) -> Result<Vec<Remark>, StoreError> {
        serde_json::from_str(&self.remarks).map_err(|error| unreadable("remarks")(error.to_string()))
    }

    fn headers(&self) -> Result<FieldTable, StoreError> {
        json::table_from_json(&json("headers", &self.headers)?).map_err(unreadable("headers"))
    }

    pub(crate) fn into_letter(self, summary: LetterSummary) -> Result<Letter, StoreError> {
        let deaths = self.deaths()?;
        let remarks = self.remarks()?.into_iter().map(Remark::into_text).collect();
        Ok(Letter { summary, message: self.into_message()?, deaths, remarks })
    }
}

#[derive(FromRow)]
pub(crate) struct HistoryRow {
    at: i64,
    event: String,
    actor: String,
    detail: String,
}

impl TryFrom<HistoryRow> for HistoryEntry {
    type Error = StoreError;

    fn try_from(row: HistoryRow) -> Result<Self, StoreError> {
        Ok(Self {
            at: Timestamp::from_micros(row.at),
            event: parse("an event", &row.event)?,
            by: Actor::named(row.actor),
            detail: row.detail,
        })
    }
}

#[derive(FromRow)]
pub(crate) struct JobRow {
    pub(crate) id: Uuid,
    action: String,
    state: String,
    total: i64,
    done: i64,
    failed: i64,
    skipped: i64,
    errors: String,
}

impl TryFrom<JobRow> for Job {
    type Error = StoreError;

    fn try_from(row: JobRow) -> Result<Self, StoreError> {
        Ok(Self {
            id: row.id,
            action: row.action,
            state: parse("a job's state", &row.state)?,
            total: row.total.unsigned_abs(),
            done: row.done.unsigned_abs(),
            failed: row.failed.unsigned_abs(),
            skipped: row.skipped.unsigned_abs(),
            errors: serde_json::from_str(&row.errors).map_err(|error| unreadable("errors")(error.to_string()))?,
        })
    }
}

/// Reads one of the contract's fixed words.
pub(crate) fn parse<T: FromStr<Err = String>>(what: &'static str, text: &str) -> Result<T, StoreError> {
    text.parse().map_err(unreadable(what))
}

/// Counts and sizes are u64 to us and BIGINT to the databases.
pub(crate) fn bigint(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// A remark as it is kept.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Remark {
    /// It is about the last time that the message came in.
    Once(String),
    /// It stays.
    Loss { lost: String },
}

impl Remark {
    fn into_text(self) -> String {
        let (Self::Once(text) | Self::Loss { lost: text }) = self;
        text
    }
}

/// The remarks on an arrival, of which those that are in `losses` stay when it comes back.
pub(crate) fn remarks_to_string(losses: &[String], remarks: &[String]) -> String {
    let losses = losses.iter().map(|lost| Remark::Loss { lost: lost.clone() });
    let all: Vec<Remark> = losses.chain(remarks.iter().cloned().map(Remark::Once)).collect();
    serde_json::to_string(&all).unwrap_or_else(|_| "[]".to_owned())
}

fn json(what: &'static str, text: &str) -> Result<serde_json::Value, StoreError> {
    serde_json::from_str(text).map_err(|error| unreadable(what)(error.to_string()))
}

fn unreadable(what: &'static str) -> impl Fn(String) -> StoreError {
    move |why| StoreError::Unreadable { what, why }
}
