//! `GET /api/v1/queues`

use std::sync::Arc;

use axum::{Json, extract::State};
use serde::Serialize;
use utoipa::ToSchema;

use crate::{
    domain::letter::Status,
    web::{Office, error::WebError, view::tally},
};

/// The queues that letters came from.
#[derive(Serialize, ToSchema)]
pub struct Queues {
    items: Vec<Queue>,
}

/// A queue, and how many letters of it are where.
#[derive(Serialize, ToSchema)]
struct Queue {
    broker: String,
    /// Null for letters that do not say where they failed.
    queue: Option<String>,
    open: u64,
    scheduled: u64,
    retried: u64,
    discarded: u64,
}

/// Queues that letters came from, those with most open letters first
#[utoipa::path(get, path = "/queues", tag = "queues", responses((status = OK, body = Queues)))]
pub async fn queues(State(office): State<Arc<Office>>) -> Result<Json<Queues>, WebError> {
    let facets = office.store.facets().await?;
    let items = tally::queues(&facets).into_iter().map(|((broker, queue), counts)| Queue {
        broker: broker.to_owned(),
        queue: queue.map(str::to_owned),
        open: counts.of(Status::Open),
        scheduled: counts.of(Status::Scheduled),
        retried: counts.of(Status::Retried),
        discarded: counts.of(Status::Discarded),
    });
    Ok(Json(Queues { items: items.collect() }))
}
