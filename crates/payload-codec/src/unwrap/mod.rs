//! Finding out how a message body is wrapped, undoing it, and wrapping it again.
//!
//! Between a service and its messages stand compressions, encodings as text, framings and envelopes, one within another
//! and seldom declared. Every way of undoing them is a hypothesis about the body; each is priced by its total code
//! length in nats (what the encoding says, plus the payload in its format, see [`super::format`]) and competes with the
//! body being just what it looks like. So a word that happens to be valid base64 stays a word. What headers and
//! properties say is evidence like any other: strong, never blindly believed.
//!
//! What was undone can be done again around another payload, in the very manner of the original: same alphabet, same
//! line length, same fields around it. Only compressions are free to choose other bytes for the same content.
//!
//! This never fails: what cannot be undone stays as it is and is reported as a [`Problem`]. Memory and time are bounded
//! whatever a body claims. It knows no schema; a caller who does may lend his judgement
//! ([`BodyHints::known`]).

mod bounds;
mod codecs;
mod encoding;
mod escaping;
mod evidence;
mod hints;
mod kind;
mod mode;
mod node;
mod problem;
mod search;
mod undo;
mod wrap;

#[cfg(test)]
mod tests;

use super::format::Format;

pub use codecs::{
    any::Any,
    base64::{Base64, Lines},
    confluent::Confluent,
    data_uri::DataUri,
    grpc::Grpc,
    hex::Hex,
    hole::{Filling, Hole},
};
pub use encoding::Encoding;
pub use escaping::Escaping;
pub use hints::{BodyHints, Known, TypeHint};
pub use kind::{Kind, UnknownKind};
pub use mode::UnwrapMode;
pub use problem::Problem;
pub use search::unwrap;
pub use wrap::{WrapError, wrap};

/// A body without its encodings.
#[derive(Clone, Debug, PartialEq)]
pub struct Unwrapped {
    /// What was undone, the outermost first.
    pub steps: Vec<Encoding>,
    /// What is inside. More than one only if the last step frames several messages in a row; never none.
    pub payloads: Vec<Vec<u8>>,
    /// The format of every payload.
    pub format: Format,
    /// How likely these steps and this format are among all that were considered, from 0 to 1.
    pub sureness: f64,
    /// What names the payload's type, the most immediate first.
    pub type_hints: Vec<TypeHint>,
    /// What went wrong or is doubtful.
    pub problems: Vec<Problem>,
}

impl Unwrapped {
    /// The first payload, which nearly always is the only one.
    pub fn payload(&self) -> &[u8] {
        self.payloads.first().map_or(&[], Vec::as_slice)
    }
}
