//! The types of `google.protobuf` that have a form of their own in JSON.
//!
//! <https://protobuf.dev/reference/protobuf/google.protobuf/>

use jiff::{SignedDuration, civil::DateTime};
use prost_reflect::MessageDescriptor;

use super::model::{Content, Entry, Form, Known, Message, Value};

pub(super) const NANOS: i64 = 1_000_000_000;

/// A `jiff::Timestamp` ends a day before the year 9999 does, and its last second is a favourite for "never".
pub(super) const EPOCH: DateTime = DateTime::constant(1970, 1, 1, 0, 0, 0, 0);

/// The years 1 to 9999.
pub(super) const TIMESTAMPS: std::ops::RangeInclusive<i64> = -62_135_596_800..=253_402_300_799;

/// About 10,000 years.
pub(super) const MAX_DURATION: i64 = 315_576_000_000;

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum WellKnown {
    Any,
    Duration,
    FieldMask,
    ListValue,
    Struct,
    Timestamp,
    Value,
    /// A message around a single value, such as `StringValue`.
    Wrapper,
}

impl WellKnown {
    pub fn of(descriptor: &MessageDescriptor) -> Option<Self> {
        Some(match descriptor.full_name().strip_prefix("google.protobuf.")? {
            "Any" => Self::Any,
            "Duration" => Self::Duration,
            "FieldMask" => Self::FieldMask,
            "ListValue" => Self::ListValue,
            "Struct" => Self::Struct,
            "Timestamp" => Self::Timestamp,
            "Value" => Self::Value,
            "DoubleValue" | "FloatValue" | "Int64Value" | "UInt64Value" | "Int32Value" | "UInt32Value"
            | "BoolValue" | "StringValue" | "BytesValue" => Self::Wrapper,
            _ => return None,
        })
    }
}

/// The form of a message that holds nothing but known fields and is no `Any`; else why it can have none.
pub(super) fn form<'a>(well_known: WellKnown, message: &Message<'a>) -> Result<Form<'a>, String> {
    match well_known {
        WellKnown::Timestamp => timestamp(message).map(Form::Text),
        WellKnown::Duration => duration(message).map(Form::Text),
        WellKnown::FieldMask => field_mask(message).map(Form::Text),
        WellKnown::Wrapper => wrapper(message),
        WellKnown::Struct | WellKnown::Value | WellKnown::ListValue => free(well_known, message),
        WellKnown::Any => Ok(Form::Fields),
    }
}

/// The name of the type in an `Any`'s URL: what follows the last slash.
pub(super) fn type_name(type_url: &str) -> &str {
    type_url.rsplit('/').next().unwrap_or_default()
}

fn timestamp(message: &Message<'_>) -> Result<String, String> {
    let (seconds, nanos) = seconds_and_nanos(message)?;
    let out_of_range = || "it is not within the years 1 to 9999".to_owned();
    if !TIMESTAMPS.contains(&seconds) || !(0..NANOS).contains(&nanos) {
        return Err(out_of_range());
    }
    let time = EPOCH.checked_add(SignedDuration::from_secs(seconds)).map_err(|_| out_of_range())?;
    Ok(format!("{time}{}Z", fraction(nanos)))
}

fn duration(message: &Message<'_>) -> Result<String, String> {
    let (seconds, nanos) = seconds_and_nanos(message)?;
    let signs_agree = seconds.signum() * nanos.signum() >= 0;
    if seconds.unsigned_abs() > MAX_DURATION.unsigned_abs()
        || nanos.unsigned_abs() >= NANOS.unsigned_abs()
        || !signs_agree
    {
        return Err("it is no duration of up to 10,000 years".to_owned());
    }
    let sign = if seconds < 0 || nanos < 0 { "-" } else { "" };
    Ok(format!("{sign}{}{}s", seconds.unsigned_abs(), fraction(nanos)))
}

fn seconds_and_nanos(message: &Message<'_>) -> Result<(i64, i64), String> {
    let number = |value: Option<&Value<'_>>| match value {
        None => Ok(0),
        Some(Value::Int(number)) => Ok(*number),
        Some(_) => Err("its seconds or nanoseconds are no number".to_owned()),
    };
    Ok((number(message.one(1))?, number(message.one(2))?))
}

/// Three, six or nine digits, or none.
fn fraction(nanos: i64) -> String {
    let nanos = nanos.unsigned_abs();
    match nanos {
        0 => String::new(),
        _ if nanos.is_multiple_of(1_000_000) => format!(".{:03}", nanos / 1_000_000),
        _ if nanos.is_multiple_of(1_000) => format!(".{:06}", nanos / 1_000),
        _ => format!(".{nanos:09}"),
    }
}

fn field_mask(message: &Message<'_>) -> Result<String, String> {
    let Some(Known::List(paths)) = message.known(1) else { return Ok(String::new()) };
    let paths: Option<Vec<String>> = paths.iter().map(mask_path).collect();
    paths.map(|paths| paths.join(",")).ok_or_else(|| "a path of this mask cannot be written as JSON".to_owned())
}

/// A path in camel case, if it can be told from that.
fn mask_path(path: &Value<'_>) -> Option<String> {
    let Value::Text(path) = path else { return None };
    let camel = camel_case(path);
    (!path.is_empty() && !path.contains(',') && snake_case(&camel).as_deref() == Some(*path)).then_some(camel)
}

fn camel_case(snake: &str) -> String {
    let mut is_first = false;
    let mut camel = String::with_capacity(snake.len());
    for c in snake.chars() {
        if c != '_' {
            camel.push(if is_first { c.to_ascii_uppercase() } else { c });
        }
        is_first = c == '_';
    }
    camel
}

/// `None` where it is no camel case.
pub(super) fn snake_case(camel: &str) -> Option<String> {
    let mut snake = String::with_capacity(camel.len());
    for c in camel.chars() {
        if c == '_' {
            return None;
        }
        if c.is_ascii_uppercase() {
            snake.push('_');
        }
        snake.push(c.to_ascii_lowercase());
    }
    Some(snake)
}

fn wrapper<'a>(message: &Message<'a>) -> Result<Form<'a>, String> {
    match message.one(1) {
        Some(Value::Raw(_)) => Err("its value does not fit".to_owned()),
        _ => Ok(Form::Wrapped),
    }
}

fn free<'a>(well_known: WellKnown, message: &Message<'a>) -> Result<Form<'a>, String> {
    let is_free = match (well_known, message.entries.as_slice()) {
        (WellKnown::Value, [entry]) => is_json_value(entry),
        (WellKnown::Value, _) => false,
        (_, []) => true,
        (WellKnown::Struct, [Entry { content: Content::Known(_, Known::Map(pairs)), .. }]) => {
            !looks_like_a_mark(pairs) && pairs.iter().all(|(_, value)| is_free_message(value))
        }
        (WellKnown::ListValue, [Entry { content: Content::Known(_, Known::List(values)), .. }]) => {
            values.iter().all(is_free_message)
        }
        _ => false,
    };
    if is_free { Ok(Form::Free) } else { Err("it holds something that JSON cannot".to_owned()) }
}

/// A struct of one member such as `#message` would be taken for what that member means to us.
fn looks_like_a_mark(pairs: &[(Value<'_>, Value<'_>)]) -> bool {
    matches!(pairs, [(Value::Text(key), _)] if key.starts_with('#'))
}

fn is_json_value(entry: &Entry<'_>) -> bool {
    let Content::Known(declaration, Known::One(value)) = &entry.content else { return false };
    match (declaration.number(), value) {
        (1, Value::Enum(0)) | (3, Value::Text(_)) | (4, Value::Bool(_)) => true,
        (2, Value::Double(number)) => number.is_finite(),
        (5 | 6, message) => is_free_message(message),
        _ => false,
    }
}

fn is_free_message(value: &Value<'_>) -> bool {
    matches!(value, Value::Message(message) if message.form == Form::Free)
}
