//! What a letter says, value by value. Values that are hidden, and only these, are left out.

use amqp_message::field::{FieldTable, FieldValue};
use payload_codec::{
    Limits,
    json::{self, Kind, Node},
    message::MASK,
};

use super::reading::{Content, Reading};
use crate::domain::letter::Letter;

/// Takes a path and a value there. A path has no indexes, so that one may come several times.
pub(crate) type Each<'a> = dyn FnMut(&str, &str) + 'a;

/// The values of a payload; their paths begin with `payload`.
pub(crate) fn of_payload(reading: &Reading, each: &mut Each<'_>) {
    all_of_payload(reading, &mut |path, text| unless_hidden(path, text, each));
}

/// The same, with marks in place of what is hidden.
pub(crate) fn all_of_payload(reading: &Reading, each: &mut Each<'_>) {
    let Limits { elements, depth, .. } = Limits::default();
    let Content::Json(text) = &reading.content else { return };
    let mut begin = |node: &Node<'_>| walk(&mut "payload".to_owned(), node, each);
    match json::read(text, elements, depth) {
        Ok(node) => begin(&node),
        // What few readers take is seldom; all others are read once.
        Err(_) => json::read(&json::portable(text), elements, depth).iter().for_each(begin),
    }
}

/// What RabbitMQ writes itself: names of queues and exchanges, which have fields of their own.
pub(crate) const LEFT_OUT: [&str; 4] =
    ["x-death", "x-first-death-exchange", "x-first-death-queue", "x-first-death-reason"];

/// The values of all headers, without those that repeat the body where that is withheld.
pub(crate) fn of_headers(shown: &Letter, shows_payload: bool, each: &mut Each<'_>) {
    let headers = &shown.message.headers;
    let repeating: Vec<&str> = failure_conventions::repeats_body(headers).collect();
    let is_shown = |name: &str| !LEFT_OUT.contains(&name) && (shows_payload || !repeating.contains(&name));
    headers.iter().filter(|(name, _)| is_shown(name)).for_each(|(name, value)| of_header(name, value, each));
}

/// The values of all headers, with marks in place of what is hidden.
pub(crate) fn all_of_headers(shown: &Letter, each: &mut Each<'_>) {
    shown.message.headers.iter().for_each(|(name, value)| field(&format!("header.{name}"), value, each));
}

/// The values of a header; their paths begin with `header.`.
pub(crate) fn of_header(name: &str, value: &FieldValue, each: &mut Each<'_>) {
    field(&format!("header.{name}"), value, &mut |path, text| unless_hidden(path, text, each));
}

fn walk(path: &mut String, node: &Node<'_>, each: &mut Each<'_>) {
    match &node.kind {
        Kind::Array(nodes) => nodes.iter().for_each(|node| walk(path, node, each)),
        Kind::Object(members) => {
            for member in members {
                let outer = path.len();
                path.push('.');
                path.push_str(&member.key);
                walk(path, &member.value, each);
                path.truncate(outer);
            }
        }
        Kind::Null => {}
        Kind::Bool(value) => each(path, if *value { "true" } else { "false" }),
        Kind::Number(text) | Kind::Text(text) => each(path, text),
    }
}

fn field(path: &str, value: &FieldValue, each: &mut Each<'_>) {
    let text = match value {
        FieldValue::Table(inner) => return table(path, inner, each),
        FieldValue::Array(fields) => return fields.iter().for_each(|value| field(path, value, each)),
        FieldValue::LongString(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        FieldValue::Boolean(value) => value.to_string(),
        FieldValue::Float(bits) => f32::from_bits(*bits).to_string(),
        FieldValue::Double(bits) => f64::from_bits(*bits).to_string(),
        FieldValue::Timestamp(seconds) => seconds.to_string(),
        FieldValue::ByteArray(_) | FieldValue::Void | FieldValue::Decimal { .. } => return,
        number => number.as_i64().map(|number| number.to_string()).unwrap_or_default(),
    };
    each(path, &text);
}

fn table(path: &str, table: &FieldTable, each: &mut Each<'_>) {
    for (name, value) in table.iter() {
        field(&format!("{path}.{name}"), value, each);
    }
}

pub(crate) fn is_hidden(text: &str) -> bool {
    text.starts_with(MASK)
}

/// A mark of what is hidden says nothing.
fn unless_hidden(path: &str, text: &str, each: &mut Each<'_>) {
    if !is_hidden(text) {
        each(path, text);
    }
}
