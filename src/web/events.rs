//! Server-sent events: that something is new, never what. The page then asks for the fragments it shows.

use std::{convert::Infallible, sync::Arc, time::Duration};

use axum::{
    extract::State,
    response::sse::{Event, KeepAlive, Sse},
};
use futures_util::{Stream, stream};
use tokio::sync::watch::Receiver;

use super::AppState;
use crate::services::change_feed::Changes;

/// A page is notified at most this often, however much arrives.
const PACE: Duration = Duration::from_secs(1);

/// Sends `changes` whenever letters or brokers have changed, and once at the beginning: whoever comes back after a
/// pause has to catch up.
pub async fn stream(State(app): State<Arc<AppState>>) -> Sse<impl Stream<Item = Result<Event, Infallible>>> {
    let events = stream::unfold(Watcher::new(app), |mut watcher| async move {
        let event = watcher.next().await?;
        Some((Ok(event), watcher))
    });
    Sse::new(events).keep_alive(KeepAlive::default())
}

/// What a page that is made now already knows; it has to act only on an event that says something else.
pub fn changes(app: &AppState) -> String {
    let feed = *app.feed.subscribe().borrow();
    let brokers = *app.brokers.changes().borrow();
    text(feed, brokers)
}

fn text(Changes { received, changed, .. }: Changes, brokers: u64) -> String {
    format!("{received}.{changed}.{brokers}")
}

struct Watcher {
    app: Arc<AppState>,
    changes: Receiver<Changes>,
    brokers: Receiver<u64>,
    /// Whether this page was notified yet.
    is_new: bool,
}

impl Watcher {
    fn new(app: Arc<AppState>) -> Self {
        Self { changes: app.feed.subscribe(), brokers: app.brokers.changes(), is_new: true, app }
    }

    /// The next event; none once the app closes.
    async fn next(&mut self) -> Option<Event> {
        let closing = self.app.settings.closing.clone();
        closing.run_until_cancelled(self.wait_for_change()).await
    }

    async fn wait_for_change(&mut self) -> Event {
        if !std::mem::take(&mut self.is_new) {
            tokio::time::sleep(PACE).await;
            // An error means that nobody is left to tell us anything; closing is not far then.
            let _ = tokio::select! {
                changed = self.changes.changed() => changed,
                changed = self.brokers.changed() => changed,
            };
        }
        let (feed, brokers) = (*self.changes.borrow_and_update(), *self.brokers.borrow_and_update());
        Event::default().event("changes").data(text(feed, brokers))
    }
}
