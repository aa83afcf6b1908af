//! How much is read and shown.

use super::Unreadable;
use crate::{json::Node, limits::Limits};

/// Bytes of text and bytes that may be shown in all, over those that a payload has: a value that stands in many places is
/// shown in each.
const SPREAD: usize = 4;

/// More of them, in bytes: the name of a class is shown with each of its objects, which take less than it does.
const ROOM: usize = 1 << 20;

/// Values and levels that are left.
pub(super) struct Budget {
    values: usize,
    bytes: usize,
    depth: usize,
}

impl Budget {
    pub fn new(n_bytes: usize, limits: &Limits) -> Self {
        Self {
            values: limits.elements,
            bytes: n_bytes.saturating_mul(SPREAD).saturating_add(ROOM),
            depth: limits.depth,
        }
    }

    /// One more value.
    pub fn value(&mut self) -> Result<(), Unreadable> {
        self.values = self.values.checked_sub(1).ok_or(Unreadable::TooMuch)?;
        Ok(())
    }

    /// A string or bytes of that length.
    pub fn content(&mut self, n_bytes: usize) -> Result<(), Unreadable> {
        self.bytes = self.bytes.checked_sub(n_bytes).ok_or(Unreadable::TooMuch)?;
        Ok(())
    }

    /// One level deeper, until [`leave`](Self::leave).
    pub fn enter(&mut self) -> Result<(), Unreadable> {
        self.depth = self.depth.checked_sub(1).ok_or(Unreadable::TooMuch)?;
        Ok(())
    }

    pub fn leave(&mut self) {
        self.depth = self.depth.saturating_add(1);
    }

    /// The text of a key. Of one that is no string it is that of its JSON, in which that of a key in it is quoted once more and so
    /// twice as long.
    pub fn key(&mut self, node: &Node<'_>) -> Result<String, Unreadable> {
        let text = match node.as_text() {
            Some(text) => return Ok(text.to_owned()),
            None => node.to_string().split_whitespace().collect::<Vec<_>>().join(" "),
        };
        self.content(text.len())?;
        Ok(text)
    }
}

/// Bytes as text where they are UTF-8, and else as bytes.
pub(super) fn text_or_bytes(bytes: &[u8]) -> Node<'static> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Node::text(text.to_owned()),
        Err(_) => base64(bytes),
    }
}

pub(super) fn base64(bytes: &[u8]) -> Node<'static> {
    Node::pair("#base64", Node::text(base64::Engine::encode(&base64::prelude::BASE64_STANDARD, bytes)))
}

/// With a point or an exponent, or as a word.
pub(super) fn float(number: f64) -> Node<'static> {
    let word = match number {
        number if number.is_finite() => return Node::number(format!("{number:?}")),
        number if number.is_nan() => "NaN",
        number if number > 0.0 => "Infinity",
        _ => "-Infinity",
    };
    Node::pair("#float", Node::text(word))
}
