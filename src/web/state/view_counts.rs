//! How many letters saved views show, as it was counted last.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use amqp_message::time::Timestamp;
use uuid::Uuid;

use crate::domain::filter::Counted;

/// A count is shown so long without being counted again.
const FRESH: Duration = Duration::from_secs(15);
/// An older one is not shown.
const SHOWN: Duration = Duration::from_secs(10 * 60);
/// Counts that are kept.
const KEPT: usize = 10_000;

/// The counts of views. Cheap to clone.
#[derive(Clone, Default)]
pub struct ViewCounts(Arc<Mutex<HashMap<CountKey, (Timestamp, Counted)>>>);

/// A view, what it asks for, and what is seen by who asks.
pub type CountKey = (Uuid, String, String);

/// A count that is known, and whether it is time to count again.
#[derive(Clone, Copy, Default)]
pub struct KnownCount {
    pub counted: Option<Counted>,
    pub is_stale: bool,
}

impl ViewCounts {
    pub fn known(&self, key: &CountKey, now: Timestamp) -> KnownCount {
        let counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = counts.get(key).filter(|(at, _)| now.since(*at) < SHOWN);
        let is_stale = known.is_none_or(|(at, _)| now.since(*at) >= FRESH);
        KnownCount { counted: known.map(|(_, counted)| *counted), is_stale }
    }

    pub fn keep(&self, key: CountKey, at: Timestamp, counted: Counted) {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if counts.len() >= KEPT {
            counts.clear();
        }
        counts.insert(key, (at, counted));
    }
}
