//! Telling those who watch that something has changed.

use std::{sync::Arc, time::Duration};

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::store::Store;

/// How soon the work of other processes on the same ledger is noticed.
const POLL: Duration = Duration::from_millis(700);

/// What happened since the start; the numbers only grow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tidings {
    /// Letters that came in or came back.
    pub received: u64,
    /// Letters that were moved or marked.
    pub changed: u64,
}

#[derive(Clone, Debug, Default)]
pub struct News(watch::Sender<Tidings>);

impl News {
    pub fn subscribe(&self) -> watch::Receiver<Tidings> {
        self.0.subscribe()
    }

    pub fn received(&self, letters: u64) {
        if letters > 0 {
            self.0.send_modify(|tidings| tidings.received += letters);
        }
    }

    pub fn changed(&self, letters: u64) {
        if letters > 0 {
            self.0.send_modify(|tidings| tidings.changed += letters);
        }
    }
}

/// Notices what other processes do to the same ledger, by the counts that are kept, as long as somebody watches.
pub async fn watch_ledger(store: Arc<Store>, news: News, stop: CancellationToken) {
    let mut tick = tokio::time::interval(POLL);
    tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Skip);
    let mut seen = None;
    let mut told = Tidings::default();
    while stop.run_until_cancelled(tick.tick()).await.is_some() {
        if news.0.receiver_count() == 0 {
            seen = None;
            continue;
        }
        let Ok(facets) = store.facets().await else { continue };
        let letters: u64 = facets.iter().map(|facet| facet.count).sum();
        let now_told = *news.0.borrow();
        if let Some((facets_before, letters_before)) = seen.replace((facets.clone(), letters))
            && facets_before != facets
            && now_told == told
        {
            news.received(letters.saturating_sub(letters_before));
            news.changed(1);
        }
        told = *news.0.borrow();
    }
}
