//! What can be found of a letter: what is shown of it where nothing is revealed.

use std::panic::{AssertUnwindSafe, catch_unwind};

use amqp_message::field::{FieldTable, FieldValue};
use payload_codec::{
    Limits,
    json::{self, Kind, Node},
    message::MASK,
};

use crate::{
    domain::{
        letter::Letter,
        search::{
            Area,
            document::{Bounds, Document},
        },
    },
    services::decoding::{
        confirmed::Confirmed,
        reader::Reader,
        reading::{Content, Library, Reading},
        scrub::scrub_error,
    },
};

/// What RabbitMQ writes itself: names of queues and exchanges, which have fields of their own.
const LEFT_OUT: [&str; 4] = ["x-death", "x-first-death-exchange", "x-first-death-queue", "x-first-death-reason"];

/// `None` where it cannot be read by a fault of ours.
pub(super) fn document(
    reader: &Reader,
    library: &Library,
    letter: &Letter,
    confirmed: &Confirmed,
    bounds: &Bounds,
) -> Option<Document> {
    let read = || {
        let (shown, reading) = reader.shown(library, letter, confirmed);
        let mut document = Collected { document: Document::default(), bounds };
        document.add_all(&shown, letter, &reading);
        document.document
    };
    catch_unwind(AssertUnwindSafe(read))
        .inspect_err(|_| {
            tracing::error!(letter = %letter.summary.id, "a dead letter could not be decoded for searches; please report this");
        })
        .ok()
}

struct Collected<'a> {
    document: Document,
    bounds: &'a Bounds,
}

impl Collected<'_> {
    /// The most telling first, and what is long last: there is only so much room. `shown` is the letter without what is
    /// hidden in it.
    fn add_all(&mut self, shown: &Letter, letter: &Letter, reading: &Reading) {
        let error = failure_conventions::read(&letter.message).failure.error;
        let error = error.map(|error| scrub_error(error, &reading.hidden_values)).unwrap_or_default();
        let summary = &shown.summary;
        let kind = error.kind.as_ref().or(summary.error_type.as_ref());
        let message = error.message.as_ref().or(summary.error_message.as_ref());
        for text in kind.into_iter().chain(message) {
            self.text(Area::Error, text);
        }
        self.payload(reading);
        let repeating: Vec<&str> = failure_conventions::repeats_body(&shown.message.headers).collect();
        let quoted = [&error.message, &error.stacktrace];
        for (name, value) in shown.message.headers.iter().filter(|(name, _)| !LEFT_OUT.contains(name)) {
            if quoted.iter().any(|text| text.is_some() && text.as_deref() == value.as_str()) {
                continue;
            }
            // What is withheld with the payload must not be found by a header either.
            let area = if repeating.contains(&name) { Area::Payload } else { Area::Headers };
            self.header(area, &format!("header.{name}"), value);
        }
        let properties = &shown.message.properties;
        let named = [&properties.message_id, &properties.correlation_id, &properties.kind, &properties.app_id];
        named.into_iter().flatten().for_each(|text| self.text(Area::Headers, text));
        if let Some(trace) = &error.stacktrace {
            self.text(Area::Stack, trace);
        }
    }

    fn payload(&mut self, reading: &Reading) {
        match &reading.content {
            Content::Json(text) => {
                let limits = Limits::default();
                if let Ok(node) = json::read(text, limits.elements, limits.depth) {
                    self.node(&mut "payload".to_owned(), &node);
                }
            }
            Content::Text(text) => self.text(Area::Payload, text),
            Content::Binary | Content::Hidden(_) => {}
        }
    }

    /// A path has no indexes.
    fn node(&mut self, path: &mut String, node: &Node<'_>) {
        match &node.kind {
            Kind::Array(nodes) => nodes.iter().for_each(|node| self.node(path, node)),
            Kind::Object(members) => {
                for member in members {
                    let outer = path.len();
                    path.push('.');
                    path.push_str(&member.key);
                    self.node(path, &member.value);
                    path.truncate(outer);
                }
            }
            Kind::Null => {}
            Kind::Bool(value) => self.value(Area::Payload, path, if *value { "true" } else { "false" }),
            Kind::Number(text) | Kind::Text(text) => self.value(Area::Payload, path, text),
        }
    }

    fn header(&mut self, area: Area, path: &str, field: &FieldValue) {
        let text = match field {
            FieldValue::Table(table) => return self.table(area, path, table),
            FieldValue::Array(fields) => return fields.iter().for_each(|field| self.header(area, path, field)),
            FieldValue::LongString(bytes) => String::from_utf8_lossy(bytes).into_owned(),
            FieldValue::Boolean(value) => value.to_string(),
            FieldValue::Float(bits) => f32::from_bits(*bits).to_string(),
            FieldValue::Double(bits) => f64::from_bits(*bits).to_string(),
            FieldValue::Timestamp(seconds) => seconds.to_string(),
            FieldValue::ByteArray(_) | FieldValue::Void | FieldValue::Decimal { .. } => return,
            number => number.as_i64().map(|number| number.to_string()).unwrap_or_default(),
        };
        self.value(area, path, &text);
    }

    fn table(&mut self, area: Area, path: &str, table: &FieldTable) {
        for (name, field) in table.iter() {
            self.header(area, &format!("{path}.{name}"), field);
        }
    }

    /// A mark of what is hidden says nothing.
    fn value(&mut self, area: Area, path: &str, text: &str) {
        if !text.starts_with(MASK) {
            self.document.add_value(area, path, text, self.bounds);
        }
    }

    fn text(&mut self, area: Area, text: &str) {
        self.document.add_text(area, text, self.bounds);
    }
}
