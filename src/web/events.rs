//! Server-sent events: that something is new, never what. The page then asks for the fragments it shows.

use std::{convert::Infallible, sync::Arc, time::Duration};

use axum::{
    extract::State,
    response::sse::{Event, KeepAlive, Sse},
};
use futures_util::{Stream, stream};
use tokio::sync::watch::Receiver;

use super::Office;
use crate::{domain::broker::BrokerHealth, pipeline::news::Tidings};

/// A page is told at most this often, however much arrives; brokers are looked at as often.
const PACE: Duration = Duration::from_secs(1);

/// Sends `tidings` with the counters of letters received and changed whenever these or the state of a broker move,
/// and once at the beginning: whoever comes back after a pause has to catch up.
pub async fn stream(State(office): State<Arc<Office>>) -> Sse<impl Stream<Item = Result<Event, Infallible>>> {
    let watcher = Watcher { tidings: office.news.subscribe(), told: None, office };
    let events = stream::unfold(watcher, |mut watcher| async move {
        let event = watcher.next().await?;
        Some((Ok(event), watcher))
    });
    Sse::new(events).keep_alive(KeepAlive::default())
}

struct Watcher {
    office: Arc<Office>,
    tidings: Receiver<Tidings>,
    /// What this page was told last.
    told: Option<(Tidings, Vec<BrokerHealth>)>,
}

impl Watcher {
    /// The next event; none once the office closes.
    async fn next(&mut self) -> Option<Event> {
        let closing = self.office.settings.closing.clone();
        closing.run_until_cancelled(self.wait_for_change()).await
    }

    async fn wait_for_change(&mut self) -> Event {
        loop {
            if self.told.is_some() {
                tokio::time::sleep(PACE).await;
            }
            let now = (*self.tidings.borrow(), self.office.brokers.all());
            if self.told.as_ref() != Some(&now) {
                let data = format!("{{\"received\":{},\"changed\":{}}}", now.0.received, now.0.changed);
                self.told = Some(now);
                return Event::default().event("tidings").data(data);
            }
        }
    }
}
