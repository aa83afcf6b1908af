//! A body read from end to end: unwrapped, its type found, its payload decoded; and a payload that a user has edited
//! brought back into the form of the body.
//!
//! The type is what a user said of this message, else what the message says, else what a mapping says, else a guess
//! that is nearly certain: nothing is sent on because of one. A message of which the type is less certain is shown by its
//! field numbers, and what it may be stands beside it.
//!
//! What a type hides is hidden here, and nothing that calls this has to think of it. Where the type is not known and
//! one of those it may be hides something, and where not all could be read, all values are hidden: see
//! [`PayloadFacts`](crate::domain::disclosure::PayloadFacts).

mod content;
mod declared;
mod edit;
mod envelope;
mod hidden;
mod hiding;
mod inner_text;
mod library;
mod naming;
mod patch;
mod possible;
mod refusal;
mod task;

#[cfg(test)]
mod tests;

use amqp_message::{field::FieldTable, message::Properties};
use payload_codec::{
    guess::{Evidence, Guess},
    unwrap::{UnwrapMode, Unwrapped},
};

use crate::domain::{disclosure::HiddenValues, letter::TypeSource};

pub use edit::{EditProblem, EditedAs};
pub use library::Library;
pub use patch::NoPatch;
pub use task::{Argument, Task};

/// A body, and what is known of it from outside.
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    pub body: &'a [u8],
    pub properties: &'a Properties,
    pub headers: &'a FieldTable,
    /// The names it was sent by and to: queue, exchange, routing key.
    pub address: &'a [&'a str],
    /// The type that a user gave to this message.
    pub by_hand: Option<&'a str>,
    /// The routing key it was first published with, as far as known.
    pub routing_key: &'a str,
    /// The type that the message itself names, in a header or as its framework does.
    pub declared: Option<&'a str>,
    /// The type that a mapping gives to all messages of its kind.
    pub mapped: Option<&'a str>,
    /// How often people confirmed which types on this address.
    pub confirmed: &'a [(&'a str, u64)],
    /// Which encodings to undo.
    pub mode: &'a UnwrapMode,
}

/// The type of a message and who says so.
#[derive(Clone, Debug, PartialEq)]
pub struct Named {
    /// In full where a schema describes it, else as it was said.
    pub name: String,
    pub source: TypeSource,
    /// From 0 to 1; only of a guess.
    pub confidence: Option<f64>,
    /// Whether a schema describes it.
    pub is_described: bool,
}

/// What a payload says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// As JSON, whatever its format is.
    Json(String),
    Text(String),
    /// Neither; only its bytes can be shown.
    Binary,
    /// Hidden as a whole; why.
    Hidden(String),
}

impl Reading {
    /// Whether somebody has named its type.
    pub fn is_certain(&self) -> bool {
        self.named.as_ref().is_some_and(|named| named.confidence.is_none())
    }
}

/// A body that was read.
#[derive(Debug)]
pub struct Reading {
    pub unwrapped: Unwrapped,
    pub named: Option<Named>,
    /// The type that the payload was read as: the one that is named, where the payload is a message of it.
    pub decoded_as: Option<String>,
    /// The types it may be; none where its format is another than protobuf.
    pub guess: Guess,
    /// What speaks for each of the candidates and against it, in their order, the most telling first.
    pub evidence: Vec<Vec<Evidence>>,
    pub content: Content,
    /// What its framework is to call, and with which arguments.
    pub task: Option<Task>,
    /// Whether it is too large to be read.
    pub is_unread: bool,
    /// Whether some value is hidden.
    pub hides: bool,
    /// The hidden values, for texts that quote them.
    pub hidden_values: HiddenValues,
    /// Headers that repeat what is hidden, or may be.
    pub hidden_headers: Vec<&'static str>,
    /// What went wrong, and what has to be said, in sentences.
    pub remarks: Vec<String>,
}
