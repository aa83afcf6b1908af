//! Searches: what people type into the search box, as a condition on letters.
//!
//! The language itself is the crate `search-language`; here are its [fields](fields), what they mean, and which words and
//! values of a letter can be found by it ([`document`]).

pub mod document;
pub mod fields;
mod lexemes;
mod parsed;
mod read;
mod words;

#[cfg(test)]
mod tests;

use std::fmt;

use amqp_message::{death::Reason, time::Timestamp};
use search_language::Comparison;

use super::{
    filter::names::Names,
    group_id::GroupId,
    letter::{Importance, LetterId, Status},
};

pub use lexemes::Lexeme;
pub(super) use parsed::search;
pub use parsed::{Parsed, Part};
pub use search_language::Mistake;

/// A condition on letters, beside what else a filter asks for. Its text says the same, and has no times that move.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Search {
    text: String,
    condition: Condition,
}

impl Search {
    /// What lets nothing through: the text of a search that cannot be understood acts on nothing.
    pub fn nothing() -> Self {
        Self { text: "nothing".to_owned(), condition: Condition::Any(Vec::new()) }
    }

    /// Reads what one says of itself.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn written(text: &str) -> Result<Self, String> {
        let parsed =
            Parsed::read(text).map_err(|mistakes| mistakes.first().map(Mistake::to_string).unwrap_or_default())?;
        Ok(parsed.whole())
    }

    pub const fn condition(&self) -> &Condition {
        &self.condition
    }

    /// Whether what is in payloads decides.
    pub fn looks_into_payloads(&self) -> bool {
        self.condition.looks_into_payloads()
    }
}

impl fmt::Display for Search {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// What is asked of a letter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Condition {
    All(Vec<Self>),
    Any(Vec<Self>),
    Not(Box<Self>),
    Words(Words),
    /// One of these lexemes: a value of the payload or of a header.
    Value {
        of_payload: bool,
        lexemes: Vec<Lexeme>,
    },
    Status(Vec<Status>),
    Importance(Vec<Importance>),
    Reason(Vec<Reason>),
    Broker(Vec<String>),
    Queue(Names),
    Type(Names),
    Group(Vec<GroupId>),
    Id(Vec<LetterId>),
    /// When it was received.
    Received(Comparison, Timestamp),
    Attempts(Comparison, i64),
    /// Bytes of its body.
    Size(Comparison, i64),
}

impl Condition {
    fn looks_into_payloads(&self) -> bool {
        match self {
            Self::All(parts) | Self::Any(parts) => parts.iter().any(Self::looks_into_payloads),
            Self::Not(part) => part.looks_into_payloads(),
            Self::Words(words) => words.area.is_none(),
            Self::Value { of_payload, .. } => *of_payload,
            _ => false,
        }
    }

    /// The groups that are named in it.
    pub(crate) fn groups(&self) -> Vec<GroupId> {
        match self {
            Self::All(parts) | Self::Any(parts) => parts.iter().flat_map(Self::groups).collect(),
            Self::Not(part) => part.groups(),
            Self::Group(groups) => groups.clone(),
            _ => Vec::new(),
        }
    }

    /// Of how many lexemes the index is asked.
    fn n_lexemes(&self) -> usize {
        match self {
            Self::All(parts) | Self::Any(parts) => parts.iter().map(Self::n_lexemes).sum(),
            Self::Not(part) => part.n_lexemes(),
            Self::Value { lexemes, .. } => lexemes.len(),
            _ => 0,
        }
    }
}

/// Words that stand next to each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Words {
    /// Only there; everywhere if it is not said.
    pub area: Option<Area>,
    /// In small letters; each of letters and digits only.
    pub words: Vec<String>,
    /// Whether the last may go on.
    pub is_begun: bool,
}

/// A part of the text of a letter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Area {
    Error,
    Stack,
    Headers,
    Payload,
}

impl Area {
    pub const ALL: [Self; 4] = [Self::Error, Self::Stack, Self::Headers, Self::Payload];
}
