//! Telling those who watch that something has changed.

use std::{sync::Arc, time::Duration};

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::store::Store;

/// How soon the work of other processes on the same database is noticed.
const POLL: Duration = Duration::from_millis(700);

/// What happened since the start; the numbers only grow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// Letters that came in or came back.
    pub received: u64,
    /// Letters that were moved or marked.
    pub changed: u64,
}

#[derive(Clone, Debug, Default)]
pub struct ChangeFeed(watch::Sender<Changes>);

impl ChangeFeed {
    pub fn subscribe(&self) -> watch::Receiver<Changes> {
        self.0.subscribe()
    }

    pub fn received(&self, letters: u64) {
        if letters > 0 {
            self.0.send_modify(|changes| changes.received += letters);
        }
    }

    pub fn changed(&self, letters: u64) {
        if letters > 0 {
            self.0.send_modify(|changes| changes.changed += letters);
        }
    }
}

/// Notices what other processes do to the same database, by the counts that are kept, as long as somebody watches.
pub async fn watch_database(store: Arc<Store>, feed: ChangeFeed, stop: CancellationToken) {
    let mut tick = tokio::time::interval(POLL);
    tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Skip);
    let mut seen = None;
    let mut told = Changes::default();
    while stop.run_until_cancelled(tick.tick()).await.is_some() {
        if feed.0.receiver_count() == 0 {
            seen = None;
            continue;
        }
        let Ok(facets) = store.facets().await else { continue };
        let letters: u64 = facets.iter().map(|facet| facet.count).sum();
        let now_told = *feed.0.borrow();
        if let Some((facets_before, letters_before)) = seen.replace((facets.clone(), letters))
            && facets_before != facets
            && now_told == told
        {
            feed.received(letters.saturating_sub(letters_before));
            feed.changed(1);
        }
        told = *feed.0.borrow();
    }
}
