//! What those saw last who see some queues only.

use std::{
    collections::HashMap,
    hash::{BuildHasher, Hash, RandomState},
    sync::{Mutex, PoisonError},
};

use crate::services::change_feed::Changes;

/// Scopes are few: those of teams, and of who is in several.
const MOST: usize = 1_000;

/// What each scope showed when it was last looked at. All who see the same look once for each change.
#[derive(Default)]
pub struct SeenChanges {
    key: RandomState,
    known: Mutex<HashMap<String, Seen>>,
}

#[derive(Clone, Copy)]
pub struct Seen {
    /// What had happened before it was looked at.
    pub at: Changes,
    /// Stands for all that there was to see.
    pub sum: u64,
    /// The newest entry of the activity that was seen.
    pub activity: i64,
}

impl SeenChanges {
    pub fn get(&self, scope: &str) -> Option<Seen> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).get(scope).copied()
    }

    pub fn put(&self, scope: String, seen: Seen) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MOST {
            known.clear();
        }
        known.insert(scope, seen);
    }

    /// Stands for `seen`: it is another in each process, so that nobody can tell what it was made of.
    pub fn sum(&self, seen: impl Hash) -> u64 {
        self.key.hash_one(seen)
    }
}
