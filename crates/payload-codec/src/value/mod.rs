//! MessagePack and CBOR as JSON, and back after an edit.
//!
//! This knows the two formats. It must never know what a payload is about. What JSON has no words for is an object of
//! one member whose key begins with `#`:
//!
//! | JSON | stands for |
//! | --- | --- |
//! | `{"#base64": "…"}` | bytes |
//! | `{"#escaped": "caf\\xe9"}` | a string of MessagePack that is not UTF-8 |
//! | `{"#float": "NaN"}` | a number that is not finite: `NaN`, `Infinity`, `-Infinity` |
//! | `{"#float32": 0.5}` | a new number of single precision; never shown |
//! | `{"#ext": {"type": 5, "base64": "…"}}` | an extension of MessagePack |
//! | `{"#tag": {"tag": 0, "value": …}}` | a tagged value of CBOR |
//! | `{"#simple": 16}` | a simple value of CBOR |
//!
//! A key that is no string is shown as the text of its JSON. An edit loses nothing: what was not changed is copied byte
//! for byte, and what was is written in the type and the width that stood there before, or refused. A new number without
//! point and exponent is an integer, any other a double; a new key has the type of the keys beside it.

mod cbor;
mod item;
mod marks;
mod message_pack;
mod patch;
mod same;
mod show;

use item::{Bytes, Float, Item, Stop, malformed};

use super::{
    json::{self, Member, Position},
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

/// What holds several values.
#[derive(Clone, Copy)]
enum Container {
    Array,
    Map,
}

/// What a format has to do. `like` is what stands in the place of the value: the first of its bytes, and what it means.
trait Codec {
    /// Whether values can have tags.
    const HAS_TAGS: bool;

    fn read<'a>(bytes: &mut Bytes<'a>, depth_left: usize) -> Result<Item<'a>, Stop>;

    fn null(out: &mut Vec<u8>);
    fn bool(out: &mut Vec<u8>, yes: bool);
    fn int(out: &mut Vec<u8>, number: i128, like: Option<(u8, i128)>) -> Result<(), String>;
    fn float(out: &mut Vec<u8>, number: f64, like: Option<Float>) -> Result<(), String>;
    fn text(out: &mut Vec<u8>, text: &str, like: Option<(u8, usize)>) -> Result<(), String>;
    fn bytes(out: &mut Vec<u8>, bytes: &[u8], like: Option<(u8, usize)>) -> Result<(), String>;
    /// Before `n` values or pairs.
    fn head(out: &mut Vec<u8>, container: Container, n: usize, like: Option<(u8, usize)>) -> Result<(), String>;
    /// Before the value that has it.
    fn tag(out: &mut Vec<u8>, tag: u64);
    /// Writes what only this format has; whether the member stands for such.
    fn marked(out: &mut Vec<u8>, member: &Member<'_>) -> Result<bool, marks::Wrong>;
}

/// Shows `body` as JSON.
///
/// # Errors
/// When it is not of this format, or beyond the limits.
pub fn to_json(body: &[u8], format: Format, limits: &Limits) -> Result<String, Unreadable> {
    Ok(show::to_json(&read(body, format, limits)?.kind).to_string())
}

/// `body` with the values of `text`, which [`to_json`] made of it and somebody has edited.
///
/// # Errors
/// The first thing in `text` that is wrong with it, or that `body` has no form for.
pub fn patch(body: &[u8], text: &str, format: Format, limits: &Limits) -> Result<Vec<u8>, Unwritable> {
    let max_nodes = limits.elements.saturating_mul(4);
    let item = read(body, format, limits).map_err(|error| (0, error.to_string()));
    let node = json::read(text, max_nodes, json_depth(limits)).map_err(|error| (error.at, error.reason));
    let patch = patch::Patch::new(body);
    let written = item.and_then(|item| match format {
        Format::MessagePack => patch.whole::<message_pack::MessagePack>(&item, &node?),
        Format::Cbor => patch.whole::<cbor::Cbor>(&item, &node?),
    });
    written.map_err(|(at, reason)| Unwritable { position: Position::of(text, at), reason })
}

fn read<'a>(body: &'a [u8], format: Format, limits: &Limits) -> Result<Item<'a>, Unreadable> {
    if body.len() > limits.bytes {
        return Err(Unreadable::TooMuch);
    }
    let mut bytes = Bytes::new(body, limits.elements);
    let read = match format {
        Format::MessagePack => message_pack::MessagePack::read(&mut bytes, limits.depth),
        Format::Cbor => cbor::Cbor::read(&mut bytes, limits.depth),
    };
    read.map_err(|stop| match stop {
        Stop::TooMuch => Unreadable::TooMuch,
        Stop::Malformed(why) => Unreadable::Malformed(why),
    })
}

/// A tag of CBOR takes two levels of JSON.
fn json_depth(limits: &Limits) -> usize {
    limits.depth.saturating_mul(2).saturating_add(2)
}

fn deeper(depth_left: usize) -> Result<usize, Stop> {
    depth_left.checked_sub(1).ok_or_else(|| malformed("there are too many levels"))
}
