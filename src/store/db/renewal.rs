//! Leaving the connections of a pool for new ones.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

/// Since when the connections of a pool are to be new; cheap to clone.
#[derive(Clone, Debug, Default)]
pub(crate) struct Renewal(Arc<Mutex<Option<Instant>>>);

impl Renewal {
    pub(crate) fn begin(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
    }

    /// Whether a connection of that age may still be used.
    pub(crate) fn is_current(&self, age: Duration) -> bool {
        let begun = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        begun.is_none_or(|begun| begun.elapsed() >= age)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_made_before_is_left() {
        let renewal = Renewal::default();
        let long = Duration::from_secs(3_600);
        assert!(renewal.is_current(long));
        renewal.begin();
        assert!(!renewal.is_current(long));
        assert!(renewal.is_current(Duration::ZERO));
    }
}
