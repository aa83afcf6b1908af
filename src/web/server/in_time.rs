//! Every request ends: its body arrives in time or is a 408, and the answer comes in time or is a 503. While the database
//! is away that is said within a second, not when the last connection has been waited for.

use std::{
    io,
    pin::{Pin, pin},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll, ready},
};

use axum::{
    body::{Body, Bytes, HttpBody},
    extract::{Request, State},
    http::StatusCode,
    middleware::Next,
    response::{IntoResponse, Response},
};
use http_body::{Frame, SizeHint};
use tokio::time::{Instant, Sleep, sleep_until, timeout};

use crate::{
    config::AuthMode,
    web::{
        error::{WebError, codes::ProblemCode},
        state::{AppState, limits::Limits},
    },
};

/// How the body of a request arrives.
#[derive(Default)]
struct Arrival {
    /// Somebody waits for more of it. Nobody does before it is known who asks.
    is_awaited: AtomicBool,
    is_late: AtomicBool,
}

pub async fn answer_in_time(State(app): State<Arc<AppState>>, request: Request, next: Next) -> Response {
    let (limits, arrival) = (app.settings.limits, Arc::new(Arrival::default()));
    let asks_database = asks_database(&app, request.uri().path());
    if asks_database && is_away(&app) {
        return WebError::no_database().into_response();
    }
    let request = request.map(|body| timed(body, &limits, &arrival));
    let mut running = pin!(next.run(request));
    let mut given_up = Instant::now() + limits.answer;
    loop {
        let look = Instant::now() + limits.look;
        tokio::select! {
            response = &mut running => {
                if is_outage(&response) {
                    tell_of_outage(&app).await;
                }
                return if arrival.is_late.load(Ordering::Relaxed) { too_late() } else { response };
            }
            () = sleep_until(look.min(given_up)) => {}
        }
        if arrival.is_awaited.load(Ordering::Relaxed) {
            given_up = Instant::now() + limits.answer;
        } else if Instant::now() >= given_up {
            let late = WebError::new(StatusCode::SERVICE_UNAVAILABLE, "It took too long and was given up.");
            return late.into_response();
        } else if asks_database && (is_away(&app) || !is_there(&app).await) {
            app.health.finds_no_database();
            return WebError::no_database().into_response();
        }
    }
}

/// Whether the database is known to be away. Nobody waits for it then; it is asked beside, so that a later call finds out
/// that it is back.
fn is_away(app: &Arc<AppState>) -> bool {
    if !app.health.is_database_away() || app.store.whole().was_there() {
        return false;
    }
    let app_beside = Arc::clone(app);
    app.tasks.spawn(async move { app_beside.store.whole().is_there().await });
    true
}

/// Whether the database is there, as far as can be told until the next look.
async fn is_there(app: &AppState) -> bool {
    timeout(app.settings.limits.look, app.store.whole().is_there()).await.unwrap_or(true)
}

/// The first call that fails for it has everybody know that the database is away.
async fn tell_of_outage(app: &AppState) {
    if !app.health.is_database_away() && !is_there(app).await {
        app.health.finds_no_database();
    }
}

fn is_outage(response: &Response) -> bool {
    let error = response.extensions().get::<WebError>();
    error.is_some_and(|error| error.code == ProblemCode::DatabaseUnavailable)
}

/// Some are answered from memory; some of these only where nobody has to sign in: who asks is in the database.
fn asks_database(app: &AppState, path: &str) -> bool {
    let in_memory = ["/api/openapi.json", "/healthz", "/readyz"];
    let is_for_anybody = app.sign_in.mode() == AuthMode::None;
    let in_memory_for_anybody = ["/events", "/banner", "/metrics"];
    let is_in_memory = in_memory.contains(&path) || is_for_anybody && in_memory_for_anybody.contains(&path);
    !path.starts_with("/assets/") && !is_in_memory
}

fn too_late() -> Response {
    WebError::new(StatusCode::REQUEST_TIMEOUT, "The body of the request did not arrive in time.").into_response()
}

fn timed(body: Body, limits: &Limits, arrival: &Arc<Arrival>) -> Body {
    if body.is_end_stream() {
        return body;
    }
    let now = Instant::now();
    let end = now + limits.body;
    let timer = Box::pin(sleep_until(end.min(now + limits.pause)));
    Body::new(Timed { body, timer, end, limits: *limits, arrival: Arc::clone(arrival) })
}

/// A body that ends with an error where it does not go on arriving.
struct Timed {
    body: Body,
    timer: Pin<Box<Sleep>>,
    end: Instant,
    limits: Limits,
    arrival: Arc<Arrival>,
}

impl HttpBody for Timed {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let frame = Pin::new(&mut self.body).poll_frame(context);
        self.arrival.is_awaited.store(frame.is_pending(), Ordering::Relaxed);
        if frame.is_ready() {
            let next = self.end.min(Instant::now() + self.limits.pause);
            self.timer.as_mut().reset(next);
            return frame;
        }
        ready!(self.timer.as_mut().poll(context));
        self.arrival.is_awaited.store(false, Ordering::Relaxed);
        self.arrival.is_late.store(true, Ordering::Relaxed);
        Poll::Ready(Some(Err(axum::Error::new(io::Error::from(io::ErrorKind::TimedOut)))))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for Timed {
    /// Whoever drops it wants no more of it.
    fn drop(&mut self) {
        self.arrival.is_awaited.store(false, Ordering::Relaxed);
    }
}
