//! EasyNetQ's `BasicProperties` in all its versions (`MessagePropertiesConverter.cs`, `JsonHeaderType.cs`).

use amqp_message::{
    field::{FieldTable, FieldValue},
    message::Properties,
};
use base64::{Engine, prelude::BASE64_STANDARD};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{Original, header, small, table, text};

/// What we need of the body.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Error {
    message: String,
    exception: Value,
    queue: Value,
    basic_properties: Value,
}

pub(super) fn original(body: &[u8]) -> Option<Original> {
    if *body.trim_ascii_start().first()? != b'{' {
        return None;
    }
    let error: Error = serde_json::from_slice(body).ok()?;
    if !error.exception.is_string() || !error.queue.is_string() {
        return None;
    }
    let (properties, headers) = read(error.basic_properties.as_object()?);
    Some(Original { properties, headers, body: Some(error.message.into_bytes()) })
}

/// The properties and headers in the JSON of `BasicProperties`; none of what cannot be read.
pub(in super::super) fn properties(json: &str) -> (Properties, FieldTable) {
    serde_json::from_str(json).map(|fields| read(&fields)).unwrap_or_default()
}

fn read(fields: &Map<String, Value>) -> (Properties, FieldTable) {
    // Up to 8.0 all are there, with a flag for each that tells whether it was set.
    let get = |name: &str| {
        let set = fields.get(&format!("{name}Present")).and_then(Value::as_bool).unwrap_or(true);
        fields.get(name).filter(|_| set).unwrap_or(&Value::Null)
    };
    let properties = Properties {
        content_type: text(get("ContentType")),
        content_encoding: text(get("ContentEncoding")),
        delivery_mode: small(get("DeliveryMode")),
        priority: small(get("Priority")),
        correlation_id: text(get("CorrelationId")),
        reply_to: text(get("ReplyTo")),
        expiration: get("Expiration").as_str().and_then(milliseconds),
        message_id: text(get("MessageId")),
        timestamp: get("Timestamp").as_u64(),
        kind: text(get("Type")),
        user_id: text(get("UserId")),
        app_id: text(get("AppId")),
        cluster_id: text(get("ClusterId")),
    };
    let headers = get("Headers").as_object();
    let headers = headers.map(|headers| table(headers.iter().map(|(name, value)| (name, typed(value)))));
    (properties, headers.unwrap_or_default())
}

/// `00:00:30` or `1.02:03:04.5000000`, as .NET prints a time span, in milliseconds.
fn milliseconds(span: &str) -> Option<String> {
    if span.bytes().all(|byte| byte.is_ascii_digit()) {
        return Some(span.to_owned());
    }
    let (clock, fraction) = match span.rsplit_once('.') {
        Some((clock, fraction)) if !fraction.contains(':') => (clock, fraction),
        _ => (span, ""),
    };
    let (days, clock) = clock.split_once('.').unwrap_or(("0", clock));
    let mut parts = clock.splitn(3, ':').map(|part| part.parse::<u64>().ok());
    let (hours, minutes, seconds) = (parts.next()??, parts.next()??, parts.next()??);
    let hours = days.parse::<u64>().ok()?.checked_mul(24)?.checked_add(hours)?;
    let seconds = hours.checked_mul(60)?.checked_add(minutes)?.checked_mul(60)?.checked_add(seconds)?;
    let thousandths: String = fraction.chars().chain("000".chars()).take(3).collect();
    let milliseconds = seconds.checked_mul(1000)?.checked_add(thousandths.parse().ok()?)?;
    Some(milliseconds.to_string())
}

/// Since 8.1 a header is `{"Type": n, "Value": v}`, before it was plain JSON.
fn typed(value: &Value) -> FieldValue {
    let kind = value.get("Type").and_then(Value::as_u64);
    let inner = value.get("Value").unwrap_or(&Value::Null);
    kind.and_then(|kind| of_type(kind, inner)).unwrap_or_else(|| header(value))
}

/// A value by the number of `JsonHeaderType`; `None` if it is not of that type, or is a decimal, which goes as text.
fn of_type(kind: u64, value: &Value) -> Option<FieldValue> {
    let integer = || value.as_i64();
    match kind {
        1 => Some(FieldValue::Void),
        2 => value.as_bool().map(FieldValue::Boolean),
        3 => integer().and_then(|n| n.try_into().ok()).map(FieldValue::ShortShortUInt),
        4 => integer().and_then(|n| n.try_into().ok()).map(FieldValue::ShortShortInt),
        5 => integer().and_then(|n| n.try_into().ok()).map(FieldValue::ShortInt),
        6 => integer().and_then(|n| n.try_into().ok()).map(FieldValue::LongInt),
        7 => integer().and_then(|n| n.try_into().ok()).map(FieldValue::LongUInt),
        8 => integer().map(FieldValue::LongLongInt),
        9 => value.as_f64().map(|n| FieldValue::Float((n as f32).to_bits())),
        10 => value.as_f64().map(|n| FieldValue::Double(n.to_bits())),
        12 => value.as_u64().map(FieldValue::Timestamp),
        13 => value.as_str().map(FieldValue::string),
        14 | 17 => BASE64_STANDARD.decode(value.as_str()?).ok().map(FieldValue::ByteArray),
        15 => value.as_array().map(|values| FieldValue::Array(values.iter().map(typed).collect())),
        16 => {
            let fields = value.as_object()?;
            Some(FieldValue::Table(table(fields.iter().map(|(name, value)| (name, typed(value))))))
        }
        _ => Some(header(value)),
    }
}
