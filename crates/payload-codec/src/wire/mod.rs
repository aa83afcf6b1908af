//! The wire format of protobuf, without any descriptor: bytes to fields, and what those bytes cost to write down.
//!
//! It knows <https://protobuf.dev/programming-guides/encoding/> and nothing else: no names, no types, no envelopes.
//! It never copies a payload, never recurses by what the input says, and reads no further than the first error.

pub(crate) mod cost;
mod field;
mod group;
mod malformed;
mod number;
pub(crate) mod packed;
mod tag;
pub mod varint;

pub use field::{Field, Fields, Value, WireType, fields};
pub use group::MAX_GROUP_DEPTH;
pub use malformed::{Malformed, Why};
pub use packed::Width;
pub use tag::MAX_NUMBER;

/// Whether the whole span reads as fields, one after the other, to its very end. The empty span does: as no fields.
///
/// ```
/// use payload_codec::wire::is_message;
///
/// assert!(is_message(&[0x08, 0x01]));
/// assert!(!is_message(&[0x08]));
/// ```
pub fn is_message(span: &[u8]) -> bool {
    fields(span).all(|field| field.is_ok())
}

#[cfg(test)]
mod tests;
