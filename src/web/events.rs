//! Server-sent events: that something is new, never what. The page then asks for the fragments it shows.

use std::{
    convert::Infallible,
    hash::{BuildHasher, RandomState},
    net::IpAddr,
    sync::{Arc, LazyLock},
    time::Duration,
};

use axum::{
    extract::{Request, State},
    http::HeaderMap,
    middleware::Next,
    response::{
        Response,
        sse::{Event, KeepAlive, Sse},
    },
};
use futures_util::{Stream, stream};
use tokio::{sync::watch::Receiver, time::timeout};

use super::{
    AppState,
    pages::banner,
    security::{Peer, Visitor, visitor_of},
};
use crate::{config::AuthMode, domain::access::Right, services::change_feed::Changes};

/// A page is notified at most this often, however much arrives.
const PACE: Duration = Duration::from_secs(1);

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

tokio::task_local! {
    static KNOWN: String;
}

/// Notes what had changed before anything is read for an answer: a page that says it knows more than it was made of would
/// never catch up.
pub async fn note_changes(State(app): State<Arc<AppState>>, request: Request, next: Next) -> Response {
    KNOWN.scope(changes(&app), next.run(request)).await
}

/// What the page that is made now knows; it has to act only on an event that says something else.
pub fn known_changes() -> String {
    KNOWN.try_with(Clone::clone).unwrap_or_default()
}

fn changes(app: &AppState) -> String {
    let feed = *app.feed.subscribe().borrow();
    let brokers = *app.brokers.changes().borrow();
    text(feed, brokers, Visitor::current().is_some_and(|visitor| visitor.is_confined()))
}

/// Who does not see all queues is told that something has changed, and not how much.
fn text(Changes { received, changed, .. }: Changes, brokers: u64, is_confined: bool) -> String {
    static KEY: LazyLock<RandomState> = LazyLock::new(RandomState::new);
    if is_confined {
        return format!("{:x}", KEY.hash_one((received, changed, brokers)));
    }
    format!("{received}.{changed}.{brokers}")
}

struct Watcher {
    app: Arc<AppState>,
    changes: Receiver<Changes>,
    brokers: Receiver<u64>,
    health: Receiver<u64>,
    /// Who listens.
    headers: HeaderMap,
    peer: IpAddr,
    is_confined: bool,
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
            is_confined: request.extensions().get::<Visitor>().is_none_or(Visitor::is_confined),
            untold: vec![Told::Health, Told::Changes],
            app,
        }
    }

    /// The next event; none once the app closes.
    async fn next(&mut self) -> Option<Event> {
        let closing = self.app.settings.closing.clone();
        let told = match self.untold.pop() {
            Some(told) => told,
            None => closing.run_until_cancelled(self.wait_for_change()).await?,
        };
        if self.is_over().await { None } else { Some(self.event(&told)) }
    }

    /// Whether whoever listens may not come in any more. As long as the database is away that is not known.
    async fn is_over(&self) -> bool {
        if self.app.health.is_database_away() {
            return false;
        }
        match timeout(LOOKUP, visitor_of(&self.app, &self.headers, self.peer, false)).await {
            Ok(Ok(visitor)) => !visitor.may(Right::Read),
            Ok(Err(error)) => !error.status.is_server_error(),
            Err(_) => false,
        }
    }

    async fn wait_for_change(&mut self) -> Told {
        tokio::time::sleep(PACE).await;
        // An error means that nobody is left to tell us anything; closing is not far then.
        tokio::select! {
            _ = self.changes.changed() => Told::Changes,
            _ = self.brokers.changed() => Told::Changes,
            _ = self.health.changed() => Told::Health,
            () = tokio::time::sleep(SIGN_OF_LIFE) => Told::Health,
        }
    }

    fn health_now(&mut self) -> String {
        let seen = *self.health.borrow_and_update();
        let is_away = self.app.health.is_database_away() && self.app.sign_in.mode() != AuthMode::None;
        if is_away { AWAY.to_owned() } else { banner::changes(seen) }
    }

    fn event(&mut self, told: &Told) -> Event {
        match told {
            Told::Changes => {
                let (feed, brokers) = (*self.changes.borrow_and_update(), *self.brokers.borrow_and_update());
                Event::default().event("changes").data(text(feed, brokers, self.is_confined))
            }
            Told::Health => Event::default().event("health").data(self.health_now()),
        }
    }
}
