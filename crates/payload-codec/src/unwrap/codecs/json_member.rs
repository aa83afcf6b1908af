//! A message that travels as text in one member of a JSON object.
//!
//! Only members whose name says that the message is in them are looked at: tokens and keys are often base64 of
//! something as well, and there the object itself is the message.

use std::collections::HashSet;

use super::{
    super::escaping,
    Decoded,
    hole::{Filling, Hole},
    json_object::JsonObject,
};
use crate::format::{Format, text};

/// Names of members that hold a message.
const NAMES: [&str; 14] = [
    "payload", "data", "body", "message", "msg", "content", "event", "value", "proto", "protobuf", "bytes", "raw",
    "binary", "blob",
];

/// Shorter texts hold no message worth the loss of the object around it.
const MIN_CHARS: usize = 8;

/// Nats of a message being there.
const RARE: f64 = 4.0;

/// Undoes it, and says in which member it was.
pub(in super::super) fn decode(body: &[u8]) -> Option<Decoded<(String, Hole)>> {
    let object = JsonObject::read(body, "")?;
    let is_known = |name: &str| NAMES.iter().any(|known| name.eq_ignore_ascii_case(known));
    let mut tried = HashSet::new();
    // Of members of one name the first counts.
    let mut members = object.members().filter(|(name, _)| is_known(name) && tried.insert(*name));
    members.find_map(|(name, value)| member(&object, name, value, body))
}

fn member(object: &JsonObject, name: &str, value: &str, body: &[u8]) -> Option<Decoded<(String, Hole)>> {
    let (text, escaping) = escaping::read(value)?;
    if text.len() < MIN_CHARS || text.contains(char::is_whitespace) {
        return None;
    }
    let hole = object.hole(value, Filling::Text(escaping))?;
    let around = text::nats(hole.before.as_bytes())? + text::nats(hole.after.as_bytes())?;
    let is_irregular = hole.is_irregular(text.as_bytes(), body);
    let decoded = Decoded::new((name.to_owned(), hole), text.into_bytes(), around + RARE);
    Some(Decoded { is_irregular, ..decoded.holding(&[Format::Protobuf]) })
}
