//! What a step of a rule comes to. Values of the message are looked at where they are, none is copied.

use std::{borrow::Cow, rc::Rc};

use amqp_message::field::{FieldTable, FieldValue};
use serde_json::Value as Json;

use super::{
    failure::Fault,
    node::{Kind, Literal},
};

#[derive(Clone, Debug)]
pub(super) enum Value<'a> {
    Null,
    Bool(bool),
    /// From the least `i64` to the greatest `u64`.
    Int(i128),
    Double(f64),
    Text(Cow<'a, str>),
    /// A text that the message brought. One of digits can be compared with numbers.
    Told(Cow<'a, str>),
    /// Microseconds since the Unix epoch.
    Timestamp(i64),
    /// Microseconds.
    Duration(i64),
    List(List<'a>),
    Map(Map<'a>),
}

#[derive(Clone, Debug)]
pub(super) enum List<'a> {
    Json(&'a [Json]),
    Fields(&'a [FieldValue]),
    Made(Rc<[Value<'a>]>),
}

#[derive(Clone, Debug)]
pub(super) enum Map<'a> {
    Json(&'a serde_json::Map<String, Json>),
    Fields(&'a FieldTable),
    Made(Rc<[(Value<'a>, Value<'a>)]>),
}

impl<'a> Value<'a> {
    pub(super) fn text(text: &'a str) -> Self {
        Self::Text(Cow::Borrowed(text))
    }

    pub(super) fn kind(&self) -> Kind {
        match self {
            Self::Null => Kind::Null,
            Self::Bool(_) => Kind::Bool,
            Self::Int(_) | Self::Double(_) => Kind::Number,
            Self::Text(_) | Self::Told(_) => Kind::Text,
            Self::Timestamp(_) => Kind::Timestamp,
            Self::Duration(_) => Kind::Duration,
            Self::List(_) => Kind::List,
            Self::Map(_) => Kind::Map,
        }
    }

    pub(super) fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) | Self::Told(text) => Some(text),
            _ => None,
        }
    }

    /// That an operation can't be applied to it.
    pub(super) fn unfit(&self, operation: &'static str) -> Fault {
        Fault::Operand { operation, operand: self.kind().describe() }
    }

    /// That an operation can't be applied to it and another.
    pub(super) fn unfit_with(&self, operation: &'static str, right: &Self) -> Fault {
        Fault::Operands { operation, left: self.kind().describe(), right: right.kind().describe() }
    }

    /// The member of a map. Nothing else has members.
    pub(super) fn member(&self, name: &str) -> Option<Value<'a>> {
        match self {
            Self::Map(Map::Json(members)) => members.get(name).map(Value::from),
            Self::Map(Map::Fields(fields)) => fields.get(name).map(Value::from),
            Self::Map(Map::Made(entries)) => {
                entries.iter().find(|(key, _)| key.as_text() == Some(name)).map(|(_, value)| value.clone())
            }
            _ => None,
        }
    }

    /// The number that the digits of a told text mean. 64-bit numbers are texts in the JSON of protobuf.
    pub(super) fn as_told_number(&self) -> Option<i128> {
        match self {
            Self::Told(text) => whole_number(text),
            _ => None,
        }
    }
}

/// Digits as a program writes them: no plus sign, no leading zeros, no more than 64 bits hold.
fn whole_number(text: &str) -> Option<i128> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let is_plain = (1..=20).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit());
    let has_leading_zero = digits.starts_with('0') && text != "0";
    (is_plain && !has_leading_zero).then(|| text.parse().ok())?
}

impl<'a> From<&'a Json> for Value<'a> {
    fn from(json: &'a Json) -> Self {
        match json {
            Json::Null => Self::Null,
            Json::Bool(yes) => Self::Bool(*yes),
            Json::Number(number) => match (number.as_i64(), number.as_u64()) {
                (Some(number), _) => Self::Int(number.into()),
                (None, Some(number)) => Self::Int(number.into()),
                (None, None) => Self::Double(number.as_f64().unwrap_or(f64::NAN)),
            },
            Json::String(text) => Self::Told(Cow::Borrowed(text)),
            Json::Array(items) => Self::List(List::Json(items)),
            Json::Object(members) => Self::Map(Map::Json(members)),
        }
    }
}

impl<'a> From<&'a FieldValue> for Value<'a> {
    fn from(field: &'a FieldValue) -> Self {
        match field {
            FieldValue::Boolean(yes) => Self::Bool(*yes),
            FieldValue::Float(bits) => Self::Double(f32::from_bits(*bits).into()),
            FieldValue::Double(bits) => Self::Double(f64::from_bits(*bits)),
            FieldValue::Decimal { scale, value } => Self::Double(f64::from(*value) / 10_f64.powi((*scale).into())),
            FieldValue::LongString(bytes) | FieldValue::ByteArray(bytes) => Self::Told(String::from_utf8_lossy(bytes)),
            FieldValue::Array(items) => Self::List(List::Fields(items)),
            FieldValue::Timestamp(seconds) => {
                Self::Timestamp(i64::try_from(*seconds).unwrap_or(i64::MAX).saturating_mul(1_000_000))
            }
            FieldValue::Table(table) => Self::Map(Map::Fields(table)),
            whole => whole.as_i64().map_or(Self::Null, |number| Self::Int(number.into())),
        }
    }
}

impl<'a> From<&'a Literal> for Value<'a> {
    fn from(literal: &'a Literal) -> Self {
        match literal {
            Literal::Null => Self::Null,
            Literal::Bool(yes) => Self::Bool(*yes),
            Literal::Int(number) => Self::Int(*number),
            Literal::Double(number) => Self::Double(*number),
            Literal::Text(text) => Self::text(text),
            Literal::Timestamp(micros) => Self::Timestamp(*micros),
            Literal::Duration(micros) => Self::Duration(*micros),
        }
    }
}

impl<'a> List<'a> {
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Json(items) => items.len(),
            Self::Fields(items) => items.len(),
            Self::Made(items) => items.len(),
        }
    }

    pub(super) fn get(&self, index: usize) -> Option<Value<'a>> {
        match self {
            Self::Json(items) => items.get(index).map(Value::from),
            Self::Fields(items) => items.get(index).map(Value::from),
            Self::Made(items) => items.get(index).cloned(),
        }
    }
}

impl<'a> Map<'a> {
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Json(members) => members.len(),
            Self::Fields(fields) => fields.len(),
            Self::Made(entries) => entries.len(),
        }
    }

    /// Keys and values, in order.
    pub(super) fn entries(&self) -> Box<dyn Iterator<Item = (Value<'a>, Value<'a>)> + 'a> {
        match self {
            Self::Json(members) => Box::new(members.iter().map(|(key, value)| (Value::text(key), value.into()))),
            Self::Fields(fields) => Box::new(fields.iter().map(|(key, value)| (Value::text(key), value.into()))),
            Self::Made(entries) => {
                let entries = Rc::clone(entries);
                Box::new((0..entries.len()).filter_map(move |index| entries.get(index).cloned()))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_canonical_digits_are_numbers() {
        fn check(text: &str, expected: Option<i128>) {
            assert_eq!(Value::Told(text.into()).as_told_number(), expected, "{text:?}");
        }
        check("0", Some(0));
        check("123", Some(123));
        check("-9223372036854775808", Some(i64::MIN.into()));
        check("18446744073709551615", Some(u64::MAX.into()));
        check("-0", None);
        check("007", None);
        check("+1", None);
        check("1.0", None);
        check("", None);
        check("-", None);
        check("--1", None);
        check(" 1", None);
        check("١", None);
        check("123456789012345678901", None);
        assert_eq!(Value::text("1").as_told_number(), None);
    }

    #[test]
    fn header_fields_are_values() {
        fn check(field: FieldValue, expected: &str) {
            assert_eq!(format!("{:?}", Value::from(&field)), expected);
        }
        check(FieldValue::Boolean(true), "Bool(true)");
        check(FieldValue::ShortShortInt(-1), "Int(-1)");
        check(FieldValue::LongUInt(7), "Int(7)");
        check(FieldValue::Float(1.5_f32.to_bits()), "Double(1.5)");
        check(FieldValue::Decimal { scale: 2, value: 150 }, "Double(1.5)");
        check(FieldValue::LongString(vec![b'a', 0xff]), "Told(\"a\u{fffd}\")");
        check(FieldValue::Timestamp(2), "Timestamp(2000000)");
        check(FieldValue::Timestamp(u64::MAX), "Timestamp(9223372036854775807)");
        check(FieldValue::Void, "Null");
    }
}
