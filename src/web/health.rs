//! What machines ask: alive, ready, numbers.

use std::sync::Arc;

use amqp_message::time::Timestamp;
use axum::{
    Router,
    extract::State,
    http::{StatusCode, header},
    response::{IntoResponse, Response},
    routing::get,
};

use super::AppState;
use crate::{
    domain::{broker::BrokerHealth, filter::FacetCount, letter::Importance},
    metrics::{DatabaseObservation, Observation},
    store::StoreError,
};

pub fn routes() -> Router<Arc<AppState>> {
    Router::new().route("/healthz", get(alive)).route("/readyz", get(ready)).route("/metrics", get(metrics))
}

/// The process answers; whether anything else does is for [`ready`] to say.
async fn alive() -> &'static str {
    "ok\n"
}

/// One line for the database and for each broker.
async fn ready(State(app): State<Arc<AppState>>) -> Response {
    let database = match app.store.ping().await {
        Ok(()) => None,
        Err(error) => Some(error.to_string()),
    };
    let brokers = app.brokers.all();
    let checks: Vec<_> = std::iter::once(("database".to_owned(), database)).chain(brokers.iter().map(check)).collect();
    let status = if checks.iter().all(|(_, trouble)| trouble.is_none()) {
        StatusCode::OK
    } else {
        StatusCode::SERVICE_UNAVAILABLE
    };
    let lines: String =
        checks.iter().map(|(name, trouble)| format!("{name}: {}\n", trouble.as_deref().unwrap_or("ok"))).collect();
    (status, [(header::CONTENT_TYPE, "text/plain; charset=utf-8")], lines).into_response()
}

fn check(broker: &BrokerHealth) -> (String, Option<String>) {
    let consuming = broker.consuming.trouble().map(|why| format!("consuming: {why}"));
    let publishing = broker.publishing.trouble().map(|why| format!("publishing: {why}"));
    let trouble: Vec<_> = consuming.into_iter().chain(publishing).collect();
    (format!("broker {}", broker.name), (!trouble.is_empty()).then(|| trouble.join("; ")))
}

async fn metrics(State(app): State<Arc<AppState>>) -> Response {
    const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    let (now, brokers) = (app.clock.now(), app.brokers.all());
    // While the database is away, what was counted here is still worth telling.
    let database = DatabaseFigures::read(&app, &brokers).await.ok();
    let database = database.as_ref().map(DatabaseFigures::as_observed);
    app.metrics.observe(&Observation { now, brokers: &brokers, database });
    ([(header::CONTENT_TYPE, OPEN_METRICS)], app.metrics.encode()).into_response()
}

/// What the database says at the moment.
struct DatabaseFigures {
    facets: Vec<FacetCount>,
    oldest_open: Vec<(Importance, Timestamp)>,
    groups_open: u64,
    first_due: Vec<(String, Timestamp)>,
    open_incidents: Vec<(Importance, u64)>,
    queues_without_consumers: Vec<(String, String)>,
    notifications_waiting: u64,
    oldest_notification: Option<Timestamp>,
    /// Only those of the configuration: one that was renamed would be missed for ever.
    digests_sent: Vec<(String, Timestamp)>,
}

impl DatabaseFigures {
    async fn read(app: &AppState, brokers: &[BrokerHealth]) -> Result<Self, StoreError> {
        let store = &app.store;
        let (notifications_waiting, oldest_notification) = store.waiting_notifications().await?;
        let mut first_due = Vec::new();
        for broker in brokers {
            first_due.extend(store.next_retry_due(&broker.name).await?.map(|at| (broker.name.clone(), at)));
        }
        let mut digests_sent = store.digests_sent().await?;
        digests_sent.retain(|(name, _)| app.digests.plan(Some(name)).is_ok());
        Ok(Self {
            facets: store.facets().await?,
            oldest_open: store.oldest_open().await?,
            groups_open: store.open_groups().await?.iter().sum(),
            first_due,
            open_incidents: store.count_open_incidents().await?,
            queues_without_consumers: store.queues_without_consumers().await?,
            notifications_waiting,
            oldest_notification,
            digests_sent,
        })
    }

    fn as_observed(&self) -> DatabaseObservation<'_> {
        DatabaseObservation {
            facets: &self.facets,
            oldest_open: &self.oldest_open,
            groups_open: self.groups_open,
            first_due: &self.first_due,
            open_incidents: &self.open_incidents,
            queues_without_consumers: &self.queues_without_consumers,
            notifications_waiting: self.notifications_waiting,
            oldest_notification: self.oldest_notification,
            digests_sent: &self.digests_sent,
        }
    }
}
