//! What a number costs in a field whose name says what it counts.

use super::super::names::NumberMeaning;
use crate::wire::{
    cost::{self, magnitude},
    varint::unzigzag,
};

/// A value that does not fit its 32 bits: a serializer of this type cannot have written it.
const OVERFLOW: f64 = 26.0;

/// A whole number without a sign.
pub fn unsigned(meaning: NumberMeaning, value: u64, width: u32) -> f64 {
    if exceeds(value, width) {
        return OVERFLOW + cost::below_highest_bit(value);
    }
    whole(meaning, value, width)
}

/// `int32` or `int64`: a negative one takes ten bytes, so whoever expects many chooses another type.
pub fn signed(meaning: NumberMeaning, value: u64, width: u32) -> f64 {
    let number = value.cast_signed();
    if width == 32 && i32::try_from(number).is_err() {
        return OVERFLOW + cost::below_highest_bit(value);
    }
    let sign = if number < 0 { 3.4 } else { 0.03 };
    sign + whole(meaning, number.unsigned_abs(), width)
}

/// `sint32` or `sint64`: chosen where negative numbers are common.
pub fn zigzag(meaning: NumberMeaning, value: u64, width: u32) -> f64 {
    if exceeds(value, width) {
        return OVERFLOW + cost::below_highest_bit(value);
    }
    let number = unzigzag(value);
    let sign = if number < 0 { 1.2 } else { 0.4 };
    sign + whole(meaning, number.unsigned_abs(), width)
}

/// `sfixed32` or `sfixed64`.
pub fn signed_fixed(meaning: NumberMeaning, number: i64, width: u32) -> f64 {
    let sign = if number < 0 { 2.0 } else { 0.1 };
    sign + whole(meaning, number.unsigned_abs(), width)
}

/// A float or a double, whose cost without a name is `nats`.
pub fn real(meaning: NumberMeaning, value: f64, nats: f64) -> f64 {
    let sooner = match meaning {
        NumberMeaning::Coordinate if value.abs() <= 180.0 => 0.8,
        NumberMeaning::Coordinate => -3.0,
        NumberMeaning::Share if (0.0..=1.0).contains(&value) => 1.0,
        NumberMeaning::Share => -1.5,
        _ => 0.0,
    };
    nats - sooner
}

fn exceeds(value: u64, width: u32) -> bool {
    width == 32 && value > u64::from(u32::MAX)
}

fn whole(meaning: NumberMeaning, value: u64, width: u32) -> f64 {
    let width = f64::from(width);
    let plain = magnitude(value, width);
    let expected = match meaning {
        NumberMeaning::Any if is_recent(value) => return plain + 0.7,
        NumberMeaning::Any | NumberMeaning::Coordinate | NumberMeaning::Share => return plain,
        // Evenly spread over all its bits.
        NumberMeaning::Id | NumberMeaning::Hash => (plain + 0.4).min(width * std::f64::consts::LN_2 * 0.98),
        NumberMeaning::Size | NumberMeaning::Count => plain,
        _ => special(meaning, value, plain),
    };
    expected.min(plain + 2.5)
}

/// Numbers of a range of their own, or of a few favourites.
fn special(meaning: NumberMeaning, value: u64, plain: f64) -> f64 {
    use NumberMeaning::{Calendar, Code, Duration, Index, Nanos, Percent, Pixels, Port, Time, Year};
    match (meaning, value) {
        (Time, _) => time(value).unwrap_or(plain + 2.3),
        (Nanos, 0..1_000_000_000) => 1.3 + clock_ticks(value),
        (Port, 80 | 443 | 5672 | 8080 | 9092) => 2.3,
        (Port, 0..65536) => 11.5,
        (Code, 200 | 201 | 400 | 404 | 409 | 429 | 500 | 502 | 503) => 2.9,
        (Code, 100..600) => 7.0,
        (Code, 0..=16) => 3.9,
        (Code, _) => plain + 1.2,
        (Year, 1970..2100) => 3.2,
        (Calendar, 0..=31) => 3.1,
        (Percent, 0..=100) => 4.6,
        (Duration, 30 | 60 | 300 | 3600 | 5000 | 30000) => 3.4,
        (Duration, 0..100_000_000) => (plain - 0.4).max(0.0),
        (Pixels, 480 | 640 | 720 | 1080 | 1920) => 3.0,
        (Pixels, 0..8192) => 8.5,
        (Index, 0..4) => 1.6,
        (Index, 4..21) => 4.0,
        (Index, 21..500) => 7.3,
        _ => plain + 2.5,
    }
}

/// Clocks tick in milliseconds, microseconds or nanoseconds.
fn clock_ticks(nanos: u64) -> f64 {
    match nanos {
        _ if nanos.is_multiple_of(1_000_000) => 6.9,
        _ if nanos.is_multiple_of(1000) => 14.0,
        _ => 20.7,
    }
}

/// A time from 2010 to 2034 in seconds, milliseconds, microseconds or nanoseconds since 1970.
fn time(value: u64) -> Option<f64> {
    let units = [(1, 0.0), (1000, 6.907), (1_000_000, 13.815), (1_000_000_000, 20.72)];
    let unit = units.iter().find(|(unit, _)| (1_262_304_000..2_051_222_400).contains(&(value / unit)))?;
    Some(7.9e8_f64.ln() + 1.4 + unit.1)
}

/// Such a number is seldom anything else.
fn is_recent(value: u64) -> bool {
    value > 1_500_000_000 && time(value).is_some()
}
