//! What machines ask: alive, ready, numbers.

use std::{convert::Infallible, sync::Arc, time::Duration};

use axum::{
    Json, Router,
    extract::{FromRequestParts, State},
    http::{StatusCode, header, request::Parts},
    response::{IntoResponse, Response},
};
use serde::Serialize;
use tokio::{sync::oneshot, time::timeout};

use super::{
    handlers::get,
    security::{Peer, has_token, visitor_of},
    view::time::timestamp,
};
use crate::{
    config::AuthMode,
    crash_point,
    domain::{
        access::Right,
        health::{Condition, Status},
    },
    metrics::{HealthObservation, Observation},
    store::StoreError,
    web::state::{AppState, last_figures::DatabaseFigures},
};

/// Who asks for metrics waits no longer for the database than this; then what it said last has to do.
const DATABASE_PATIENCE: Duration = crash_point::patience(Duration::from_millis(500));

pub fn routes() -> Router<Arc<AppState>> {
    Router::new().route("/healthz", get(alive)).route("/readyz", get(ready)).route("/metrics", get(metrics))
}

/// The health of a server, as machines read it.
#[derive(Serialize)]
struct HealthReport {
    status: &'static str,
    conditions: Vec<ConditionItem>,
}

/// One thing that is wrong.
#[derive(Serialize)]
struct ConditionItem {
    condition: &'static str,
    /// What the server is because of it.
    status: &'static str,
    since: String,
    #[serde(flatten)]
    details: Option<Details>,
}

/// What a condition tells of brokers, queues and databases.
#[derive(Serialize)]
struct Details {
    /// The broker, channel or worker it is about.
    #[serde(skip_serializing_if = "String::is_empty")]
    subject: String,
    title: String,
    why: String,
    what_to_do: String,
}

impl ConditionItem {
    fn new(condition: &Condition, has_details: bool) -> Self {
        let details = || Details {
            subject: condition.subject.clone(),
            title: condition.title(),
            why: condition.why.clone(),
            what_to_do: condition.what_to_do(),
        };
        Self {
            condition: condition.kind.as_str(),
            status: condition.kind.status().as_str(),
            since: timestamp(condition.since),
            details: has_details.then(details),
        }
    }
}

/// The process answers; what it can do is in the details.
async fn alive(State(app): State<Arc<AppState>>, Asker(is_known): Asker) -> Response {
    report(&app, is_known).1.into_response()
}

/// Whether it takes messages in and sends them back. It asks nobody: also a database that hangs must not hold this up.
async fn ready(State(app): State<Arc<AppState>>, Asker(is_known): Asker) -> Response {
    let (status, report) = report(&app, is_known);
    let code = if status == Status::Unready { StatusCode::SERVICE_UNAVAILABLE } else { StatusCode::OK };
    (code, report).into_response()
}

/// Whether who asks may know more than that something is wrong: where people sign in, whoever has a token that may read.
struct Asker(bool);

impl FromRequestParts<Arc<AppState>> for Asker {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<AppState>) -> Result<Self, Infallible> {
        if app.sign_in.mode() == AuthMode::None {
            return Ok(Self(true));
        }
        if !has_token(&parts.headers) || app.health.is_database_away() {
            return Ok(Self(false));
        }
        let visitor = visitor_of(app, &parts.headers, Peer::of(&parts.extensions), false);
        let visitor = timeout(DATABASE_PATIENCE, visitor).await;
        Ok(Self(matches!(visitor, Ok(Ok(visitor)) if visitor.may(Right::Read))))
    }
}

fn report(app: &AppState, has_details: bool) -> (Status, Json<HealthReport>) {
    let conditions = app.health.conditions();
    let status = Status::of(&conditions);
    let conditions = conditions.iter().map(|condition| ConditionItem::new(condition, has_details)).collect();
    (status, Json(HealthReport { status: status.as_str(), conditions }))
}

async fn metrics(State(app): State<Arc<AppState>>) -> Response {
    const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    let (now, brokers) = (app.clock.now(), app.brokers.all());
    // While the database is away, what was counted here is still worth telling.
    let database = database_figures(&app).await;
    let database = database.as_deref().map(DatabaseFigures::as_observed);
    let (conditions, first_due) = (app.health.conditions(), app.health.first_due());
    let health = HealthObservation {
        conditions: &conditions,
        not_enriched: app.health.figures().map(|figures| figures.not_enriched),
        not_indexed: app.health.figures().map(|figures| figures.not_indexed),
        first_due: &first_due,
    };
    app.metrics.observe(&Observation { now, brokers: &brokers, health, database });
    ([(header::CONTENT_TYPE, OPEN_METRICS)], app.metrics.encode()).into_response()
}

/// What the database says; where that takes long, what it said last, and nothing where it is known to be away.
async fn database_figures(app: &Arc<AppState>) -> Option<Arc<DatabaseFigures>> {
    let is_there = timeout(DATABASE_PATIENCE, app.store.whole().is_there());
    if app.health.is_database_away() || !is_there.await.unwrap_or(false) {
        return None;
    }
    // Only one asks at a time, and goes on when nobody waits any more.
    let Some(asking) = app.figures.asking() else {
        return app.figures.recent(app.clock.now());
    };
    let (worker, (tell, told)) = (Arc::clone(app), oneshot::channel());
    app.tasks.spawn(async move {
        let read = read_figures(&worker).await.ok().map(Arc::new);
        if let Some(figures) = &read {
            worker.figures.keep(worker.clock.now(), figures);
        }
        drop(asking);
        let _ = tell.send(read);
    });
    match timeout(DATABASE_PATIENCE, told).await {
        Ok(read) => read.ok().flatten(),
        Err(_) => app.figures.recent(app.clock.now()),
    }
}

async fn read_figures(app: &AppState) -> Result<DatabaseFigures, StoreError> {
    let store = app.store.whole();
    let (notifications_waiting, oldest_notification) = store.waiting_notifications().await?;
    let mut digests_sent = store.digests_sent().await?;
    // What is sent nowhere is never late.
    digests_sent.retain(|(name, _)| app.digests.plan(Some(name)).is_ok_and(|plan| plan.destination.is_some()));
    Ok(DatabaseFigures {
        facets: store.facets().await?,
        oldest_open: store.oldest_open().await?,
        groups_open: store.open_groups().await?.iter().sum(),
        open_incidents: store.count_open_incidents().await?,
        queues_without_consumers: store.queues_without_consumers().await?,
        notifications_waiting,
        oldest_notification,
        digests_sent,
    })
}
