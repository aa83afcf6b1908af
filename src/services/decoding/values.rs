//! What a letter says, value by value. Values that are hidden, and only these, are left out.

use amqp_message::field::{FieldTable, FieldValue};
use payload_codec::{
    Limits,
    json::{self, Kind, Node},
    message::MASK,
};

use super::reading::{Content, Reading};
use crate::domain::letter::Letter;

/// Bytes of a path. What stands below a longer one is left out: nobody asks for it, and the path would be looked at
/// again for each of a hundred thousand values.
const LONGEST_PATH: usize = 1 << 10;

/// Takes a path and a value there. A path has no indexes, so that one may come several times.
pub(crate) type Each<'a> = dyn FnMut(&str, &str) + 'a;
/// The same; of an object or a list only its path.
pub(crate) type EachField<'a> = dyn FnMut(&str, Option<&str>) + 'a;

/// The values of a payload; their paths begin with `payload`.
pub(crate) fn of_payload(reading: &Reading, each: &mut Each<'_>) {
    fields_of_payload(reading, &mut only_values(each));
}

/// The same, with marks in place of what is hidden.
pub(crate) fn all_of_payload(reading: &Reading, each: &mut Each<'_>) {
    whole_payload(reading, &mut only_values(each));
}

/// The values of a payload, and its objects and lists.
pub(crate) fn fields_of_payload(reading: &Reading, each: &mut EachField<'_>) {
    whole_payload(reading, &mut unless_hidden(each));
}

fn whole_payload(reading: &Reading, each: &mut EachField<'_>) {
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
    let mut each = only_values(each);
    headers
        .iter()
        .filter(|(name, _)| is_shown(name))
        .for_each(|(name, value)| fields_of_header(name, value, &mut each));
}

/// The values of all headers, with marks in place of what is hidden.
pub(crate) fn all_of_headers(shown: &Letter, each: &mut Each<'_>) {
    let mut each = only_values(each);
    shown.message.headers.iter().for_each(|(name, value)| field(&format!("header.{name}"), value, &mut each));
}

/// The values of a header, and its tables and lists; their paths begin with `header.`.
pub(crate) fn fields_of_header(name: &str, value: &FieldValue, each: &mut EachField<'_>) {
    field(&format!("header.{name}"), value, &mut unless_hidden(each));
}

fn walk(path: &mut String, node: &Node<'_>, each: &mut EachField<'_>) {
    match &node.kind {
        Kind::Array(nodes) => {
            each(path, None);
            nodes.iter().for_each(|node| walk(path, node, each));
        }
        Kind::Object(members) => {
            each(path, None);
            let outer = path.len();
            for member in members.iter().filter(|member| is_within(outer, &member.key)) {
                path.push('.');
                path.push_str(&member.key);
                walk(path, &member.value, each);
                path.truncate(outer);
            }
        }
        Kind::Null => {}
        Kind::Bool(value) => each(path, Some(if *value { "true" } else { "false" })),
        Kind::Number(text) | Kind::Text(text) => each(path, Some(text)),
    }
}

fn field(path: &str, value: &FieldValue, each: &mut EachField<'_>) {
    let text = match value {
        FieldValue::Table(inner) => {
            each(path, None);
            return table(path, inner, each);
        }
        FieldValue::Array(fields) => {
            each(path, None);
            return fields.iter().for_each(|value| field(path, value, each));
        }
        FieldValue::LongString(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        FieldValue::Boolean(value) => value.to_string(),
        FieldValue::Float(bits) => f32::from_bits(*bits).to_string(),
        FieldValue::Double(bits) => f64::from_bits(*bits).to_string(),
        FieldValue::Timestamp(seconds) => seconds.to_string(),
        FieldValue::ByteArray(_) | FieldValue::Void | FieldValue::Decimal { .. } => return,
        number => number.as_i64().map(|number| number.to_string()).unwrap_or_default(),
    };
    each(path, Some(&text));
}

fn table(path: &str, table: &FieldTable, each: &mut EachField<'_>) {
    for (name, value) in table.iter().filter(|(name, _)| is_within(path.len(), name)) {
        field(&format!("{path}.{name}"), value, each);
    }
}

/// Whether a name behind a path of so many bytes is no longer than a path may be.
const fn is_within(outer: usize, name: &str) -> bool {
    outer + name.len() < LONGEST_PATH
}

pub(crate) fn is_hidden(text: &str) -> bool {
    text.starts_with(MASK)
}

/// A mark of what is hidden says nothing.
fn unless_hidden(each: &mut EachField<'_>) -> impl FnMut(&str, Option<&str>) {
    move |path, text| {
        if !text.is_some_and(is_hidden) {
            each(path, text);
        }
    }
}

fn only_values(each: &mut Each<'_>) -> impl FnMut(&str, Option<&str>) {
    move |path, text| text.into_iter().for_each(|text| each(path, text))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A key of a megabyte with as many values as are read would be a hundred gigabytes of paths.
    #[test]
    fn what_stands_below_a_long_path_is_left_out() {
        let key = "k".repeat(1 << 20);
        let json = format!(r#"{{"a": {{"{key}": [{}1], "b": 2}}}}"#, "1,".repeat(90_000));
        let node = json::read(&json, 100_000, 100).unwrap();
        let (mut told, mut longest) = (0, 0);
        walk(&mut "payload".to_owned(), &node, &mut |path, _| (told, longest) = (told + 1, path.len().max(longest)));
        assert_eq!((told, longest), (3, "payload.a.b".len()));
        let deep = (0..100).fold(FieldValue::Boolean(true), |value, _| {
            FieldValue::Table(FieldTable::from_iter([("n".repeat(255), value)]))
        });
        fields_of_header("x", &deep, &mut |path, _| longest = path.len().max(longest));
        assert_eq!(longest, "header.x".len() + 3 * 256);
    }
}
