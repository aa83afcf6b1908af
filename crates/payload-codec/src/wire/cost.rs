//! What bytes cost to write down when no descriptor is at hand: code lengths in nats (one bit is ln 2 of them).
//!
//! Readings of one span compete in this unit: of text, message, list and plain bytes the cheapest is the likeliest.
//! A reading with a descriptor is worth something if it costs less than that; see
//! <https://en.wikipedia.org/wiki/Minimum_description_length>.

use super::{
    Value, fields,
    packed::{self, Width},
};

pub use super::number::{below_highest_bit, double, float, magnitude};

/// A byte about which nothing is known: ln 256.
pub const BYTE: f64 = 5.545;

/// What telling a length costs.
pub const LENGTH: f64 = 3.2;

/// How many messages within messages are looked into.
const MAX_DEPTH: usize = 12;

/// Fewer bytes are no list worth the name.
const SHORTEST_LIST: usize = 4;

/// A span, read in the likeliest way.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Opaque {
    pub nats: f64,
    pub reading: Reading,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Reading {
    Text,
    Message,
    Packed,
    Bytes,
}

/// The likeliest reading of a length-delimited span, with the cost of its length.
pub fn opaque(span: &[u8]) -> Opaque {
    opaque_within(span, 0)
}

/// The span as the text of a field or of a whole body. Only UTF-8 is text. No length is counted.
pub fn text(span: &[u8]) -> Option<f64> {
    std::str::from_utf8(span).ok().map(|text| text.bytes().map(character).sum())
}

/// The span as bytes about which nothing is known. No length is counted.
pub fn bytes(span: &[u8]) -> f64 {
    BYTE * span.len() as f64
}

/// The span as a message whose type is not known, or `None` when it is not well-formed. No length is counted.
pub fn message(span: &[u8]) -> Option<f64> {
    message_within(span, 0)
}

/// One field's value, its length included and its tag not.
pub fn value(value: &Value) -> f64 {
    value_within(value, 0)
}

/// A field's tag, after that of another field: small steps upwards are what serializers write, a step back is rare.
pub fn tag(number: u32, previous: u32, group: bool) -> f64 {
    let step = match number.checked_sub(previous) {
        Some(0) => 1.0,
        Some(step) if step < 8 => 2.5 + 0.25 * f64::from(step),
        Some(_) => 4.0 + below_highest_bit(number.into()),
        None => 6.0 + below_highest_bit(number.into()),
    };
    step + if group { 6.0 } else { 1.4 }
}

fn opaque_within(span: &[u8], depth: usize) -> Opaque {
    let mut best = Opaque { nats: bytes(span) + LENGTH + 0.5, reading: Reading::Bytes };
    let mut offer = |nats: f64, reading| {
        if nats < best.nats {
            best = Opaque { nats, reading };
        }
    };
    if let Some(nats) = text(span) {
        offer(nats + LENGTH, Reading::Text);
    }
    if span.len() >= SHORTEST_LIST {
        offer(list(span) + LENGTH, Reading::Packed);
    }
    if span.len() > 1
        && depth < MAX_DEPTH
        && let Some(nats) = message_within(span, depth + 1)
    {
        offer(nats + 1.2, Reading::Message);
    }
    best
}

fn message_within(span: &[u8], depth: usize) -> Option<f64> {
    let mut nats = 1.0;
    let mut previous = 0;
    for field in fields(span) {
        let field = field.ok()?;
        nats += tag(field.number, previous, matches!(field.value, Value::Group(_))) + value_within(&field.value, depth);
        previous = field.number;
    }
    Some(instant(span).map_or(nats, |as_instant| as_instant.min(nats)))
}

fn value_within(value: &Value, depth: usize) -> f64 {
    match *value {
        Value::Varint(number) => magnitude(number, 64.0),
        Value::Fixed64(bits) => double(f64::from_bits(bits)).min(4.2 + below_highest_bit(bits)) + 0.7,
        Value::Fixed32(bits) => float(f32::from_bits(bits)).min(3.5 + below_highest_bit(bits.into())) + 0.7,
        Value::Len(span) => opaque_within(span, depth).nats,
        // Hardly anything writes groups any more.
        Value::Group(span) => 10.0 + bytes(span),
    }
}

/// Seconds since 1970 at number 1, and maybe nanoseconds at number 2: `google.protobuf.Timestamp` is in most sets.
fn instant(span: &[u8]) -> Option<f64> {
    let mut found = fields(span);
    let seconds = found.next()?.ok()?;
    let nanos = found.next().transpose().ok()?;
    if found.next().is_some() || seconds.number != 1 || !is_recent(&seconds.value) {
        return None;
    }
    let nanos = match nanos {
        None => 0.0,
        Some(field) if field.number == 2 => nanoseconds(&field.value)?,
        Some(_) => return None,
    };
    Some(23.0 + nanos)
}

/// From the year 2000 to 2040.
fn is_recent(value: &Value) -> bool {
    matches!(value, Value::Varint(946_684_800..2_208_988_800))
}

/// Clocks tick in milliseconds or microseconds.
fn nanoseconds(value: &Value) -> Option<f64> {
    match *value {
        Value::Varint(nanos) if nanos >= 1_000_000_000 => None,
        Value::Varint(nanos) if nanos % 1_000_000 == 0 => Some(8.3),
        Value::Varint(nanos) if nanos % 1000 == 0 => Some(15.2),
        Value::Varint(_) => Some(21.8),
        _ => None,
    }
}

/// A packed list of numbers, all written with as many bits as the largest takes, or of round doubles.
fn list(span: &[u8]) -> f64 {
    let varints = if packed::fits(span, Width::Varint) { list_of_varints(span) } else { f64::INFINITY };
    let doubles = if packed::fits(span, Width::Fixed64) { list_of_doubles(span) } else { f64::INFINITY };
    varints.min(doubles) + 2.5
}

fn list_of_varints(span: &[u8]) -> f64 {
    let (mut count, mut largest) = (0_u32, 0);
    for element in packed::elements(span, Width::Varint).map_while(Result::ok) {
        count += 1;
        largest = largest.max(element);
    }
    64_f64.ln() + f64::from(count) * (below_highest_bit(largest) + std::f64::consts::LN_2)
}

fn list_of_doubles(span: &[u8]) -> f64 {
    packed::elements(span, Width::Fixed64).map_while(Result::ok).map(|bits| double(f64::from_bits(bits)) + 0.7).sum()
}

/// A byte of UTF-8, by how often such bytes are seen in the text of messages.
fn character(byte: u8) -> f64 {
    match byte {
        b'a'..=b'z' | b'0'..=b'9' => 2.9,
        b' ' | b'-' | b'_' | b'.' | b'/' => 2.7,
        b'A'..=b'Z' => 3.7,
        b':' | b'@' | b',' | b'"' | b'=' | b'{' | b'}' | b'+' => 4.0,
        b'\n' | b'\t' | b'\r' => 6.5,
        b' '..=b'~' => 4.8,
        0x80.. => 4.9,
        _ => 9.5,
    }
}
