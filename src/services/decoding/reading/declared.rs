//! Payloads that are not what is said of them, or that readers take differently: that may well be why they have failed.

use payload_codec::{
    Format, Limits,
    json::{self, Position},
    message,
    unwrap::Unwrapped,
};
use prost_reflect::MessageDescriptor;

use super::Question;

/// What is wrong with a payload that is said to be JSON and is none.
pub(super) fn no_json(question: &Question<'_>, unwrapped: &Unwrapped) -> Option<String> {
    let content_type = question.properties.content_type.as_deref().unwrap_or_default();
    if !content_type.contains("json") || unwrapped.payload().is_empty() {
        return None;
    }
    match unwrapped.format {
        Format::Text => {
            let text = String::from_utf8_lossy(unwrapped.payload());
            let limits = Limits::default();
            let error = json::read(&text, limits.elements, limits.depth).err()?;
            let Position { line, column } = Position::of(&text, error.at);
            Some(format!("It is declared as JSON, but in line {line}, column {column}: {}.", error.reason))
        }
        Format::Binary => Some("It is declared as JSON, but it is not text.".to_owned()),
        _ => None,
    }
}

/// What is wrong with a payload that is said to be a message of that type, and looks like none.
pub(super) fn no_message(unwrapped: &Unwrapped, of: &MessageDescriptor, limits: &Limits) -> Option<String> {
    if unwrapped.format != Format::Binary || unwrapped.payload().is_empty() {
        return None;
    }
    let decoded = message::decode(unwrapped.payload(), of, limits);
    let problem = decoded.problems.first()?;
    Some(format!("It is said to be {}, but cannot be read as one ({problem}).", of.full_name()))
}

/// What is in a JSON payload a second time.
pub(super) fn repeated(unwrapped: &Unwrapped, limits: &Limits) -> Option<String> {
    let text = std::str::from_utf8(unwrapped.payload()).ok().filter(|_| unwrapped.format == Format::Json)?;
    let node = json::read(text, limits.elements, limits.depth).ok()?;
    // The key may be something to be hidden.
    let Position { line, column } = Position::of(text, node.repeated()?.at);
    Some(format!(
        "In line {line}, column {column}, a key stands a second time in one object: most readers take the last, some the first."
    ))
}
