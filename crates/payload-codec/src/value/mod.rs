//! MessagePack and CBOR as JSON, and back after an edit.
//!
//! This knows the two formats. It must never know what a payload is about. What JSON has no words for is an object of
//! one member whose key begins with `#`:
//!
//! | JSON | stands for |
//! | --- | --- |
//! | `{"#base64": "…"}` | bytes |
//! | `{"#escaped": "caf\\xe9"}` | a string of MessagePack that is not UTF-8; it cannot be written |
//! | `{"#float": "NaN"}` | a number that is not finite: `NaN`, `Infinity`, `-Infinity` |
//! | `{"#ext": {"type": 5, "base64": "…"}}` | an extension of MessagePack |
//! | `{"#tag": {"tag": 0, "value": …}}` | a tagged value of CBOR |
//!
//! A number without point and exponent is an integer, any other a double. Keys that are no strings are shown as the
//! text of their JSON; [`Fidelity`] says whether a payload survives that.

mod cbor;
mod marks;
mod message_pack;

use super::{
    json::{self, Node, Position},
    limits::Limits,
};

#[cfg(test)]
mod tests;

/// The formats whose values are shown as JSON.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Format {
    /// <https://github.com/msgpack/msgpack/blob/master/spec.md>
    MessagePack,
    /// RFC 8949.
    Cbor,
}

/// A payload as JSON.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Shown {
    /// As the table above has it.
    pub json: String,
    /// Whether it can be edited without loss.
    pub fidelity: Fidelity,
}

/// What would be left of a payload that is written from its JSON.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Fidelity {
    /// Every byte.
    Exact,
    /// Every value, if not as it was laid out: single precision becomes double, lengths are written shortest.
    Values,
    /// Not every value: keys that are no strings, keys that are there twice, strings that are not UTF-8, bytes behind the end.
    Lossy,
}

/// Why a payload cannot be shown.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum Unreadable {
    /// It is beyond the limits.
    #[error("there is too much of it")]
    TooMuch,
    /// It is not of this format; why.
    #[error("{0}")]
    Malformed(String),
}

/// Why JSON cannot be written, and where.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{}:{}: {reason}", position.line, position.column)]
pub struct Unwritable {
    /// Where in the JSON.
    pub position: Position,
    /// In plain words.
    pub reason: String,
}

/// What a format has to do.
trait Codec {
    type Value;

    /// No fewer than the values of a well-formed payload, without reading them; no more than the bytes of any.
    fn count(body: &[u8]) -> usize;

    /// Reads the first value and says how many bytes it takes.
    fn read(body: &[u8], max_depth: usize) -> Result<(Self::Value, usize), String>;

    fn write(value: &Self::Value) -> Vec<u8>;

    fn to_json(value: &Self::Value) -> Node<'static>;

    /// The error is an offset in the text and a reason.
    fn from_json(node: &Node<'_>) -> Result<Self::Value, (usize, String)>;
}

/// Shows `body` as JSON.
///
/// # Errors
/// When it is not of this format, or beyond the limits.
pub fn to_json(body: &[u8], format: Format, limits: &Limits) -> Result<Shown, Unreadable> {
    match format {
        Format::MessagePack => show::<message_pack::MessagePack>(body, limits),
        Format::Cbor => show::<cbor::Cbor>(body, limits),
    }
}

/// Writes JSON that [`to_json`] made, also after an edit.
///
/// # Errors
/// The first thing that is wrong with it.
pub fn from_json(text: &str, format: Format, limits: &Limits) -> Result<Vec<u8>, Unwritable> {
    let max_nodes = limits.elements.saturating_mul(4);
    let written =
        json::read(text, max_nodes, json_depth(limits)).map_err(|error| (error.at, error.reason)).and_then(|node| {
            match format {
                Format::MessagePack => {
                    message_pack::MessagePack::from_json(&node).map(|value| message_pack::MessagePack::write(&value))
                }
                Format::Cbor => cbor::Cbor::from_json(&node).map(|value| cbor::Cbor::write(&value)),
            }
        });
    written.map_err(|(at, reason)| Unwritable { position: Position::of(text, at), reason })
}

/// A tag of CBOR takes two levels of JSON.
fn json_depth(limits: &Limits) -> usize {
    limits.depth.saturating_mul(2)
}

fn show<C: Codec>(body: &[u8], limits: &Limits) -> Result<Shown, Unreadable> {
    if body.len() > limits.bytes || C::count(body) > limits.elements {
        return Err(Unreadable::TooMuch);
    }
    let (value, n_bytes) = C::read(body, limits.depth).map_err(Unreadable::Malformed)?;
    let node = C::to_json(&value);
    let json = node.to_string();
    let fidelity =
        match json::read(&json, usize::MAX, json_depth(limits)).ok().and_then(|node| C::from_json(&node).ok()) {
            Some(again) => fidelity::<C>(body, &value, &C::write(&again), n_bytes),
            None => Fidelity::Lossy,
        };
    Ok(Shown { json, fidelity })
}

fn fidelity<C: Codec>(body: &[u8], value: &C::Value, again: &[u8], n_bytes: usize) -> Fidelity {
    if again == body {
        Fidelity::Exact
    } else if n_bytes == body.len() && again == C::write(value) {
        Fidelity::Values
    } else {
        Fidelity::Lossy
    }
}
