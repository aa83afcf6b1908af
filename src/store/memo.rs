//! What one request has asked before: it shows one moment, and asks nothing twice.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use tokio::sync::OnceCell;

use super::{
    counts::facets::SeenFacet,
    groups::{counts::Alike, filter::Place},
    search::{found::FoundLetters, plan::Given},
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
    /// How many letters the index gives for an expression.
    given: HashMap<String, Arc<OnceCell<Given>>>,
    letters: Vec<(LetterFilter, Arc<OnceCell<FoundLetters>>)>,
}

impl Memo {
    fn searches<T>(&self, ask: impl FnOnce(&mut Searches) -> T) -> T {
        ask(&mut self.searches.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn given(&self, expression: &str) -> Arc<OnceCell<Given>> {
        self.searches(|searches| Arc::clone(searches.given.entry(expression.to_owned()).or_default()))
    }

    pub(crate) fn found(&self, filter: &LetterFilter) -> Arc<OnceCell<FoundLetters>> {
        self.searches(|searches| {
            if let Some((_, found)) = searches.letters.iter().find(|(known, _)| known == filter) {
                return Arc::clone(found);
            }
            let found = Arc::default();
            searches.letters.push((filter.clone(), Arc::clone(&found)));
            found
        })
    }
}
