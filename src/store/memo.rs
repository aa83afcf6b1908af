//! What one request has asked before: it shows one moment, and asks nothing twice.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use tokio::sync::OnceCell;

use super::{
    counts::facets::SeenFacet,
    groups::{counts::Alike, filter::Place},
    search::counts::FoundLetters,
};
use crate::domain::filter::LetterFilter;

#[derive(Default)]
pub(crate) struct Memo {
    /// The facets that there are for who asks.
    pub(crate) seen: OnceCell<Vec<SeenFacet>>,
    /// How many groups there are.
    pub(crate) all_alike: OnceCell<Arc<[Alike]>>,
    /// Where groups are, as far as they are there for who asks.
    pub(crate) places: OnceCell<Arc<[Place]>>,
    searches: Mutex<Searches>,
}

/// What searches have found so far.
#[derive(Default)]
struct Searches {
    /// Whether the index gives few letters for an expression.
    few: HashMap<String, bool>,
    letters: Vec<(LetterFilter, FoundLetters)>,
}

impl Memo {
    fn searches<T>(&self, ask: impl FnOnce(&mut Searches) -> T) -> T {
        ask(&mut self.searches.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn is_few(&self, expression: &str) -> Option<bool> {
        self.searches(|searches| searches.few.get(expression).copied())
    }

    pub(crate) fn keep_few(&self, expression: &str, is_few: bool) {
        self.searches(|searches| _ = searches.few.insert(expression.to_owned(), is_few));
    }

    pub(crate) fn found(&self, filter: &LetterFilter) -> Option<FoundLetters> {
        self.searches(|searches| {
            let known = searches.letters.iter().find(|(known, _)| known == filter);
            known.map(|(_, found)| found.clone())
        })
    }

    pub(crate) fn keep_found(&self, filter: LetterFilter, found: FoundLetters) {
        self.searches(|searches| searches.letters.push((filter, found)));
    }
}
