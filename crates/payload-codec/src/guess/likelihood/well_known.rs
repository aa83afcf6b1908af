//! Google's own types whose values have a form of their own.

use super::{
    super::{
        schema::WellKnown,
        sheet::{Inner, Sheet},
    },
    IMPOSSIBLE, Likelihood, UNKNOWN_FIELD,
};
use crate::wire::{Value, cost};

/// A field they do not declare: they never change, so it is something else.
const UNDECLARED: f64 = UNKNOWN_FIELD + 6.0;
/// A type's name, if it is one of ours.
const TYPE_URL: f64 = 11.5;

impl Likelihood<'_> {
    pub(super) fn well_known(&self, which: WellKnown, sheet: &mut Sheet, span: u32, depth: u32) -> f64 {
        match which {
            WellKnown::Timestamp => pair(sheet, span, 5.0, seconds, nanos),
            WellKnown::Duration => pair(sheet, span, 1.0, length, fraction),
            WellKnown::Any => self.any(sheet, span, depth),
        }
    }

    /// A type's URL and a message of that type (<https://protobuf.dev/programming-guides/proto3/#any>).
    fn any(&self, sheet: &mut Sheet, span: u32, depth: u32) -> f64 {
        let mut log = -2.0;
        let mut within = None;
        for at in sheet.span(span).tokens.clone() {
            let token = *sheet.token(at);
            match (token.number, token.value) {
                (1, Value::Len(url)) => {
                    let Some(name) = type_name(url) else { return IMPOSSIBLE };
                    within = self.schema.named(name).first().copied();
                    log -= if within.is_some() { TYPE_URL } else { cost::bytes(url) };
                }
                (2, Value::Len(_)) => log += self.any_value(sheet, at, within, depth),
                (1 | 2, _) => return IMPOSSIBLE,
                _ => log -= UNDECLARED + sheet.opaque(at),
            }
        }
        log
    }

    fn any_value(&self, sheet: &mut Sheet, at: usize, within: Option<u32>, depth: u32) -> f64 {
        match (within, sheet.inner(at)) {
            (None, _) => -sheet.opaque(at),
            (Some(id), Inner::Span(span)) => self.message(sheet, id, span, depth + 1),
            (Some(_), _) => -12.0 - sheet.opaque(at),
        }
    }
}

fn type_name(url: &[u8]) -> Option<&str> {
    std::str::from_utf8(url).ok()?.rsplit_once('/').map(|(_, name)| name)
}

/// Two numbers, at the field numbers one and two.
fn pair(sheet: &mut Sheet, span: u32, empty: f64, first: fn(u64) -> f64, second: fn(u64) -> f64) -> f64 {
    let tokens = sheet.span(span).tokens.clone();
    let mut nats = if tokens.is_empty() { empty } else { 0.0 };
    for at in tokens {
        let token = sheet.token(at);
        nats += match (token.number, token.value) {
            (1, Value::Varint(value)) => first(value),
            (2, Value::Varint(value)) => second(value),
            (1 | 2, _) => return IMPOSSIBLE,
            _ => UNDECLARED + sheet.opaque(at),
        };
    }
    -nats
}

/// Since 1970; mostly from 2000 to 2040.
fn seconds(value: u64) -> f64 {
    if (946_684_800..2_208_988_800).contains(&value) { 20.3 } else { 30.0 + cost::below_highest_bit(value) }
}

fn nanos(value: u64) -> f64 {
    match value {
        1_000_000_000.. => 60.0,
        _ if value.is_multiple_of(1_000_000) => 8.3,
        _ if value.is_multiple_of(1000) => 15.2,
        _ => 21.8,
    }
}

fn length(seconds: u64) -> f64 {
    match seconds {
        1 | 5 | 10 | 30 | 60 | 300 | 3600 | 86400 => 3.2,
        _ => 5.0 + cost::below_highest_bit(seconds.cast_signed().unsigned_abs()),
    }
}

fn fraction(nanos: u64) -> f64 {
    if nanos.is_multiple_of(1_000_000) { 9.0 } else { 22.0 }
}
