//! How likely a value is in a field.

use super::{
    super::{
        schema::{Enumeration, Field, Kind},
        sheet::{Inner, Sheet},
    },
    IMPOSSIBLE, Likelihood, number,
};
use crate::wire::{
    Value,
    cost::{self, below_highest_bit},
    packed::{self, Width},
};

/// A zero or an empty value where the serializer should have left it out.
const WRITTEN_DEFAULT: f64 = -4.5;
/// An empty value where it says something.
const EMPTY: f64 = -4.0;
/// Longer lists are told by their beginning.
const MAX_ELEMENTS: usize = 256;

impl Likelihood<'_> {
    /// The log likelihood of a token's value in a field.
    pub fn value(&self, sheet: &mut Sheet, field: &Field, at: usize, depth: u32) -> f64 {
        if !sheet.step() {
            return -sheet.opaque(at);
        }
        let value = sheet.token(at).value;
        if value.wire_type() == field.kind.wire_type() {
            return match field.kind {
                Kind::String(_) | Kind::Bytes | Kind::Message(_) | Kind::Group(_) => {
                    self.delimited(sheet, field, at, depth)
                }
                _ => self.scalar(field, value, field.is_implicit),
            };
        }
        match (value, field.kind.packed_width()) {
            (Value::Len(span), Some(width)) if field.is_repeated => self.list(field, span, width),
            _ => IMPOSSIBLE,
        }
    }

    fn delimited(&self, sheet: &mut Sheet, field: &Field, at: usize, depth: u32) -> f64 {
        let Value::Len(span) = sheet.token(at).value else {
            return self.inner_message(sheet, field, at, depth);
        };
        match field.kind {
            Kind::String(_) | Kind::Bytes if span.is_empty() => {
                if field.is_implicit {
                    WRITTEN_DEFAULT
                } else {
                    EMPTY
                }
            }
            Kind::String(meaning) => match sheet.text(at) {
                Some(text) => self.texts.log_ratio(meaning, text.look) - text.nats - cost::LENGTH,
                None => IMPOSSIBLE,
            },
            Kind::Bytes => bytes(sheet, at, span),
            _ => self.inner_message(sheet, field, at, depth),
        }
    }

    fn inner_message(&self, sheet: &mut Sheet, field: &Field, at: usize, depth: u32) -> f64 {
        match (field.message(), sheet.inner(at)) {
            (Some(id), Inner::Span(span)) => self.message(sheet, id, span, depth + 1),
            (Some(_), Inner::Unread) => -sheet.opaque(at),
            _ => IMPOSSIBLE,
        }
    }

    fn list(&self, field: &Field, span: &[u8], width: Width) -> f64 {
        if !packed::fits(span, width) {
            return IMPOSSIBLE;
        }
        let elements = packed::elements(span, width).map_while(Result::ok).take(MAX_ELEMENTS);
        let values = elements.map(|bits| match width {
            Width::Varint => Value::Varint(bits),
            Width::Fixed32 => Value::Fixed32(bits as u32),
            Width::Fixed64 => Value::Fixed64(bits),
        });
        values.map(|value| self.scalar(field, value, false) - 0.5).sum::<f64>() - 0.7
    }

    fn scalar(&self, field: &Field, value: Value, is_implicit: bool) -> f64 {
        let bits = match value {
            Value::Varint(bits) | Value::Fixed64(bits) => bits,
            Value::Fixed32(bits) => bits.into(),
            Value::Len(_) | Value::Group(_) => return IMPOSSIBLE,
        };
        if bits == 0 && is_implicit {
            return WRITTEN_DEFAULT;
        }
        -match field.kind {
            Kind::Bool => boolean(bits, is_implicit),
            Kind::Enum(id) => enumeration(&self.schema.enums[id as usize], bits),
            Kind::Int32(meaning) => number::signed(meaning, bits, 32),
            Kind::Int64(meaning) => number::signed(meaning, bits, 64),
            Kind::Uint32(meaning) => number::unsigned(meaning, bits, 32),
            Kind::Uint64(meaning) => number::unsigned(meaning, bits, 64),
            Kind::Sint32(meaning) => number::zigzag(meaning, bits, 32),
            Kind::Sint64(meaning) => number::zigzag(meaning, bits, 64),
            Kind::Fixed32(meaning) => number::unsigned(meaning, bits, 32),
            Kind::Fixed64(meaning) => number::unsigned(meaning, bits, 64),
            Kind::Sfixed32(meaning) => number::signed_fixed(meaning, (bits as u32).cast_signed().into(), 32),
            Kind::Sfixed64(meaning) => number::signed_fixed(meaning, bits.cast_signed(), 64),
            Kind::Double(meaning) => number::real(meaning, f64::from_bits(bits), cost::double(f64::from_bits(bits))),
            Kind::Float(meaning) => {
                let value = f32::from_bits(bits as u32);
                number::real(meaning, value.into(), cost::float(value))
            }
            Kind::String(_) | Kind::Bytes | Kind::Message(_) | Kind::Group(_) => return IMPOSSIBLE,
        }
    }
}

/// Bytes may hold anything, but less likely text or a message than a field that is declared to.
fn bytes(sheet: &mut Sheet, at: usize, span: &[u8]) -> f64 {
    let plain = cost::bytes(span) + cost::LENGTH + 0.5;
    let text = sheet.text(at).map_or(f64::INFINITY, |text| text.nats + cost::LENGTH + 1.2);
    let other = if span.len() > 2 { sheet.opaque(at) + 2.0 } else { f64::INFINITY };
    -plain.min(text).min(other)
}

/// More than one is more costly than as plain bytes, or a bool would take whatever comes.
fn boolean(value: u64, is_implicit: bool) -> f64 {
    match value {
        1 if is_implicit => 0.02,
        1 => 0.55,
        0 => 0.9,
        _ => 22.0 + 1.2 * below_highest_bit(value),
    }
}

fn enumeration(declared: &Enumeration, value: u64) -> f64 {
    let number = value.cast_signed();
    match number {
        0 if declared.declares(0) => 2.5,
        _ if declared.declares(number) => declared.log_choices + 0.07,
        // A newer producer may know more numbers, but they follow closely.
        _ => 6.0 + 1.3 * below_highest_bit(number.unsigned_abs()) + if value >= 1 << 14 { 18.0 } else { 0.0 },
    }
}
