//! The message that failed, where a framework put it into another before it published that.
//!
//! EasyNetQ keeps body, properties and headers in a JSON body; Sneakers' and Kicks' Maxretry keeps properties and
//! headers in the header `retry_info` and leaves the body alone. To retry such a letter means to send the message
//! inside.

mod easynetq;
mod sneakers;

use amqp_message::{
    field::{FieldTable, FieldValue},
    message::Properties,
};
use serde_json::Value;

pub(super) use easynetq::properties as easynetq_properties;
pub(super) use sneakers::tucked;

/// A message as it was before a framework put it into another.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Original {
    pub properties: Properties,
    pub headers: FieldTable,
    /// `None` if the outer message has this one's body.
    pub body: Option<Vec<u8>>,
}

/// The message inside a body or behind the headers; `None` if the message is its own.
///
/// EasyNetQ's text is handed out as it stands. It is base64 if the service says so in its configuration, of which
/// nothing is told here.
pub fn original(body: &[u8], headers: &FieldTable) -> Option<Original> {
    tucked(headers).or_else(|| easynetq::original(body))
}

/// Plain JSON as header values; whole numbers get the narrowest of AMQP's usual two widths.
fn header(value: &Value) -> FieldValue {
    match value {
        Value::Null => FieldValue::Void,
        Value::Bool(yes) => FieldValue::Boolean(*yes),
        Value::String(text) => FieldValue::string(text.as_str()),
        Value::Array(values) => FieldValue::Array(values.iter().map(header).collect()),
        Value::Object(fields) => FieldValue::Table(table(fields.iter().map(|(name, value)| (name, header(value))))),
        Value::Number(number) => match number.as_i64() {
            Some(n) => i32::try_from(n).map_or(FieldValue::LongLongInt(n), FieldValue::LongInt),
            None => FieldValue::Double(number.as_f64().unwrap_or_default().to_bits()),
        },
    }
}

fn table<'a>(fields: impl Iterator<Item = (&'a String, FieldValue)>) -> FieldTable {
    fields.map(|(name, value)| (name.clone(), value)).collect()
}

fn text(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}

fn small(value: &Value) -> Option<u8> {
    u8::try_from(value.as_u64()?).ok()
}
