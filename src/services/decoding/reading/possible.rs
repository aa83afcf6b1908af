//! Which types a message may be of, and whether they hide more of it than the one that it is read as.

use payload_codec::{
    Format,
    guess::{Candidate, Guess},
    unwrap::Unwrapped,
};
use prost_reflect::MessageDescriptor;

use super::{Library, Named, Question, content::Subject, library::hints, naming};
use crate::domain::letter::TypeSource;

/// From this confidence on, what a candidate hides is hidden, though it may not be the type.
const POSSIBLE: f64 = 0.01;

impl Library {
    /// Whether there is anything to hide, in whatever message.
    pub(crate) fn hides_anything(&self) -> bool {
        !self.hidden.is_empty() || self.redacts()
    }

    /// Whether any type redacts a field.
    pub(crate) fn redacts(&self) -> bool {
        self.masks.iter().any(|(_, masks)| masks.redact_any())
    }

    /// Whether a type hides what is shown of a message that is read as another.
    pub(crate) fn hides_more(&self, other: &MessageDescriptor, read_as: Option<&MessageDescriptor>) -> bool {
        let Some(masks) = self.masks(other).filter(|masks| masks.may_hide_within(other)) else { return false };
        let Some(read_as) = read_as else { return true };
        if other == read_as {
            return false;
        }
        let hidden = masks.hidden_numbers(other);
        let hidden_as_read = self.masks(read_as).and_then(|masks| masks.hidden_numbers(read_as));
        !hidden.zip(hidden_as_read).is_some_and(|(hidden, as_read)| hidden.is_subset(&as_read))
    }

    /// What a message itself or a mapping says of its type is believed. A guess is not, nor is a user: whoever names another
    /// type is shown no more than before.
    pub(super) fn subject(
        &self,
        question: &Question<'_>,
        unwrapped: Unwrapped,
        named: Option<Named>,
        described: Option<MessageDescriptor>,
        guess: Guess,
    ) -> Subject {
        let is_said = named.as_ref().is_some_and(|it| it.confidence.is_none() && it.source != TypeSource::Manual);
        let mut possible = Vec::new();
        if !(is_said && described.is_some() && unwrapped.format == Format::Protobuf) && self.hides_anything() {
            possible.extend(naming::said(question, &unwrapped).iter().filter_map(|(name, _)| self.find(name)));
            let of_bytes = match unwrapped.format {
                Format::Text | Format::Binary => self.index.guess(unwrapped.payload(), &hints(question)),
                _ => guess.clone(),
            };
            let likely = of_bytes.candidates.iter().filter(|candidate| candidate.confidence > POSSIBLE);
            possible.extend(likely.flat_map(Candidate::types).filter_map(|name| self.candidate(name)));
        }
        let is_declared = question.properties.content_type.as_deref().is_some_and(|it| !it.starts_with("text/plain"));
        Subject { unwrapped, named, described, possible, guess, is_declared }
    }

    pub(super) fn subject_unread(&self, question: &Question<'_>, unwrapped: Unwrapped) -> Subject {
        let possible = naming::said(question, &unwrapped).iter().filter_map(|(name, _)| self.find(name)).collect();
        Subject { unwrapped, named: None, described: None, possible, guess: Guess::default(), is_declared: true }
    }
}
