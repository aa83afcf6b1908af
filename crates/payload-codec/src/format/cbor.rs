//! CBOR (RFC 8949), as far as telling it from other bytes goes.

use super::text;
use crate::wire::cost;

/// Nats of being CBOR, of which little is seen on RabbitMQ.
const RARE: f64 = 8.0;

/// Nats of the type of an item.
const A_TYPE: f64 = 2.0;

/// Deeper nested items are not recognised.
const MAX_NESTING: usize = 128;

/// Marks an array, a map or a string that ends with a break instead of after a count (RFC 8949 §3.2.1).
const UNTIL_BREAK: u64 = u64::MAX;

/// The code length of one map or array, tagged or not, with nothing after it. Other items are too easily met in other
/// bytes.
pub(super) fn nats(bytes: &[u8]) -> Option<f64> {
    if !matches!(bytes.first()?, 0x81..=0x9b | 0x9f | 0xa1..=0xbb | 0xbf | 0xd9) {
        return None;
    }
    let mut rest = bytes;
    let mut nats = RARE;
    // How many items each open array or map still waits for.
    let mut open: Vec<u64> = vec![1];
    while let Some(n_missing) = open.last_mut() {
        if *n_missing == 0 {
            open.pop();
            continue;
        }
        let item = item(&mut rest)?;
        nats += A_TYPE + item.nats;
        match item.inside {
            Inside::Break if *n_missing == UNTIL_BREAK => *n_missing = 0,
            Inside::Break => return None,
            Inside::Items(0) => count_down(n_missing),
            Inside::Items(n) => {
                count_down(n_missing);
                open.push(n);
            }
        }
        if open.len() > MAX_NESTING {
            return None;
        }
    }
    rest.is_empty().then_some(nats)
}

fn count_down(n_missing: &mut u64) {
    if *n_missing != UNTIL_BREAK {
        *n_missing -= 1;
    }
}

/// What follows the head of an item as its parts.
enum Inside {
    Items(u64),
    Break,
}

struct Item {
    nats: f64,
    inside: Inside,
}

fn item(rest: &mut &[u8]) -> Option<Item> {
    let head = *take(rest, 1)?.first()?;
    if head == 0xff {
        return Some(Item { nats: 0.0, inside: Inside::Break });
    }
    let (major, info) = (head >> 5, head & 0x1f);
    let argument = argument(rest, major, info)?;
    let leaf = |nats| Some(Item { nats, inside: Inside::Items(0) });
    let holding = |n| Some(Item { nats: 2.0, inside: Inside::Items(n) });
    match major {
        0 | 1 => leaf(3.0 + (argument.max(1) as f64).ln()),
        2 | 3 if argument == UNTIL_BREAK => holding(UNTIL_BREAK),
        2 => leaf(cost::bytes(take(rest, argument)?)),
        3 => leaf(1.0 + text::nats(take(rest, argument)?)?),
        4 => holding(argument),
        5 if argument == UNTIL_BREAK => holding(UNTIL_BREAK),
        5 => holding(argument.saturating_mul(2).min(UNTIL_BREAK - 1)),
        6 => holding(1),
        _ => leaf(if info < 24 { 0.7 } else { cost::BYTE * f64::from(1_u8 << (info - 24).min(3)) }),
    }
}

/// The number in or after a head (RFC 8949 §3).
fn argument(rest: &mut &[u8], major: u8, info: u8) -> Option<u64> {
    match info {
        0..=23 => Some(info.into()),
        24..=27 => {
            let bytes = take(rest, 1 << (info - 24))?;
            let number = bytes.iter().fold(0, |number, byte| number << 8 | u64::from(*byte));
            (major < 2 || number != UNTIL_BREAK).then_some(number)
        }
        31 if (2..=5).contains(&major) => Some(UNTIL_BREAK),
        _ => None,
    }
}

fn take<'a>(rest: &mut &'a [u8], n: u64) -> Option<&'a [u8]> {
    let (taken, after) = rest.split_at_checked(usize::try_from(n).ok()?)?;
    *rest = after;
    Some(taken)
}
