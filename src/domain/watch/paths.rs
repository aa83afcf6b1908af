//! Where the dead letters of queues go.

use std::collections::{BTreeMap, BTreeSet};

use super::Settings;
use crate::domain::queue_level::{QueueKind, QueueLevel};

/// Queues a dead letter may pass on its way.
const FARTHEST: usize = 4;

/// Where the dead letters of a queue go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeadLetterPath {
    Here,
    /// Nowhere: RabbitMQ drops what is rejected.
    Dropped,
    /// By way of this exchange, which does not lead here.
    Elsewhere(String),
}

/// Where the dead letters of each queue of a service go; `feeds` are the exchanges that lead to dlo.
pub fn dead_letter_paths<'q>(
    settings: &Settings,
    queues: &'q [QueueLevel],
    feeds: &BTreeSet<String>,
) -> Vec<(&'q QueueLevel, DeadLetterPath)> {
    let by_name = queues.iter().map(|level| (&*level.name, level)).collect();
    // One that goes with its connection is no service's, and a stream dead-letters nothing.
    let is_of_service =
        |level: &&QueueLevel| !settings.is_ours(&level.name) && !level.exclusive && level.kind != QueueKind::Stream;
    let path = |level: &'q QueueLevel| match &level.dead_letters.exchange {
        None => DeadLetterPath::Dropped,
        Some(_) if leads_here(settings, level, &by_name, feeds) => DeadLetterPath::Here,
        Some(exchange) => DeadLetterPath::Elsewhere(exchange.clone()),
    };
    queues.iter().filter(is_of_service).map(|level| (level, path(level))).collect()
}

/// Follows dead letters from queue to queue.
pub(super) fn leads_here(
    settings: &Settings,
    level: &QueueLevel,
    queues: &BTreeMap<&str, &QueueLevel>,
    feeds: &BTreeSet<String>,
) -> bool {
    let mut level = level;
    for _ in 0..FARTHEST {
        let Some(exchange) = &level.dead_letters.exchange else { return false };
        if feeds.contains(exchange) {
            return true;
        }
        // Only the default exchange says by its key where it leads.
        let Some(next) = level.dead_letters.routing_key.as_deref().filter(|_| exchange.is_empty()) else {
            return false;
        };
        if settings.is_ours(next) {
            return true;
        }
        let Some(next) = queues.get(next) else { return false };
        level = next;
    }
    false
}
