//! What a letter says, as facts by attribute. The attributes are named as the pages name them.

use amqp_message::{
    field::{FieldTable, FieldValue},
    time::Timestamp,
};
use contrast_sets::{Document, Fact};
use failure_conventions::{clean, dlo_headers, inner_body::InnerBodies, stripped};
use payload_codec::{json::portable, message::MASK};

use crate::domain::letter::Letter;

/// What the letter said before it failed: its payload, its headers, and how it was published. How it failed has no part in
/// that, and neither have ids, of which each has its own; that there is one has.
pub(super) fn document(letter: &Letter, payload: Option<&str>, shows_payload: bool) -> Document {
    let mut document = Document::default();
    let message = clean(letter.message.clone(), &InnerBodies::default()).unwrap_or_else(|_| letter.message.clone());
    let mut text = |name: &str, value: Option<&str>| {
        if let Some(value) = value.filter(|value| !value.is_empty()) {
            document.add(name, Fact::Text(value.to_owned()));
        }
    };
    let (summary, properties) = (&letter.summary, &message.properties);
    text("exchange", Some(&summary.exchange));
    text("routing key", Some(&summary.routing_key));
    text("content type", properties.content_type.as_deref());
    text("content encoding", properties.content_encoding.as_deref());
    text("type property", properties.kind.as_deref());
    text("publisher", properties.app_id.as_deref());
    text("user", properties.user_id.as_deref());
    text("hour", summary.first_failed_at.or(Some(summary.received_at)).map(hour).as_deref());
    for (name, id) in [
        ("message id", &properties.message_id),
        ("correlation id", &properties.correlation_id),
        ("reply to", &properties.reply_to),
        ("expiration", &properties.expiration),
    ] {
        if id.is_some() {
            document.add(name, Fact::Hidden);
        }
    }
    if let Some(priority) = properties.priority {
        document.add("priority", Fact::Number(f64::from(priority)));
    }
    document.add("size", Fact::Number(summary.size as f64));
    let repeating: Vec<&str> = failure_conventions::repeats_body(&message.headers).collect();
    for (name, value) in message.headers.iter() {
        let is_own = !name.starts_with(dlo_headers::PREFIX) && !stripped::is_stripped(name);
        if is_own && (shows_payload || !repeating.contains(&name)) {
            add_header(&mut document, &format!("header.{name}"), value);
        }
    }
    let read = |payload| serde_json::from_str(payload).or_else(|_| serde_json::from_str(&portable(payload)));
    if let Some(payload) = payload.and_then(|payload| read(payload).ok()) {
        document.add_json("payload", &payload, &|text| text.starts_with(MASK));
    }
    document
}

/// `09:00 to 10:00 UTC`
fn hour(at: Timestamp) -> String {
    const HOUR: i64 = 60 * 60 * 1_000_000;
    let hour = at.as_micros().div_euclid(HOUR).rem_euclid(24);
    format!("{hour:02}:00 to {:02}:00 UTC", (hour + 1) % 24)
}

fn add_header(document: &mut Document, name: &str, value: &FieldValue) {
    let fact = match value {
        FieldValue::Table(table) => return add_table(document, name, table),
        FieldValue::Array(values) => Fact::Items(values.len()),
        FieldValue::Void => Fact::Null,
        FieldValue::Boolean(is) => Fact::Bool(*is),
        value => match value.as_str() {
            Some(text) if text.starts_with(MASK) => Fact::Hidden,
            Some(text) => Fact::Text(text.to_owned()),
            None => number(value).map_or(Fact::Hidden, Fact::Number),
        },
    };
    document.add(name, fact);
}

fn add_table(document: &mut Document, name: &str, table: &FieldTable) {
    document.add(name, if table.is_empty() { Fact::Items(0) } else { Fact::Object });
    for (inner, value) in table.iter() {
        // Tables within tables are rare, and say nothing that a glance at one letter would not.
        if !matches!(value, FieldValue::Table(_)) {
            add_header(document, &format!("{name}.{inner}"), value);
        }
    }
}

fn number(value: &FieldValue) -> Option<f64> {
    let whole = value.as_i64().map(|number| number as f64);
    whole.or(match value {
        FieldValue::Float(bits) => Some(f64::from(f32::from_bits(*bits))),
        FieldValue::Double(bits) => Some(f64::from_bits(*bits)),
        _ => None,
    })
}
