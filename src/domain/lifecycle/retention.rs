//! Which letters may be forgotten.

use std::collections::HashSet;

use amqp_message::time::Timestamp;

use super::LetterState;
use crate::domain::letter::{LetterId, Status};

/// Since when letters have to be settled to be forgotten.
#[derive(Clone, Copy, Debug)]
pub struct Outdated {
    /// Sent back before this moment, and not failed since.
    pub retried: Timestamp,
    /// Discarded before this moment.
    pub discarded: Timestamp,
}

impl Outdated {
    /// Those that may be forgotten. Edits of one another are forgotten together or not at all.
    pub fn of<'a>(&self, states: impl Iterator<Item = &'a LetterState>) -> Vec<&'a LetterState> {
        let (outdated, others): (Vec<_>, Vec<_>) = states.partition(|state| self.applies_to(state));
        let staying: HashSet<LetterId> = others.iter().filter_map(|state| state.family).collect();
        let goes = |state: &&LetterState| state.family.is_none_or(|family| !staying.contains(&family));
        outdated.into_iter().filter(goes).collect()
    }

    fn applies_to(&self, state: &LetterState) -> bool {
        let before = match state.status {
            Status::Retried => self.retried,
            Status::Discarded => self.discarded,
            Status::Open | Status::Scheduled => return false,
        };
        state.closed_at.is_some_and(|at| at < before)
    }
}
