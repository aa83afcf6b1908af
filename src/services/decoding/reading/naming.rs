//! Which type a message is of, and who says so.

use payload_codec::{
    Format,
    guess::Guess,
    unwrap::{TypeHint, Unwrapped},
};

use super::{Library, Named, Question};
use crate::domain::{letter::TypeSource, names};

/// The first of those who say it and name a type that is described; else the first who says anything; else a guess that
/// is nearly certain. What says something of a format of its own, such as JSON, needs no description.
pub(crate) fn name(
    library: &Library,
    question: &Question<'_>,
    unwrapped: &Unwrapped,
    guess: impl FnOnce() -> Guess,
) -> Option<Named> {
    let said = said(question, unwrapped);
    let described = said.iter().find_map(|(name, source)| {
        let descriptor = library.find(name)?;
        Some(Named { name: descriptor.full_name().to_owned(), source: *source, confidence: None, is_described: true })
    });
    let first = said.first().map(|(name, source)| Named {
        name: (*name).to_owned(),
        source: *source,
        confidence: None,
        is_described: false,
    });
    match (described, first) {
        // A user's word stands, also of a type that is yet to be uploaded.
        (Some(described), Some(first)) if first.source == TypeSource::Manual && described.source != first.source => {
            Some(first)
        }
        (Some(described), Some(_)) if unwrapped.format == Format::Protobuf => Some(described),
        (_, Some(first)) => Some(first.described_by(library)),
        (_, None) => guessed(&guess()),
    }
}

/// All that is said, in the order in which it counts. What no type can be called is no type.
pub(crate) fn said<'a>(question: &Question<'a>, unwrapped: &'a Unwrapped) -> Vec<(&'a str, TypeSource)> {
    let hint = |hint: &'a TypeHint| match hint {
        TypeHint::Any { type_name } | TypeHint::ContentType { type_name } => Some((type_name.as_str(), true)),
        TypeHint::CloudEvent { event_type, .. } => Some((event_type.as_str(), false)),
        TypeHint::Confluent { .. } => None,
    };
    let hints: Vec<(&str, bool)> = unwrapped.type_hints.iter().filter_map(hint).collect();
    let exact = hints.iter().filter(|(_, names_message)| *names_message).map(|(name, _)| *name);
    let loose = hints.iter().filter(|(_, names_message)| !*names_message).map(|(name, _)| *name);
    let headers = exact.chain(question.declared).chain(loose).filter(|name| names::is_type(name));
    let headers = headers.map(|name| (name, TypeSource::Header));
    let by_hand = question.by_hand.map(|name| (name, TypeSource::Manual));
    by_hand.into_iter().chain(headers).chain(question.mapped.map(|name| (name, TypeSource::Mapping))).collect()
}

fn guessed(guess: &Guess) -> Option<Named> {
    let candidate = guess.strong()?;
    Some(Named {
        name: candidate.name.full_name.clone(),
        source: TypeSource::Detected,
        confidence: Some(candidate.confidence),
        is_described: true,
    })
}

impl Named {
    fn described_by(mut self, library: &Library) -> Self {
        if let Some(descriptor) = library.find(&self.name) {
            descriptor.full_name().clone_into(&mut self.name);
            self.is_described = true;
        }
        self
    }
}
