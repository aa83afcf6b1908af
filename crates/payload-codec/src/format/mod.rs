//! What a payload is once nothing wraps it any more: protobuf, JSON, MessagePack, CBOR, text or unknown bytes.
//!
//! Every reading is priced in nats, the negative natural logarithm of how likely the payload is under it, so that
//! readings compete in one unit and the cheapest wins. A binary format is considered only if the whole payload is one
//! value of it. This knows neither encodings nor schemas, and it never builds the values it looks at: memory does not
//! grow with what a payload claims to hold.

mod cbor;
mod json;
mod msgpack;
pub(crate) mod text;

#[cfg(test)]
mod tests;

use super::wire::{self, cost};

/// Nats of being text of no particular kind, and of being bytes of no format we know.
const PLAIN: f64 = 2.5;
const UNKNOWN: f64 = 3.5;

/// From this many bytes on, being well-formed to the very end is proof enough of protobuf, and quicker to find out than
/// a price.
const LARGE: usize = 256 << 10;

/// The format of a payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// A protobuf message; of which type is another question.
    Protobuf,
    /// RFC 8259, UTF-8.
    Json,
    /// UTF-8 of no other format.
    Text,
    /// One value of MessagePack.
    MessagePack,
    /// One item of RFC 8949.
    Cbor,
    /// Bytes of no format that is known here.
    Binary,
}

impl Format {
    /// The name by which the API and the pages call it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Protobuf => "protobuf",
            Self::Json => "json",
            Self::Text => "text",
            Self::MessagePack => "msgpack",
            Self::Cbor => "cbor",
            Self::Binary => "binary",
        }
    }
}

/// A format that a payload can be read in.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Reading {
    pub format: Format,
    /// The code length of the payload in this format.
    pub nats: f64,
}

/// All formats `payload` can be read in; `Binary` is always among them.
pub(crate) fn readings(payload: &[u8]) -> Vec<Reading> {
    let prices = [
        (Format::Text, text::nats(payload).map(|nats| nats + PLAIN)),
        (Format::Binary, Some(cost::bytes(payload) + UNKNOWN)),
        (Format::Json, json::nats(payload)),
        (Format::Protobuf, protobuf(payload)),
        (Format::MessagePack, msgpack::nats(payload)),
        (Format::Cbor, cbor::nats(payload)),
    ];
    let priced = prices.into_iter().filter_map(|(format, nats)| Some(Reading { format, nats: nats? }));
    priced.collect()
}

/// Without a schema; `None` if the bytes are not well-formed. An empty payload is a message like any other, but says so
/// by nothing at all.
fn protobuf(payload: &[u8]) -> Option<f64> {
    const EMPTY: f64 = 3.7;
    const A_MESSAGE: f64 = 0.7;
    const PER_BYTE_OF_MANY: f64 = 2.0;
    if payload.is_empty() {
        return Some(EMPTY);
    }
    if payload.len() >= LARGE {
        return wire::is_message(payload).then_some(PER_BYTE_OF_MANY * payload.len() as f64);
    }
    Some(cost::message(payload)? + A_MESSAGE)
}
