//! Letters as the API shows them.

use std::collections::BTreeMap;

use amqp_message::{
    error_report::ErrorReport,
    json::{deaths_to_json, properties_to_json, table_to_json},
};
use failure_conventions;
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;
use uuid::Uuid;

use super::payload::ReadPayload;
use super::words;
use crate::{
    domain::{
        access::Right,
        column::Column,
        group::GroupId,
        history::HistoryEntry,
        letter::{Letter, LetterId, LetterSummary},
    },
    services::decoding::{reading::Reading, scrub::scrub_error},
    web::{view::time::timestamp, visitor::Visitor},
};

/// A letter without its contents, as lists have it.
#[derive(Serialize, ToSchema)]
pub struct LetterItem {
    id: Uuid,
    broker: String,
    /// The queue it failed in; null where nothing says so.
    queue: Option<String>,
    /// Where it was first published, as far as that is known.
    exchange: String,
    routing_key: String,
    /// `rejected`, `expired`, `maxlen`, `delivery_limit` or `unknown`
    #[schema(value_type = words::Reason)]
    reason: &'static str,
    /// What the consumer recorded; null where it recorded nothing.
    error: Option<LetterError>,
    /// How often it has failed, the tries that its framework made by itself included.
    attempts: u64,
    /// How often dlo has seen it fail; that decides which delay of its policy is the next.
    rounds: u64,
    #[schema(format = DateTime)]
    first_failed_at: Option<String>,
    #[schema(format = DateTime)]
    last_failed_at: String,
    #[schema(format = DateTime)]
    received_at: String,
    #[schema(format = DateTime)]
    retry_at: Option<String>,
    /// `open`, `scheduled`, `retried` or `discarded`
    #[schema(value_type = words::Status)]
    status: &'static str,
    /// `critical`, `high`, `normal` or `low`
    #[schema(value_type = words::Importance)]
    importance: &'static str,
    /// `rule:<name>`, `manual` or `default`
    importance_by: String,
    /// What the message is, where it is a call of a task framework: `billing.charge(order=42)`. Hidden values are not in
    /// it. Null for any other, until that is found out, and for a token without the scope `payload`.
    title: Option<String>,
    #[schema(example = "acme.texts.v1.Text")]
    message_type: Option<String>,
    #[schema(value_type = Option<words::TypeSource>)]
    type_source: Option<String>,
    type_confidence: Option<f64>,
    /// What failed like it; null until that is found out, a moment after it came in.
    group: Option<Uuid>,
    /// Bytes of the body.
    size: u64,
    note: Option<String>,
    /// What went wrong with the last retry, when something did.
    problem: Option<String>,
    /// The letter it is an edited copy of.
    edited_from: Option<Uuid>,
    /// The edited copy that was made of it last; never are both sent.
    replaced_by: Option<Uuid>,
    /// What it says in the fields that `column` asks for, in one line of 80 characters at most; null where it says nothing
    /// there. Null where none is asked for.
    #[schema(example = json!({"payload.customer.name": "Zoë Ångström"}))]
    columns: Option<BTreeMap<String, Option<String>>>,
}

impl From<LetterSummary> for LetterItem {
    fn from(letter: LetterSummary) -> Self {
        Self {
            id: letter.id.as_uuid(),
            broker: letter.broker,
            queue: letter.queue,
            exchange: letter.exchange,
            routing_key: letter.routing_key,
            reason: letter.reason.as_str(),
            error: LetterError::listed(letter.error_type, letter.error_message),
            attempts: letter.attempts,
            rounds: letter.rounds,
            first_failed_at: letter.first_failed_at.map(timestamp),
            last_failed_at: timestamp(letter.last_failed_at),
            received_at: timestamp(letter.received_at),
            retry_at: letter.retry_at.map(timestamp),
            status: letter.status.as_str(),
            importance: letter.importance.as_str(),
            importance_by: letter.importance_by,
            title: letter.title,
            message_type: letter.message_type,
            type_source: letter.type_source.map(|source| source.as_str().to_owned()),
            type_confidence: letter.type_confidence,
            group: letter.group.map(GroupId::as_uuid),
            size: letter.size,
            note: letter.note,
            problem: letter.problem,
            edited_from: letter.edited_from.map(LetterId::as_uuid),
            replaced_by: letter.replaced_by.map(LetterId::as_uuid),
            columns: None,
        }
    }
}

impl LetterItem {
    /// With what it says in columns, in their order.
    pub fn telling(self, columns: &[Column], said: Vec<String>) -> Self {
        let said = said.into_iter().map(|text| Some(text).filter(|text| !text.is_empty()));
        let said = columns.iter().map(Column::to_string).zip(said.chain(std::iter::repeat(None)));
        Self { columns: (!columns.is_empty()).then(|| said.collect()), ..self }
    }

    /// With the type as it is known now: the database learns of a change a little later. A body that is too large is not
    /// looked at again.
    fn named_by(mut self, reading: &Reading) -> Self {
        if reading.is_unread {
            return self;
        }
        let named = reading.named.as_ref();
        self.message_type = named.map(|named| named.name.clone());
        self.type_source = named.map(|named| named.source.as_str().to_owned());
        self.type_confidence = named.and_then(|named| named.confidence);
        self
    }
}

/// What went wrong, as the consumer says. Lists have the first 1,000 characters and no stack trace.
#[derive(Serialize, ToSchema)]
struct LetterError {
    r#type: Option<String>,
    message: Option<String>,
    stacktrace: Option<String>,
}

impl LetterError {
    fn listed(kind: Option<String>, message: Option<String>) -> Option<Self> {
        (kind.is_some() || message.is_some()).then_some(Self { r#type: kind, message, stacktrace: None })
    }
}

impl From<ErrorReport> for LetterError {
    fn from(error: ErrorReport) -> Self {
        Self { r#type: error.kind, message: error.message, stacktrace: error.stacktrace }
    }
}

/// A letter with everything that is known of it.
#[derive(Serialize, ToSchema)]
pub struct FullLetter {
    #[serde(flatten)]
    item: LetterItem,
    /// The properties that are set, by their AMQP names.
    #[schema(value_type = Object)]
    properties: Value,
    /// Strings, booleans and null as they are; any other type as `{"t": type, "v": value}`. An object, or a list of
    /// `[name, value]` where names come twice or out of order.
    headers: Value,
    /// The entries of `x-death` as RabbitMQ sent them, newest first.
    #[schema(value_type = Vec<Object>)]
    deaths: Value,
    payload: ReadPayload,
    /// The framework it was recognised as one of.
    framework: Option<&'static str>,
    /// Why it is not retried to the queue it failed in, whoever asks; null where it may be.
    retry_refused: Option<String>,
    /// Oldest first.
    history: Vec<Entry>,
    /// What the app has to say about how the message came in.
    remarks: Vec<String>,
}

impl FullLetter {
    pub fn new(letter: Letter, reading: &Reading, history: Vec<HistoryEntry>, retry_refused: Option<String>) -> Self {
        let sees_payload = Visitor::current().is_none_or(|visitor| visitor.may(Right::Payload));
        let account = failure_conventions::read(&letter.message);
        let item = LetterItem::from(letter.summary).named_by(reading);
        Self {
            framework: account.framework,
            retry_refused,
            properties: properties_to_json(&letter.message.properties),
            headers: table_to_json(&letter.message.headers),
            deaths: deaths_to_json(&letter.deaths),
            payload: if sees_payload { ReadPayload::new(reading) } else { ReadPayload::withheld(reading) },
            history: history.into_iter().map(Entry::from).collect(),
            remarks: letter.remarks,
            item: LetterItem {
                error: account.failure.error.map(|error| scrub_error(error, &reading.hidden_values).into()),
                ..item
            },
        }
    }
}

/// Something that happened to a letter.
#[derive(Serialize, ToSchema)]
struct Entry {
    #[schema(format = DateTime)]
    at: String,
    #[schema(value_type = words::Event)]
    event: &'static str,
    by: String,
    detail: String,
}

impl From<HistoryEntry> for Entry {
    fn from(entry: HistoryEntry) -> Self {
        Self {
            at: timestamp(entry.at),
            event: entry.event.as_str(),
            by: entry.by.as_str().to_owned(),
            detail: entry.detail,
        }
    }
}
