//! What a number costs to write down, in nats, when all that is known of it is its width.

use std::f64::consts::LN_2;

/// A double that is no round number: its 52 bits of fraction.
const ANY_DOUBLE: f64 = 36.0;
/// Likewise of 23 bits.
const ANY_FLOAT: f64 = 16.0;

/// A whole number of at most `width` bits, every bit length as likely as any other.
pub fn magnitude(value: u64, width: f64) -> f64 {
    width.ln() + below_highest_bit(value)
}

/// The bits behind the highest one.
pub fn below_highest_bit(value: u64) -> f64 {
    f64::from(value.checked_ilog2().unwrap_or_default()) * LN_2
}

/// A double: cheap when it is a decimal of few digits, as what people and programs mean to say mostly is.
pub fn double(value: f64) -> f64 {
    match decimal(value, 1e-13, f64::MAX) {
        Some(cost) => cost,
        None if !value.is_finite() => 44.0,
        None => sign(value) + fraction(value, ANY_DOUBLE, 52.0),
    }
}

/// A float, likewise.
pub fn float(value: f32) -> f64 {
    let value = f64::from(value);
    match decimal(value, 2e-7, 3e6) {
        Some(cost) => cost,
        None if !value.is_finite() => 22.0,
        None => sign(value) + fraction(value, ANY_FLOAT, 25.0),
    }
}

fn sign(value: f64) -> f64 {
    if value < 0.0 { 1.0 } else { 0.2 }
}

/// The cost of a number that has at most six decimal places. `largest` is the largest run of digits that is told from
/// chance.
fn decimal(value: f64, tolerance: f64, largest: f64) -> Option<f64> {
    if value == 0.0 {
        return Some(2.0);
    }
    let mut digits = value.abs();
    for places in 0..=6 {
        if digits >= 1e13 {
            return None;
        }
        let whole = digits.round();
        if whole >= 1.0 && (digits - whole).abs() <= digits * tolerance {
            let cost = sign(value) + 2.5 + 0.65 * f64::from(places) + whole.ln_1p();
            return (whole <= largest).then_some(cost);
        }
        digits *= 10.0;
    }
    None
}

/// A number at full precision; the further from one, the less likely.
fn fraction(value: f64, bits: f64, extreme: f64) -> f64 {
    let size = value.abs();
    if (1e-6..1e9).contains(&size) {
        bits + 3.2 + size.ln().abs() * 0.12
    } else if (1e-12..1e15).contains(&size) {
        bits + 9.0
    } else {
        extreme
    }
}
