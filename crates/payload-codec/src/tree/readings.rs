//! What a value could be, the most plausible first.

use jiff::Timestamp;

use super::{Field, MAX_PACKED, Reading, Unit};
use crate::wire::{
    cost,
    packed::{self, Width},
    varint::{self, unzigzag},
};

/// From 2000 to 2100, in seconds: the times that payloads tell of.
const TIMES: std::ops::Range<u64> = 946_684_800..4_102_444_800;

const UNITS: [(Unit, u64); 4] = [
    (Unit::Seconds, 1),
    (Unit::Milliseconds, 1_000),
    (Unit::Microseconds, 1_000_000),
    (Unit::Nanoseconds, 1_000_000_000),
];

/// Longer spans are judged by what they could be at all; weighing them would take too long.
const MAX_WEIGHED: usize = 4 << 10;

pub(super) fn varint<'a>(bits: u64) -> Vec<Reading<'a>> {
    let signed = bits.cast_signed();
    let mut readings = Vec::new();
    readings.extend(time(bits));
    if signed < 0 {
        readings.push(Reading::Signed(signed));
    }
    readings.push(Reading::Unsigned(bits));
    if bits <= 1 {
        readings.push(Reading::Bool(bits == 1));
    }
    readings.push(Reading::Zigzag(unzigzag(bits)));
    readings
}

pub(super) fn fixed32<'a>(bits: u32) -> Vec<Reading<'a>> {
    let float = f32::from_bits(bits);
    let mut readings = Vec::new();
    readings.extend(time(bits.into()));
    readings.push(Reading::Unsigned(bits.into()));
    if bits.cast_signed() < 0 {
        readings.push(Reading::Signed(bits.cast_signed().into()));
    }
    let is_float = cost::float(float) < cost::magnitude(bits.into(), 32.0) && bits != 0;
    readings.insert(if is_float { 0 } else { readings.len() }, Reading::Float(float));
    readings
}

pub(super) fn fixed64<'a>(bits: u64) -> Vec<Reading<'a>> {
    let double = f64::from_bits(bits);
    let mut readings = Vec::new();
    readings.extend(time(bits));
    readings.push(Reading::Unsigned(bits));
    if bits.cast_signed() < 0 {
        readings.push(Reading::Signed(bits.cast_signed()));
    }
    let is_double = cost::double(double) < cost::magnitude(bits, 64.0) && bits != 0;
    readings.insert(if is_double { 0 } else { readings.len() }, Reading::Double(double));
    readings
}

/// `message` is the span read as one, if it can be.
pub(super) fn len<'a>(span: &'a [u8], message: Option<Vec<Field<'a>>>) -> Vec<Reading<'a>> {
    let text = std::str::from_utf8(span).ok();
    let likeliest = match span.len() {
        // Weighing would call it bytes, but a string that was left empty is more common.
        0 => cost::Reading::Text,
        1..=MAX_WEIGHED => cost::opaque(span).reading,
        _ if message.is_some() => cost::Reading::Message,
        _ if text.is_some_and(is_printable) => cost::Reading::Text,
        _ if packed::fits(span, Width::Varint) => cost::Reading::Packed,
        _ => cost::Reading::Bytes,
    };
    let mut readings = Vec::new();
    readings.extend(text.map(|text| (cost::Reading::Text, Reading::Text(text))));
    readings.extend(message.map(|fields| (cost::Reading::Message, Reading::Message(fields))));
    if span.len() <= MAX_WEIGHED || likeliest == cost::Reading::Packed {
        readings.extend(lists(span).into_iter().map(|list| (cost::Reading::Packed, list)));
    }
    readings.push((cost::Reading::Bytes, Reading::Bytes(span)));
    // The sort is stable: what is not the likeliest stays in this order.
    readings.sort_by_key(|(kind, _)| *kind != likeliest);
    readings.into_iter().map(|(_, reading)| reading).collect()
}

/// Whether a text begins without control characters. Numbers of a list are often such.
fn is_printable(text: &str) -> bool {
    text.chars().take(MAX_WEIGHED).all(|c| !c.is_control() || matches!(c, '\n' | '\r' | '\t'))
}

/// The span as lists of every width that fits, the one that costs the least first.
fn lists<'a>(span: &[u8]) -> Vec<Reading<'a>> {
    let widths = [Width::Varint, Width::Fixed32, Width::Fixed64].into_iter();
    let fitting = widths.filter(|width| span.len() > 1 && packed::fits(span, *width));
    let mut lists: Vec<(f64, Width, Vec<u64>)> = fitting
        .map(|width| {
            let elements: Vec<u64> = packed::elements(span, width).map_while(Result::ok).take(MAX_PACKED).collect();
            (nats_per_byte(&elements, width), width, elements)
        })
        .collect();
    lists.sort_by(|(one, ..), (other, ..)| one.total_cmp(other));
    let reading = |(_, width, elements)| Reading::Packed { width, elements, n_elements: n_elements(span, width) };
    lists.into_iter().map(reading).collect()
}

/// What the elements cost, by the bytes they take.
fn nats_per_byte(elements: &[u64], width: Width) -> f64 {
    let nats = |bits: u64| match width {
        Width::Varint => cost::magnitude(bits, 64.0),
        Width::Fixed32 => cost::float(f32::from_bits(bits as u32)).min(cost::magnitude(bits, 32.0)),
        Width::Fixed64 => cost::double(f64::from_bits(bits)).min(cost::magnitude(bits, 64.0)),
    };
    let n_bytes: usize = match width {
        Width::Varint => elements.iter().map(|bits| varint::len(*bits)).sum(),
        Width::Fixed32 => elements.len().saturating_mul(4),
        Width::Fixed64 => elements.len().saturating_mul(8),
    };
    elements.iter().map(|bits| nats(*bits)).sum::<f64>() / n_bytes.max(1) as f64
}

/// How many there are; the span is known to be such a list.
fn n_elements(span: &[u8], width: Width) -> usize {
    match width {
        // A varint ends with the first byte below 128.
        Width::Varint => span.iter().filter(|byte| **byte < 0x80).count(),
        Width::Fixed32 => span.len() / 4,
        Width::Fixed64 => span.len() / 8,
    }
}

/// The time a number would be, if it would be one near to now.
fn time<'a>(number: u64) -> Option<Reading<'a>> {
    let (unit, per_second) = UNITS.into_iter().find(|(_, per_second)| TIMES.contains(&(number / per_second)))?;
    let nanos = i128::from(number).checked_mul(1_000_000_000 / i128::from(per_second))?;
    Timestamp::from_nanosecond(nanos).ok().map(|time| Reading::Time(unit, time))
}
