//! How queues stand and what needs a hand, as far as the watch has found out.

use std::collections::BTreeMap;

use super::{
    AppState,
    error::WebError,
    view::{tally::QueueKey, watch::ConcernLine},
};
use crate::store::WatchedQueue;

/// Queues that are looked at where nobody names any.
const MOST: usize = 300;
/// More than any broker is watched with.
const ALL: usize = 1_000_000;

/// Queues of the brokers that are asked.
pub struct Levels(BTreeMap<(String, String), WatchedQueue>);

/// Those of `names` and so many of the others that are worth a look; or all of them.
pub async fn levels(app: &AppState, names: &[&str], all: bool) -> Result<Levels, WebError> {
    let is_asked = |queue: &WatchedQueue| app.settings.watched_brokers.contains(&queue.broker);
    if app.settings.watched_brokers.is_empty() {
        return Ok(Levels(BTreeMap::new()));
    }
    let mut queues = app.store.watched_queues(if all { ALL } else { MOST }).await?;
    if !all {
        queues.extend(app.store.watched_queues_named(names).await?);
    }
    let keyed = |queue: WatchedQueue| ((queue.broker.clone(), queue.level.name.clone()), queue);
    Ok(Levels(queues.into_iter().filter(is_asked).map(keyed).collect()))
}

/// What needs a hand, the longest first.
pub async fn concerns(app: &AppState) -> Result<Vec<ConcernLine>, WebError> {
    let now = app.clock.now();
    let mut concerns = app.store.concerns().await?;
    concerns.retain(|(broker, _)| app.settings.watched_brokers.contains(broker));
    concerns.sort_by_key(|(_, concern)| concern.since());
    Ok(concerns.iter().map(|(broker, concern)| ConcernLine::new(broker, concern, now)).collect())
}

impl Levels {
    pub fn get(&self, (broker, queue): QueueKey<'_>) -> Option<&WatchedQueue> {
        self.0.get(&(broker.to_owned(), queue?.to_owned()))
    }

    pub fn keys(&self) -> impl Iterator<Item = QueueKey<'_>> {
        self.0.keys().map(|(broker, queue)| (broker.as_str(), Some(queue.as_str())))
    }

    /// Sorts those first that need a hand, then those that may need one soon.
    pub fn urgency(&self, key: QueueKey<'_>) -> u8 {
        let Some(queue) = self.get(key) else { return 2 };
        let is_down = queue.level.state.is_some_and(|state| !state.is_up());
        let is_without = queue.level.known_consumers() == Some(0) && queue.watched.is_some();
        match queue.watched.as_ref().is_some_and(|watched| watched.told) {
            true => 0,
            false if is_down || is_without => 1,
            false => 2,
        }
    }
}
