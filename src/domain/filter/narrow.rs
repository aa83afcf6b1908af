//! Narrowing a filter by a search.

use amqp_message::time::Timestamp;
use search_language::Comparison;

use super::{LetterFilter, Names};
use crate::domain::search::{Condition, Parsed, search};

impl LetterFilter {
    /// Lets through what the search asks for as well. What letters are listed and counted by goes where there is a place for
    /// it.
    pub fn narrow(&mut self, by: &Parsed, now: Timestamp) {
        let mut rest = Vec::new();
        for (node, condition) in by.conditions(now) {
            if let Some(left) = place(self, condition) {
                rest.push((node, left));
            }
        }
        if !rest.is_empty() {
            self.search = Some(search(rest, now));
        }
    }
}

/// Puts a condition where the filter has a place for it that is free, or gives it back.
fn place(filter: &mut LetterFilter, condition: Condition) -> Option<Condition> {
    fn set<T: Default + PartialEq>(place: &mut T, value: T) {
        *place = value;
    }
    let is_free = |names: &Names| names.is_empty();
    match condition {
        Condition::Status(all) if filter.statuses.is_empty() => set(&mut filter.statuses, all),
        Condition::Importance(all) if filter.importances.is_empty() && !all.is_empty() => {
            set(&mut filter.importances, all);
        }
        Condition::Reason(all) if filter.reasons.is_empty() => set(&mut filter.reasons, all),
        Condition::Broker(all) if filter.brokers.is_empty() => set(&mut filter.brokers, all),
        Condition::Group(all) if filter.groups.is_empty() => set(&mut filter.groups, all),
        Condition::Queue(names) if is_free(&filter.queues) => set(&mut filter.queues, names),
        Condition::Type(names) if is_free(&filter.types) => set(&mut filter.types, names),
        Condition::Received(Comparison::AtLeast, at) => {
            filter.since = Some(filter.since.map_or(at, |since| since.max(at)));
        }
        Condition::Received(Comparison::Below, at) => {
            filter.until = Some(filter.until.map_or(at, |until| until.min(at)));
        }
        other => return Some(other),
    }
    None
}
