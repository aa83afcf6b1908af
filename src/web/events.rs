//! Server-sent events: that something is new, never what. The page then asks for the fragments it shows.

use std::{convert::Infallible, net::IpAddr, sync::Arc, time::Duration};

use axum::{
    extract::{Request, State},
    http::HeaderMap,
    response::sse::{Event, KeepAlive, Sse},
};
use futures_util::{Stream, stream};
use tokio::{
    sync::watch::Receiver,
    time::{Instant, sleep, sleep_until, timeout},
};

use super::{
    pages::banner,
    security::{Peer, visitor_of},
    shared::changes,
};
use crate::{
    config::AuthMode,
    domain::access::Right,
    services::change_feed::Changes,
    web::{state::AppState, visitor::Visitor},
};

/// A page is notified at most this often, however much arrives.
const PACE: Duration = Duration::from_secs(1);

/// Each page that listens asks for something when it is told. So they are told one after the other, with this between two,
/// and the last one after [`PACE`] at most.
const APART: Duration = Duration::from_millis(10);

/// A page that hears nothing for longer takes the server for gone.
const SIGN_OF_LIFE: Duration = Duration::from_secs(10);

/// Who listens is looked up no longer than this: a database that hangs must not keep from them that it does.
const LOOKUP: Duration = Duration::from_secs(1);

/// Said in place of what is wrong, where the page cannot ask for that: who asks is in the database.
const AWAY: &str = "away";

/// Sends `changes` whenever letters or brokers have changed, `health` when something else is wrong with the server than
/// before, and each once at the beginning: whoever comes back after a pause has to catch up.
///
/// It ends when the server closes, and when whoever listens may not come in any more.
pub async fn stream(
    State(app): State<Arc<AppState>>,
    request: Request,
) -> Sse<impl Stream<Item = Result<Event, Infallible>>> {
    let events = stream::unfold(Watcher::new(app, &request), |mut watcher| async move {
        let event = watcher.next().await?;
        Some((Ok(event), watcher))
    });
    Sse::new(events).keep_alive(KeepAlive::default())
}

struct Watcher {
    app: Arc<AppState>,
    changes: Receiver<Changes>,
    brokers: Receiver<u64>,
    health: Receiver<u64>,
    /// Who listens.
    headers: HeaderMap,
    peer: IpAddr,
    visitor: Option<Visitor>,
    /// What was told last of what has changed.
    told: String,
    told_at: Instant,
    /// When its turn is among all that listen, from 0 to 1.
    turn: f64,
    /// What this page was not told yet at all.
    untold: Vec<Told>,
}

enum Told {
    Changes,
    Health,
}

impl Watcher {
    fn new(app: Arc<AppState>, request: &Request) -> Self {
        Self {
            changes: app.feed.subscribe(),
            brokers: app.brokers.changes(),
            health: app.health.changes(),
            headers: request.headers().clone(),
            peer: Peer::of(request.extensions()),
            visitor: request.extensions().get::<Visitor>().cloned(),
            told: String::new(),
            told_at: Instant::now(),
            turn: fastrand::f64(),
            untold: vec![Told::Health, Told::Changes],
            app,
        }
    }

    /// The next event; none once the app closes.
    async fn next(&mut self) -> Option<Event> {
        let closing = self.app.settings.closing.clone();
        loop {
            let told = match self.untold.pop() {
                Some(told) => told,
                None => closing.run_until_cancelled(self.wait_for_change()).await?,
            };
            if self.is_over().await {
                return None;
            }
            if let Some(event) = self.event(&told).await {
                self.told_at = Instant::now();
                return Some(event);
            }
        }
    }

    /// Whether whoever listens may not come in any more. As long as the database is away that is not known.
    async fn is_over(&mut self) -> bool {
        if self.app.health.is_database_away() {
            return false;
        }
        match timeout(LOOKUP, visitor_of(&self.app, &self.headers, self.peer, false)).await {
            Ok(Ok(visitor)) => {
                let may_read = visitor.may(Right::Read);
                self.visitor = Some(visitor);
                !may_read
            }
            Ok(Err(error)) => !error.status.is_server_error(),
            Err(_) => false,
        }
    }

    /// What they do not see must not show in when they are told that the server lives either.
    async fn wait_for_change(&mut self) -> Told {
        let sign_of_life = self.told_at + SIGN_OF_LIFE;
        sleep_until(sign_of_life.min(Instant::now() + PACE)).await;
        let is_due = self.has_changed();
        // An error means that nobody is left to tell us anything; closing is not far then.
        let told = tokio::select! {
            _ = self.changes.changed() => Told::Changes,
            _ = self.brokers.changed() => Told::Changes,
            _ = self.health.changed() => Told::Health,
            () = sleep_until(sign_of_life) => Told::Health,
        };
        // As long as there is always something new, each is told a PACE after its last turn.
        if !is_due {
            sleep(wait_of(self.turn, self.app.feed.listeners())).await;
        }
        told
    }

    fn has_changed(&self) -> bool {
        let all = [self.changes.has_changed(), self.brokers.has_changed(), self.health.has_changed()];
        all.into_iter().any(|has_changed| has_changed.unwrap_or_default())
    }

    fn health_now(&mut self) -> String {
        let seen = *self.health.borrow_and_update();
        let is_away = self.app.health.is_database_away() && self.app.sign_in.mode() != AuthMode::None;
        if is_away { AWAY.to_owned() } else { banner::changes(seen) }
    }

    /// None where nothing has changed of what they see.
    async fn event(&mut self, told: &Told) -> Option<Event> {
        match told {
            Told::Changes => {
                self.changes.mark_unchanged();
                self.brokers.mark_unchanged();
                let changes = changes::seen(&self.app, self.visitor.as_ref()).await;
                let is_new = changes != self.told;
                self.told.clone_from(&changes);
                is_new.then(|| Event::default().event("changes").data(changes))
            }
            Told::Health => Some(Event::default().event("health").data(self.health_now())),
        }
    }
}

/// How long a change is kept from a page at its turn, from 0 to 1, among so many.
fn wait_of(turn: f64, listeners: u32) -> Duration {
    APART.saturating_mul(listeners).min(PACE).mul_f64(turn)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_hear_of_a_change_one_after_the_other_and_the_last_within_a_second() {
        assert_eq!(wait_of(1.0, 1), Duration::from_millis(10));
        assert_eq!([0.0, 0.5, 1.0].map(|turn| wait_of(turn, 100)), [0, 500, 1_000].map(Duration::from_millis));
        assert_eq!(wait_of(1.0, u32::MAX), PACE);
    }
}
