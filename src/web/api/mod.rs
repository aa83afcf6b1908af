//! The JSON API under `/api/v1`, and its description, which is made from the code.
//!
//! Its types are its own: what the domain is called inside may change, what is written here is promised.

mod actions;
mod act;
mod docs;
mod get;
mod jobs;
mod list;
mod model;
mod queues;
mod reply;

use std::sync::Arc;

use axum::{Json, Router, routing::get};
use utoipa::OpenApi;
use utoipa_axum::{router::OpenApiRouter, routes};

use super::Office;

#[derive(OpenApi)]
#[openapi(info(
    title = "Dead Letter Office",
    description = "Letters, and what may be done with them. Times are RFC 3339 in UTC, errors problem+json (RFC 9457)."
))]
struct Description;

pub fn routes() -> Router<Arc<Office>> {
    let v1 = OpenApiRouter::new()
        .routes(routes!(list::letters))
        .routes(routes!(get::letter, act::change))
        .routes(routes!(get::body))
        .routes(routes!(act::retry))
        .routes(routes!(act::discard))
        .routes(routes!(act::reopen))
        .routes(routes!(actions::start))
        .routes(routes!(jobs::job))
        .routes(routes!(queues::queues));
    let described = OpenApiRouter::with_openapi(Description::openapi()).nest("/api/v1", v1);
    let (router, description) = described.split_for_parts();
    let description = Arc::new(description);
    let for_docs = Arc::clone(&description);
    router
        .route("/api/openapi.json", get(async move || Json((*description).clone())))
        .route("/api/docs", get(async move |office| docs::show(office, &for_docs).await))
}
