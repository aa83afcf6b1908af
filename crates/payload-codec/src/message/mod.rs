//! Protobuf payloads whose type is known: as JSON, and back to bytes after an edit.
//!
//! It knows descriptors, the wire format and the JSON mapping of protobuf. It must never know where a descriptor came
//! from or whose payload it is. `prost_reflect::DynamicMessage` is not used, because it refuses a whole message for one
//! string that is not UTF-8, cuts numbers that do not fit without a word, and drops unknown fields where it writes JSON.
//!
//! # The JSON
//! It is that of <https://protobuf.dev/programming-guides/json/>: a field that is not there is left out, one that is
//! there is shown even if it is zero. Fields stand in the order of the wire. Keys that begin with `#` hold what that
//! mapping has no words for; no field of a schema can be called so.
//!
//! | JSON | stands for |
//! | --- | --- |
//! | `"#17": {"varint": "300"}` in a message | the unknown field 17; several of them are an array |
//! | `{"varint": …}`, `{"fixed32": …}`, `{"fixed64": …}` | such a number, without a sign |
//! | `{"bytes": "base64"}`, `{"group": {"#1": …}}` | bytes or a message; a group of unknown fields |
//! | `{"#varint": "2"}` in place of a value | a number that does not fit the type, such as 2 for a boolean |
//! | `{"#fixed32": …}`, `{"#fixed64": …}` likewise | the bits of a NaN that is not the usual one |
//! | `{"#escaped": "caf\\xe9"}` likewise | a string that is not UTF-8; a backslash in it is doubled |
//! | `{"#bytes": …}`, `{"#group": …}` likewise | a message that is nested too deeply to be read |
//! | `{"#message": {…}}` likewise | the fields of a well-known type whose own form cannot hold them |
//! | `"#rest": "base64"` in a message | the bytes behind the place where it stops to be protobuf |
//! | `"#truncated": 12` in a message | bytes that were not read because there are too many; not to be edited |
//! | `"•••4"` in place of a value | a hidden value, see [`Masks`] |
//!
//! A field that has another wire type than the schema says is as good as unknown, as it is to every parser.

mod declaration;
mod declared;
mod encode;
mod encoded;
mod mask;
mod mask_json;
mod model;
mod notes;
mod raw_json;
mod read;
mod render;
mod scalar;
mod settle;
mod well_known;

use prost_reflect::MessageDescriptor;

use super::limits::Limits;

pub use encode::{EncodeProblem, encode};
pub use mask::{MASK, Masks};
pub use model::Decoded;
pub use notes::Problem;

#[cfg(test)]
mod tests;

/// Reads `body` as a message of the type that `descriptor` describes.
///
/// It never fails: what is not as the schema says is kept as the wire has it, and reported.
pub fn decode<'a>(body: &'a [u8], descriptor: &MessageDescriptor, limits: &Limits) -> Decoded<'a> {
    let mut reader = read::Reader::new(limits);
    let mut message = model::Message::new(descriptor.clone());
    reader.whole(&mut message, body);
    settle::settle(&mut reader, &mut message, 0);
    Decoded { message, truncated: reader.truncated, problems: reader.notes.problems }
}

impl Decoded<'_> {
    /// Whether all of it was read and is as the schema says: no problem, and no field that the schema does not describe.
    pub fn fits_schema(&self) -> bool {
        self.problems.is_empty() && !self.truncated && self.message.entries.iter().all(|entry| entry.is_known())
    }

    /// The message as JSON, indented by two spaces. With `masks`, what they hide is replaced by marks.
    pub fn to_json(&self, masks: Option<&Masks>) -> String {
        render::render(&self.message, masks).node.to_string()
    }
}
