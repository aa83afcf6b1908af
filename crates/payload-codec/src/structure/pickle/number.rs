//! Integers, which Python has of any length.

use std::borrow::Cow;

use super::{
    super::{Unreadable, malformed},
    value::Value,
};

/// The longest integer that is shown as a number, in bytes. Longer ones are text.
const MAX_INTEGER: usize = 64;

/// What stands there in digits.
pub(super) fn decimal<'v>(digits: &str) -> Result<Value<'v>, Unreadable> {
    let plain = digits.trim().strip_prefix('-').unwrap_or(digits.trim());
    if plain.is_empty() || !plain.bytes().all(|byte| byte.is_ascii_digit()) {
        return malformed("a number is none");
    }
    let significant = plain.trim_start_matches('0');
    let significant = if significant.is_empty() { "0" } else { significant };
    let sign = if digits.trim().starts_with('-') && significant != "0" { "-" } else { "" };
    let number = format!("{sign}{significant}");
    Ok(if significant.len() > MAX_INTEGER * 3 { Value::Text(Cow::Owned(number)) } else { Value::Number(number) })
}

/// A number of any length, the lowest byte first, in two's complement. The longest are text of hexadecimal digits, as
/// decimal ones take long to be found.
pub(super) fn long<'v>(bytes: &[u8]) -> Value<'v> {
    let is_negative = bytes.last().is_some_and(|byte| byte & 0x80 != 0);
    if bytes.len() <= 16 {
        let mut whole = [if is_negative { 0xff } else { 0 }; 16];
        whole.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
        return Value::Number(i128::from_le_bytes(whole).to_string());
    }
    let mut magnitude = bytes.to_vec();
    if is_negative {
        let mut carry = 1_u16;
        for byte in &mut magnitude {
            let sum = u16::from(!*byte).saturating_add(carry);
            (*byte, carry) = ((sum & 0xff) as u8, sum >> 8);
        }
    }
    let sign = if is_negative { "-" } else { "" };
    if bytes.len() > MAX_INTEGER {
        return Value::Text(Cow::Owned(format!("{sign}0x{}", hexadecimal_digits(&magnitude))));
    }
    Value::Number(format!("{sign}{}", decimal_digits(magnitude)))
}

fn hexadecimal_digits(little: &[u8]) -> String {
    let halves = little.iter().rev().flat_map(|byte| [byte >> 4, byte & 0xf]).skip_while(|half| *half == 0);
    let digits: String = halves.filter_map(|half| char::from_digit(half.into(), 16)).collect();
    if digits.is_empty() { "0".to_owned() } else { digits }
}

/// By division, which takes a moment for the few bytes there are.
fn decimal_digits(mut little: Vec<u8>) -> String {
    let mut digits = Vec::new();
    while little.iter().any(|byte| *byte != 0) {
        let mut rest = 0_u16;
        for byte in little.iter_mut().rev() {
            let part = rest << 8 | u16::from(*byte);
            (*byte, rest) = ((part / 10) as u8, part % 10);
        }
        digits.push(char::from(b'0' + rest as u8));
    }
    if digits.is_empty() { "0".to_owned() } else { digits.into_iter().rev().collect() }
}
