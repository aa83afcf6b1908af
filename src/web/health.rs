//! What machines ask: alive, ready, numbers.

use std::sync::Arc;

use axum::{
    Router,
    extract::State,
    http::{StatusCode, header},
    response::{IntoResponse, Response},
    routing::get,
};

use super::Office;
use crate::domain::broker::BrokerHealth;

pub fn routes() -> Router<Arc<Office>> {
    Router::new().route("/healthz", get(alive)).route("/readyz", get(ready)).route("/metrics", get(metrics))
}

/// The process answers; whether anything else does is for [`ready`] to say.
async fn alive() -> &'static str {
    "ok\n"
}

/// One line for the ledger and for each broker.
async fn ready(State(office): State<Arc<Office>>) -> Response {
    let ledger = match office.store.ping().await {
        Ok(()) => None,
        Err(error) => Some(error.to_string()),
    };
    let brokers = office.brokers.all();
    let checks: Vec<_> = std::iter::once(("ledger".to_owned(), ledger)).chain(brokers.iter().map(check)).collect();
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

async fn metrics(State(office): State<Arc<Office>>) -> Response {
    const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    // While the ledger is away, what was counted here is still worth telling.
    if let Ok((facets, oldest)) = tokio::try_join!(office.store.facets(), office.store.oldest_open()) {
        office.metrics.observe(&facets, &oldest, &office.brokers.all(), office.clock.now());
    }
    ([(header::CONTENT_TYPE, OPEN_METRICS)], office.metrics.encode()).into_response()
}
