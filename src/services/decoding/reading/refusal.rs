//! Whether a body could be read as a user asked.

use payload_codec::{
    Format,
    unwrap::{Problem, UnwrapMode},
};

use super::Reading;
use crate::domain::letter::TypeSource;

impl Reading {
    /// Why it could not be read as a user asked: wrapped as it is not or as it cannot be undone, or of a type that no schema
    /// describes or that it cannot be. `None` where it was, or where nobody asked for anything.
    pub fn refusal(&self, mode: &UnwrapMode) -> Option<String> {
        self.refused_encoding(mode).or_else(|| self.refused_type())
    }

    /// Why it is not wrapped as a user says, or that cannot be undone.
    pub fn refused_encoding(&self, mode: &UnwrapMode) -> Option<String> {
        let is_exact = matches!(mode, UnwrapMode::Exactly(_));
        let not_so = |problem: &&Problem| match problem {
            Problem::NotWrappedSo(_) => true,
            Problem::Damaged(_) | Problem::TooLarge { .. } => is_exact,
            _ => false,
        };
        self.unwrapped.problems.iter().find(not_so).map(ToString::to_string)
    }

    /// Why it is not of the type that a user names.
    pub fn refused_type(&self) -> Option<String> {
        let asked = self.named.as_ref().filter(|named| named.source == TypeSource::Manual)?;
        if !asked.is_described {
            return Some(format!("no schema describes {}", asked.name));
        }
        let format = self.unwrapped.format;
        // JSON may be the text form of any message.
        let is_read = self.decoded_as.is_some() || format == Format::Json;
        (!is_read).then(|| format!("it is {}, no message of {}", format.as_str(), asked.name))
    }
}
