//! Confluent's wire format: a zero, a schema's id of 4 bytes and, for protobuf, which message of the schema it is
//! (<https://docs.confluent.io/platform/current/schema-registry/fundamentals/serdes-develop/index.html#wire-format>).

use super::Decoded;
use crate::{
    format::Format,
    wire::{cost, varint},
};

/// Messages nested deeper than this are not looked for.
const MAX_INDEXES: u64 = 16;

/// A schema with more messages is not believed.
const MAX_INDEX: u64 = 2000;

/// Registries count schemas from 1.
const MAX_SCHEMA_ID: u32 = 1 << 24;

/// Nats of being framed so.
const RARE: f64 = 5.0;

/// Confluent's framing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Confluent {
    /// The schema's number in the registry.
    pub schema_id: u32,
    /// The way to the message in the schema; empty if the payload is JSON, which needs none.
    pub indexes: Vec<u32>,
    /// All before the payload: the first message can be written in two ways.
    pub head: Vec<u8>,
}

impl Confluent {
    pub(in super::super) fn encode(&self, payload: &[u8]) -> Vec<u8> {
        [&self.head, payload].concat()
    }
}

pub(in super::super) fn decode(body: &[u8]) -> Option<Decoded<Confluent>> {
    let (&[0, id @ ..], rest) = body.split_first_chunk::<5>()? else { return None };
    let schema_id = u32::from_be_bytes(id);
    if schema_id >= MAX_SCHEMA_ID {
        return None;
    }
    let nats = RARE + cost::magnitude(schema_id.into(), 32.0);
    let json = rest.first().is_some_and(|byte| b"{[\"".contains(byte));
    let (indexes, n_bytes) = if json { (Vec::new(), 0) } else { read_indexes(rest)? };
    let (head, payload) = body.split_at_checked(5 + n_bytes)?;
    let formats: &[Format] = if json { &[Format::Json] } else { &[Format::Protobuf] };
    let nats = nats + indexes.iter().map(|index| 1.0 + cost::magnitude((*index).into(), 4.0)).sum::<f64>();
    let confluent = Confluent { schema_id, indexes, head: head.to_vec() };
    Some(Decoded::new(confluent, payload.to_vec(), nats).holding(formats))
}

/// The way to the message, and how many bytes say it. A single zero is short for the first message.
fn read_indexes(bytes: &[u8]) -> Option<(Vec<u32>, usize)> {
    let count = varint::read(bytes, 0).ok()?;
    if count.value == 0 {
        return Some((vec![0], count.end));
    }
    let n = varint::unzigzag(count.value);
    let n = u64::try_from(n).ok().filter(|n| (1..=MAX_INDEXES).contains(n))?;
    let mut at = count.end;
    let mut indexes = Vec::new();
    for _ in 0..n {
        let index = varint::read(bytes, at).ok()?;
        at = index.end;
        let number = u64::try_from(varint::unzigzag(index.value)).ok().filter(|index| *index < MAX_INDEX)?;
        indexes.push(u32::try_from(number).ok()?);
    }
    Some((indexes, at))
}
