//! Writes header tables.

use base64::{Engine, prelude::BASE64_STANDARD};
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::Value;

use super::flat;
use crate::field::{FieldTable, FieldValue};

/// Arrays and tables nested deeper are written flat. Each of our levels takes two or three of JSON's, of which readers
/// stop at 128.
const MAX_NESTING: usize = 24;

/// As text, for storing. Much faster than to go by way of [`table_to_json`].
pub fn table_to_string(table: &FieldTable) -> String {
    // Cannot fail: it is written to memory, and all keys are strings.
    serde_json::to_string(&Typed::new(table)).unwrap_or_default()
}

/// As a value, to be made part of a larger one.
pub fn table_to_json(table: &FieldTable) -> Value {
    to_json(&Typed::new(table))
}

/// A value that is no array and no table.
fn leaf_to_json(leaf: &FieldValue) -> Value {
    to_json(&Typed::new(leaf))
}

fn to_json(typed: &impl Serialize) -> Value {
    // Cannot fail, for the same reason.
    serde_json::to_value(typed).unwrap_or_default()
}

/// Something of a header table that is written with its types.
struct Typed<'a, T: ?Sized> {
    value: &'a T,
    nesting: usize,
}

impl<'a, T: ?Sized> Typed<'a, T> {
    const fn new(value: &'a T) -> Self {
        Self { value, nesting: 0 }
    }

    const fn inner<U: ?Sized>(&self, value: &'a U) -> Typed<'a, U> {
        Typed { value, nesting: self.nesting + 1 }
    }
}

impl Serialize for Typed<'_, FieldTable> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let entries = self.value.iter().map(|(name, value)| (name, self.inner(value)));
        if self.value.iter().map(|(name, _)| name).is_sorted_by(|a, b| a < b) {
            serializer.collect_map(entries)
        } else {
            serializer.collect_seq(entries)
        }
    }
}

impl Serialize for Typed<'_, [FieldValue]> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.value.iter().map(|value| self.inner(value)))
    }
}

impl Serialize for Typed<'_, FieldValue> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.value {
            FieldValue::Boolean(b) => serializer.serialize_bool(*b),
            FieldValue::Void => serializer.serialize_unit(),
            FieldValue::LongString(bytes) => long_string(serializer, bytes),
            FieldValue::ShortShortInt(n) => tagged(serializer, "byte", n),
            FieldValue::ShortShortUInt(n) => tagged(serializer, "ubyte", n),
            FieldValue::ShortInt(n) => tagged(serializer, "short", n),
            FieldValue::ShortUInt(n) => tagged(serializer, "ushort", n),
            FieldValue::LongInt(n) => tagged(serializer, "long", n),
            FieldValue::LongUInt(n) => tagged(serializer, "ulong", n),
            FieldValue::LongLongInt(n) => tagged(serializer, "longlong", n),
            FieldValue::Float(bits) => float(serializer, *bits),
            FieldValue::Double(bits) => double(serializer, *bits),
            FieldValue::Decimal { scale, value } => tagged(serializer, "decimal", &Decimal(*scale, *value)),
            FieldValue::Timestamp(seconds) => tagged(serializer, "timestamp", seconds),
            FieldValue::ByteArray(bytes) => tagged(serializer, "bytes", &BASE64_STANDARD.encode(bytes)),
            FieldValue::Array(_) | FieldValue::Table(_) if self.nesting > MAX_NESTING => {
                tagged(serializer, "flat", &flat::to_json(self.value, leaf_to_json))
            }
            FieldValue::Array(values) => tagged(serializer, "array", &self.inner(values.as_slice())),
            FieldValue::Table(table) => tagged(serializer, "table", &self.inner(table)),
        }
    }
}

struct Decimal(u8, u32);

impl Serialize for Decimal {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(2))?;
        map.serialize_entry("scale", &self.0)?;
        map.serialize_entry("value", &self.1)?;
        map.end()
    }
}

fn tagged<S: Serializer>(serializer: S, kind: &str, value: &(impl Serialize + ?Sized)) -> Result<S::Ok, S::Error> {
    let mut map = serializer.serialize_map(Some(2))?;
    map.serialize_entry("t", kind)?;
    map.serialize_entry("v", value)?;
    map.end()
}

fn long_string<S: Serializer>(serializer: S, bytes: &[u8]) -> Result<S::Ok, S::Error> {
    if let Ok(text) = std::str::from_utf8(bytes) {
        return serializer.serialize_str(text);
    }
    let mut map = serializer.serialize_map(Some(2))?;
    map.serialize_entry("t", "longstr")?;
    map.serialize_entry("base64", &BASE64_STANDARD.encode(bytes))?;
    map.end()
}

/// Widened, because every single is exactly a double, and doubles are what JSON is read as.
fn float<S: Serializer>(serializer: S, bits: u32) -> Result<S::Ok, S::Error> {
    let number = f32::from_bits(bits);
    if number.is_finite() {
        return tagged(serializer, "float", &f64::from(number));
    }
    tagged(serializer, "float", &format!("0x{bits:08x}"))
}

fn double<S: Serializer>(serializer: S, bits: u64) -> Result<S::Ok, S::Error> {
    let number = f64::from_bits(bits);
    if number.is_finite() {
        return tagged(serializer, "double", &number);
    }
    tagged(serializer, "double", &format!("0x{bits:016x}"))
}
