//! Letters as the API shows them.

use serde::Serialize;
use serde_json::{Value, value::RawValue};
use utoipa::ToSchema;
use uuid::Uuid;

use crate::{
    domain::{
        danger::Danger,
        error_report::ErrorReport,
        history::HistoryEntry,
        letter::{Letter, LetterSummary},
    },
    failure,
    typed_json::{deaths_to_json, properties_to_json, table_to_json},
    web::{
        payload::{Format, look},
        view::time::rfc3339,
    },
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
    reason: &'static str,
    /// What the consumer recorded; null where it recorded nothing.
    error: Option<LetterError>,
    attempts: u64,
    first_failed_at: Option<String>,
    last_failed_at: String,
    received_at: String,
    retry_at: Option<String>,
    /// `open`, `scheduled`, `retried` or `discarded`
    status: &'static str,
    /// `critical`, `high`, `normal` or `low`
    importance: &'static str,
    /// `rule:<name>`, `manual` or `default`
    importance_by: String,
    message_type: Option<String>,
    type_source: Option<String>,
    type_confidence: Option<f64>,
    group: Option<String>,
    /// Bytes of the body.
    size: u64,
    note: Option<String>,
    /// What went wrong with the last retry, when something did.
    problem: Option<String>,
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
            first_failed_at: letter.first_failed_at.map(rfc3339),
            last_failed_at: rfc3339(letter.last_failed_at),
            received_at: rfc3339(letter.received_at),
            retry_at: letter.retry_at.map(rfc3339),
            status: letter.status.as_str(),
            importance: letter.importance.as_str(),
            importance_by: letter.importance_by,
            message_type: letter.message_type,
            type_source: letter.type_source.map(|source| source.as_str().to_owned()),
            type_confidence: letter.type_confidence,
            group: None,
            size: letter.size,
            note: letter.note,
            problem: letter.problem,
        }
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
    payload: Payload,
    /// The framework it was recognised as one of.
    framework: Option<&'static str>,
    /// Why it is not retried, whoever asks; null where it may be.
    retry_refused: Option<&'static str>,
    /// Oldest first.
    history: Vec<Entry>,
    /// What the office has to say about how the message came in.
    remarks: Vec<String>,
}

impl FullLetter {
    pub fn new(letter: Letter, history: Vec<HistoryEntry>, danger: Option<Danger>, decode_max_bytes: u64) -> Self {
        let account = failure::read(&letter.message);
        Self {
            framework: account.framework,
            retry_refused: danger.map(Danger::clause),
            properties: properties_to_json(&letter.message.properties),
            headers: table_to_json(&letter.message.headers),
            deaths: deaths_to_json(&letter.deaths),
            payload: Payload::new(&letter, decode_max_bytes),
            history: history.into_iter().map(Entry::from).collect(),
            remarks: letter.remarks,
            item: LetterItem { error: account.failure.error.map(LetterError::from), ..letter.summary.into() },
        }
    }
}

/// What is inside the body.
#[derive(Serialize, ToSchema)]
struct Payload {
    /// What had to be unwrapped, from the outside in.
    wrapping: Vec<String>,
    /// `json`, `text` or `binary`
    format: &'static str,
    /// The very JSON that was sent; null where the body is none.
    #[schema(value_type = Option<Value>)]
    json: Option<Box<RawValue>>,
    #[schema(value_type = Vec<Object>)]
    candidates: Vec<Value>,
    /// Why nothing more could be made of it.
    problem: Option<String>,
}

impl Payload {
    fn new(letter: &Letter, decode_max_bytes: u64) -> Self {
        let found = look(&letter.message, decode_max_bytes);
        let json = found.text.filter(|_| found.format == Format::Json);
        Self {
            wrapping: Vec::new(),
            format: found.format.as_str(),
            json: json.and_then(|text| RawValue::from_string(text.to_owned()).ok()),
            candidates: Vec::new(),
            problem: found.problem,
        }
    }
}

/// Something that happened to a letter.
#[derive(Serialize, ToSchema)]
struct Entry {
    at: String,
    event: &'static str,
    by: String,
    detail: String,
}

impl From<HistoryEntry> for Entry {
    fn from(entry: HistoryEntry) -> Self {
        Self {
            at: rfc3339(entry.at),
            event: entry.event.as_str(),
            by: entry.by.as_str().to_owned(),
            detail: entry.detail,
        }
    }
}
