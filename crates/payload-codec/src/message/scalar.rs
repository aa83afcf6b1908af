//! Single values, from the wire to what the schema declares.

use prost_reflect::Kind;

use super::{
    declaration::{has_value, kind_name},
    model::{Message, Raw, Value},
};
use crate::wire::{self, varint::unzigzag};

/// The bits of the NaN that every language writes.
pub(super) const NAN_32: u32 = 0x7fc0_0000;
pub(super) const NAN_64: u64 = 0x7ff8_0000_0000_0000;

/// Reads a value that has the wire type of `kind`, but is no message.
///
/// What is no value of that kind stays raw, with the reason.
pub(super) fn read<'a>(kind: &Kind, value: wire::Value<'a>) -> (Value<'a>, Option<String>) {
    match value {
        wire::Value::Varint(bits) => match varint(kind, bits) {
            Some(value) => (value, None),
            None => (Value::Raw(Raw::Varint(bits)), Some(misfit(kind))),
        },
        wire::Value::Fixed32(bits) => (fixed32(kind, bits), None),
        wire::Value::Fixed64(bits) => (fixed64(kind, bits), None),
        wire::Value::Len(bytes) => match (kind, std::str::from_utf8(bytes)) {
            (Kind::String, Ok(text)) => (Value::Text(text), None),
            (Kind::String, Err(_)) => (Value::Raw(Raw::Bytes(bytes)), Some("this string is not UTF-8".to_owned())),
            _ => (Value::Bytes(bytes), None),
        },
        wire::Value::Group(bytes) => (Value::Bytes(bytes), None),
    }
}

/// The value a field has when it is not on the wire. Only a map's entries are filled in with it.
pub(super) fn default<'a>(kind: &Kind) -> Value<'a> {
    match kind {
        Kind::String => Value::Text(""),
        Kind::Bytes => Value::Bytes(&[]),
        Kind::Bool => Value::Bool(false),
        Kind::Enum(descriptor) => Value::Enum(descriptor.default_value().number()),
        Kind::Double => Value::Double(0.0),
        Kind::Float => Value::Float(0.0),
        Kind::Uint32 | Kind::Uint64 | Kind::Fixed32 | Kind::Fixed64 => Value::Uint(0),
        Kind::Message(descriptor) => Value::Message(Box::new(Message::new(descriptor.clone()))),
        _ => Value::Int(0),
    }
}

/// `None` where a parser would cut the number, or take it for another.
fn varint<'a>(kind: &Kind, bits: u64) -> Option<Value<'a>> {
    let signed = bits.cast_signed();
    match kind {
        Kind::Bool if bits <= 1 => Some(Value::Bool(bits == 1)),
        Kind::Int32 => i32::try_from(signed).ok().map(|number| Value::Int(number.into())),
        Kind::Int64 => Some(Value::Int(signed)),
        Kind::Uint32 => u32::try_from(bits).ok().map(|number| Value::Uint(number.into())),
        Kind::Uint64 => Some(Value::Uint(bits)),
        Kind::Sint32 => u32::try_from(bits).ok().map(|bits| Value::Int(unzigzag(bits.into()))),
        Kind::Sint64 => Some(Value::Int(unzigzag(bits))),
        Kind::Enum(descriptor) => {
            let number = i32::try_from(signed).ok()?;
            has_value(descriptor, number).then_some(Value::Enum(number))
        }
        _ => None,
    }
}

/// Without the number, for it may have to be hidden.
fn misfit(kind: &Kind) -> String {
    match kind {
        Kind::Bool => "this is neither true nor false; most readers take it for true".to_owned(),
        Kind::Enum(descriptor) => format!("this number is no value of {}", descriptor.full_name()),
        kind => format!("this does not fit {}; most readers take it for another number", kind_name(kind)),
    }
}

fn fixed32<'a>(kind: &Kind, bits: u32) -> Value<'a> {
    match kind {
        Kind::Fixed32 => Value::Uint(bits.into()),
        Kind::Sfixed32 => Value::Int(bits.cast_signed().into()),
        _ if f32::from_bits(bits).is_nan() && bits != NAN_32 => Value::Raw(Raw::Fixed32(bits)),
        _ => Value::Float(f32::from_bits(bits)),
    }
}

fn fixed64<'a>(kind: &Kind, bits: u64) -> Value<'a> {
    match kind {
        Kind::Fixed64 => Value::Uint(bits),
        Kind::Sfixed64 => Value::Int(bits.cast_signed()),
        _ if f64::from_bits(bits).is_nan() && bits != NAN_64 => Value::Raw(Raw::Fixed64(bits)),
        _ => Value::Double(f64::from_bits(bits)),
    }
}
