//! Whole numbers and fractions, which compare and calculate with each other.
//!
//! JSON does not tell them apart, and whether a price is written `5` or `5.0` is up to the program that wrote it.

use std::cmp::Ordering;

use super::{failure::Fault, node::Arithmetic, value::Value};

/// `None` where one of them is no number at all.
pub(super) fn compare(left: &Value<'_>, right: &Value<'_>) -> Option<Ordering> {
    match (left, right) {
        (Value::Int(left), Value::Int(right)) => Some(left.cmp(right)),
        (Value::Double(left), Value::Double(right)) => left.partial_cmp(right),
        (Value::Int(left), Value::Double(right)) => compare_mixed(*left, *right),
        (Value::Double(left), Value::Int(right)) => compare_mixed(*right, *left).map(Ordering::reverse),
        _ => None,
    }
}

/// Exactly, also where the fraction has too few bits for the whole number.
fn compare_mixed(whole: i128, fraction: f64) -> Option<Ordering> {
    if fraction.is_nan() {
        return None;
    }
    // Saturates, and no whole number here comes near the bounds of an `i128`.
    let below = fraction.floor();
    Some(whole.cmp(&(below as i128)).then(if fraction > below { Ordering::Less } else { Ordering::Equal }))
}

/// `None` where one of them is no number.
pub(super) fn calculate(
    operation: Arithmetic,
    left: &Value<'_>,
    right: &Value<'_>,
) -> Option<Result<Value<'static>, Fault>> {
    Some(match (left, right) {
        (Value::Int(left), Value::Int(right)) => calculate_whole(operation, *left, *right),
        (Value::Double(left), Value::Double(right)) => calculate_fraction(operation, *left, *right),
        (Value::Int(left), Value::Double(right)) => calculate_fraction(operation, *left as f64, *right),
        (Value::Double(left), Value::Int(right)) => calculate_fraction(operation, *left, *right as f64),
        _ => return None,
    })
}

fn calculate_whole(operation: Arithmetic, left: i128, right: i128) -> Result<Value<'static>, Fault> {
    let result = match operation {
        Arithmetic::Add => left.checked_add(right),
        Arithmetic::Subtract => left.checked_sub(right),
        Arithmetic::Multiply => left.checked_mul(right),
        Arithmetic::Divide | Arithmetic::Remainder if right == 0 => return Err(Fault::DivisionByZero),
        Arithmetic::Divide => left.checked_div(right),
        Arithmetic::Remainder => left.checked_rem(right),
    };
    result.and_then(whole).ok_or(Fault::Overflow)
}

fn calculate_fraction(operation: Arithmetic, left: f64, right: f64) -> Result<Value<'static>, Fault> {
    Ok(Value::Double(match operation {
        Arithmetic::Add => left + right,
        Arithmetic::Subtract => left - right,
        Arithmetic::Multiply => left * right,
        Arithmetic::Divide => left / right,
        Arithmetic::Remainder if right == 0.0 => return Err(Fault::DivisionByZero),
        Arithmetic::Remainder => left % right,
    }))
}

/// A number that 64 bits hold, with or without a sign.
pub(super) fn whole(number: i128) -> Option<Value<'static>> {
    (i128::from(i64::MIN)..=i128::from(u64::MAX)).contains(&number).then_some(Value::Int(number))
}

/// Without what stands behind the point.
pub(super) fn truncated(number: f64) -> Option<Value<'static>> {
    (!number.is_nan()).then(|| whole(number as i128))?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wholes_and_fractions_compare_exactly() {
        fn check(whole: i128, fraction: f64, expected: Option<Ordering>) {
            assert_eq!(compare(&Value::Int(whole), &Value::Double(fraction)), expected, "{whole} {fraction}");
            let turned = expected.map(Ordering::reverse);
            assert_eq!(compare(&Value::Double(fraction), &Value::Int(whole)), turned, "{fraction} {whole}");
        }
        check(5, 5.0, Some(Ordering::Equal));
        check(0, -0.0, Some(Ordering::Equal));
        check(5, 5.5, Some(Ordering::Less));
        check(-5, -5.5, Some(Ordering::Greater));
        check(-6, -5.5, Some(Ordering::Less));
        check(9_007_199_254_740_993, 9_007_199_254_740_992.0, Some(Ordering::Greater));
        check(i64::MAX.into(), 9_223_372_036_854_775_808.0, Some(Ordering::Less));
        check(u64::MAX.into(), 1e300, Some(Ordering::Less));
        check(i64::MIN.into(), f64::NEG_INFINITY, Some(Ordering::Greater));
        check(0, f64::NAN, None);
    }

    #[test]
    fn calculates_or_says_why_not() {
        use Arithmetic::*;
        fn check(operation: Arithmetic, left: i128, right: i128, expected: &str) {
            let result = calculate(operation, &Value::Int(left), &Value::Int(right)).unwrap();
            assert_eq!(format!("{result:?}"), expected, "{left} {operation:?} {right}");
        }
        check(Divide, 7, 2, "Ok(Int(3))");
        check(Divide, -7, 2, "Ok(Int(-3))");
        check(Remainder, -7, 2, "Ok(Int(-1))");
        check(Divide, 1, 0, "Err(DivisionByZero)");
        check(Remainder, 1, 0, "Err(DivisionByZero)");
        check(Divide, i64::MIN.into(), -1, "Ok(Int(9223372036854775808))");
        check(Add, u64::MAX.into(), 1, "Err(Overflow)");
        check(Subtract, i64::MIN.into(), 1, "Err(Overflow)");
        check(Multiply, u64::MAX.into(), u64::MAX.into(), "Err(Overflow)");
    }

    #[test]
    fn fractions_are_cut_to_wholes_that_fit() {
        fn check(number: f64, expected: Option<i128>) {
            let whole = truncated(number).map(|value| if let Value::Int(whole) = value { whole } else { 0 });
            assert_eq!(whole, expected, "{number}");
        }
        check(-1.9, Some(-1));
        check(1.9, Some(1));
        check(f64::NAN, None);
        check(f64::INFINITY, None);
        check(1e20, None);
    }
}
