//! What a payload is once nothing wraps it any more: protobuf, JSON, MessagePack, CBOR, YAML, what languages serialize, text
//! or unknown bytes.
//!
//! Every reading is priced in nats, the negative natural logarithm of how likely the payload is under it, so that
//! readings compete in one unit and the cheapest wins. A binary format is considered only if the whole payload is one
//! value of it. This knows neither encodings nor schemas, and it never builds the values it looks at: memory does not
//! grow with what a payload claims to hold.

mod cbor;
mod json;
mod msgpack;
mod serialized;
pub(crate) mod text;

#[cfg(test)]
mod tests;

use super::{
    structure,
    wire::{self, cost},
};

/// Nats of being text of no particular kind, and of being bytes of no format we know.
const PLAIN: f64 = 2.5;
const UNKNOWN: f64 = 3.5;

/// From this many bytes on, being well-formed to the very end is proof enough of protobuf, and quicker to find out than
/// a price; unless it is text: `xxxx…` is well-formed, too.
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
    /// YAML, where it says that it is or somebody else does.
    Yaml,
    /// Python's pickle.
    Pickle,
    /// What PHP's `serialize` writes.
    Php,
    /// Java's object serialization.
    Java,
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
            Self::Yaml => "yaml",
            Self::Pickle => "pickle",
            Self::Php => "php",
            Self::Java => "java",
            Self::Binary => "binary",
        }
    }

    /// The format as one of those that are shown and never written.
    pub fn structure(self) -> Option<structure::Format> {
        match self {
            Self::Yaml => Some(structure::Format::Yaml),
            Self::Pickle => Some(structure::Format::Pickle),
            Self::Php => Some(structure::Format::Php),
            Self::Java => Some(structure::Format::Java),
            Self::Protobuf | Self::Json | Self::Text | Self::MessagePack | Self::Cbor | Self::Binary => None,
        }
    }

    /// Whether its payloads are text.
    pub fn is_text(self) -> bool {
        matches!(self, Self::Text | Self::Json | Self::Yaml)
    }
}

/// A format that a payload can be read in.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Reading {
    pub format: Format,
    /// The code length of the payload in this format.
    pub nats: f64,
}

/// All formats `payload` can be read in; `Binary` is always among them. `expected` is the one that its sender names.
pub(crate) fn readings(payload: &[u8], expected: Option<Format>) -> Vec<Reading> {
    let prices = [
        (Format::Text, text::nats(payload).map(|nats| nats + PLAIN)),
        (Format::Binary, Some(cost::bytes(payload) + UNKNOWN)),
        (Format::Json, json::nats(payload)),
        (Format::Protobuf, protobuf(payload)),
        (Format::MessagePack, msgpack::nats(payload)),
        (Format::Cbor, cbor::nats(payload)),
        (Format::Yaml, serialized::yaml(payload, expected)),
        (Format::Pickle, serialized::nats(payload, Format::Pickle, expected)),
        (Format::Php, serialized::nats(payload, Format::Php, expected)),
        (Format::Java, serialized::nats(payload, Format::Java, expected)),
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
        let is_message = wire::is_message(payload);
        if !is_message || text::nats(payload).is_none() {
            return is_message.then_some(PER_BYTE_OF_MANY * payload.len() as f64);
        }
    }
    Some(cost::message(payload)? + A_MESSAGE)
}
