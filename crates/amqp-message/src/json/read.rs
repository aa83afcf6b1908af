//! Reads header tables.

use base64::{Engine, prelude::BASE64_STANDARD};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::flat;
use crate::field::{FieldTable, FieldValue};

/// Reads what [`table_to_json`](super::table_to_json) made, or what somebody wrote by hand.
///
/// # Errors
/// What is wrong with it, and in which field.
pub fn table_from_json(json: &Value) -> Result<FieldTable, String> {
    match json {
        Value::Object(fields) => fields.iter().map(|(name, value)| field(name, value)).collect(),
        Value::Array(pairs) => pairs.iter().map(pair).collect(),
        _ => Err("a table is an object of values, or an array of [name, value]".to_owned()),
    }
}

fn pair(json: &Value) -> Result<(String, FieldValue), String> {
    match json.as_array().map(Vec::as_slice) {
        Some([Value::String(name), value]) => field(name, value),
        _ => Err("each entry of a table is [name, value]".to_owned()),
    }
}

fn field(name: &str, json: &Value) -> Result<(String, FieldValue), String> {
    let value = value_from_json(json).map_err(|why| format!("{name:?}: {why}"))?;
    Ok((name.to_owned(), value))
}

/// Reads one value of such a table.
///
/// # Errors
/// What is wrong with it.
pub fn value_from_json(json: &Value) -> Result<FieldValue, String> {
    match json {
        Value::Null => Ok(FieldValue::Void),
        Value::Bool(b) => Ok(FieldValue::Boolean(*b)),
        Value::String(text) => Ok(FieldValue::string(text.as_str())),
        Value::Object(fields) => tagged(fields),
        Value::Number(_) | Value::Array(_) => {
            Err(r#"numbers and arrays need their type, as in {"t": "long", "v": 1}"#.to_owned())
        }
    }
}

fn tagged(fields: &Map<String, Value>) -> Result<FieldValue, String> {
    let kind = fields.get("t").and_then(Value::as_str).ok_or(r#"it has no type "t""#)?;
    let value = fields.get("v").unwrap_or(&Value::Null);
    match kind {
        "byte" => read(value).map(FieldValue::ShortShortInt),
        "ubyte" => read(value).map(FieldValue::ShortShortUInt),
        "short" => read(value).map(FieldValue::ShortInt),
        "ushort" => read(value).map(FieldValue::ShortUInt),
        "long" => read(value).map(FieldValue::LongInt),
        "ulong" => read(value).map(FieldValue::LongUInt),
        "longlong" => read(value).map(FieldValue::LongLongInt),
        "float" => float(value).map(FieldValue::Float),
        "double" => double(value).map(FieldValue::Double),
        "decimal" => decimal(value),
        "timestamp" => read(value).map(FieldValue::Timestamp),
        "bytes" => bytes(value).map(FieldValue::ByteArray),
        "longstr" => long_string(fields),
        "array" => array(value),
        "table" => table_from_json(value).map(FieldValue::Table),
        "flat" => flat::from_json(value, value_from_json),
        "void" => Ok(FieldValue::Void),
        other => Err(format!("{other:?} is no type of AMQP")),
    }
}

/// Numbers of any width; serde checks their range.
fn read<T: DeserializeOwned>(json: &Value) -> Result<T, String> {
    T::deserialize(json).map_err(|e| e.to_string())
}

fn float(json: &Value) -> Result<u32, String> {
    match json.as_str() {
        Some(bits) => hexadecimal(bits).and_then(|bits| u32::try_from(bits).ok()).ok_or_else(|| no_bits(bits)),
        // Exact for what was written, since that was a single widened to a double.
        None => read::<f64>(json).map(|number| (number as f32).to_bits()),
    }
}

fn double(json: &Value) -> Result<u64, String> {
    match json.as_str() {
        Some(bits) => hexadecimal(bits).ok_or_else(|| no_bits(bits)),
        None => read::<f64>(json).map(f64::to_bits),
    }
}

fn hexadecimal(text: &str) -> Option<u64> {
    u64::from_str_radix(text.strip_prefix("0x")?, 16).ok()
}

fn no_bits(text: &str) -> String {
    format!(r#"{text:?} is neither a number nor its bits, as "0x7fc00000""#)
}

fn decimal(json: &Value) -> Result<FieldValue, String> {
    Ok(FieldValue::Decimal { scale: read(&json["scale"])?, value: read(&json["value"])? })
}

fn bytes(json: &Value) -> Result<Vec<u8>, String> {
    let text = json.as_str().ok_or("bytes are a string of base64")?;
    BASE64_STANDARD.decode(text).map_err(|e| e.to_string())
}

fn long_string(fields: &Map<String, Value>) -> Result<FieldValue, String> {
    match fields.get("base64") {
        Some(base64) => bytes(base64).map(FieldValue::LongString),
        None => fields.get("v").and_then(Value::as_str).map(FieldValue::string).ok_or("it has no string".to_owned()),
    }
}

fn array(json: &Value) -> Result<FieldValue, String> {
    let values = json.as_array().ok_or("an array is a JSON array of values")?;
    values.iter().map(value_from_json).collect::<Result<_, _>>().map(FieldValue::Array)
}
