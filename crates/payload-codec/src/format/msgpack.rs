//! MessagePack (<https://github.com/msgpack/msgpack/blob/master/spec.md>), as far as telling it from other bytes goes.

use super::text;
use crate::wire::cost;

/// Nats of being MessagePack, of which little is seen on RabbitMQ.
const RARE: f64 = 8.0;

/// Nats of the type of a value.
const A_TYPE: f64 = 2.0;

/// The code length of one map or array with nothing after it. Other values are too easily met in other bytes.
pub(super) fn nats(bytes: &[u8]) -> Option<f64> {
    if !matches!(bytes.first()?, 0x81..=0x8f | 0x91..=0x9f | 0xdc..=0xdf) {
        return None;
    }
    let mut rest = bytes;
    let mut nats = RARE;
    let mut n_values: u64 = 1;
    while n_values > 0 {
        let value = value(&mut rest)?;
        nats += A_TYPE + value.nats;
        n_values = (n_values - 1).saturating_add(value.n_inside);
    }
    rest.is_empty().then_some(nats)
}

/// A value, or the head of a map or an array.
struct Value {
    nats: f64,
    /// The values that follow as its parts.
    n_inside: u64,
}

fn value(rest: &mut &[u8]) -> Option<Value> {
    let head = *take(rest, 1)?.first()?;
    let leaf = |nats| Some(Value { nats, n_inside: 0 });
    match head {
        0x00..=0x7f => leaf(2.0 + f64::from(head).max(1.0).ln()),
        0x80..=0x8f => container(u64::from(head & 0x0f) * 2),
        0x90..=0x9f => container(u64::from(head & 0x0f)),
        0xa0..=0xbf => leaf(string(rest, u64::from(head & 0x1f))?),
        0xc0 | 0xc2 | 0xc3 => leaf(0.7),
        0xc4..=0xc6 => {
            let n = number(rest, 1 << (head - 0xc4))?;
            leaf(opaque(rest, n)?)
        }
        0xc7..=0xc9 => {
            let n = number(rest, 1 << (head - 0xc7))?;
            leaf(opaque(rest, n.checked_add(1)?)?)
        }
        0xca | 0xcb => leaf(opaque(rest, if head == 0xca { 4 } else { 8 })?),
        0xcc..=0xcf => leaf(integer(number(rest, 1 << (head - 0xcc))?)),
        0xd0..=0xd3 => leaf(integer(number(rest, 1 << (head - 0xd0))?)),
        0xd4..=0xd8 => leaf(opaque(rest, (1 << (head - 0xd4)) + 1)?),
        0xd9..=0xdb => {
            let n = number(rest, 1 << (head - 0xd9))?;
            leaf(string(rest, n)?)
        }
        0xdc | 0xdd => container(number(rest, if head == 0xdc { 2 } else { 4 })?),
        0xde | 0xdf => container(number(rest, if head == 0xde { 2 } else { 4 })?.saturating_mul(2)),
        0xc1 | 0xe0..=0xff => {
            if head == 0xc1 {
                None
            } else {
                leaf(5.0)
            }
        }
    }
}

fn container(n_inside: u64) -> Option<Value> {
    Some(Value { nats: integer(n_inside) / 2.0, n_inside })
}

/// A big-endian number of `width` bytes.
fn number(rest: &mut &[u8], width: u64) -> Option<u64> {
    Some(take(rest, width)?.iter().fold(0, |number, byte| number << 8 | u64::from(*byte)))
}

fn integer(number: u64) -> f64 {
    3.0 + (number.max(1) as f64).ln()
}

fn string(rest: &mut &[u8], n: u64) -> Option<f64> {
    Some(1.0 + text::nats(take(rest, n)?)?)
}

fn opaque(rest: &mut &[u8], n: u64) -> Option<f64> {
    Some(cost::bytes(take(rest, n)?))
}

fn take<'a>(rest: &mut &'a [u8], n: u64) -> Option<&'a [u8]> {
    let (taken, after) = rest.split_at_checked(usize::try_from(n).ok()?)?;
    *rest = after;
    Some(taken)
}
