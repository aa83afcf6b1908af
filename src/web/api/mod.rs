//! The JSON API under `/api/v1`, and its description, which is made from the code.
//!
//! Its types are its own: what the domain is called inside may change, what is written here is promised.

mod activity;
mod bulk;
mod bulk_filter;
mod commands;
mod decode;
mod digest_report;
mod digests;
mod docs;
mod edit;
mod groups;
mod jobs;
mod letter;
mod letters;
mod mappings;
mod model;
mod payload;
mod policies;
mod queues;
mod reply;
mod rule_trials;
mod rules;
mod schemas;

use std::sync::Arc;

use axum::{Json, Router, extract::DefaultBodyLimit, routing::get};
use utoipa::OpenApi;
use utoipa_axum::{router::OpenApiRouter, routes};

pub use decode::Decoded;

use super::{AppState, input::EDIT_LIMIT, upload};

#[derive(OpenApi)]
#[openapi(info(
    title = "Dead Letter Office",
    description = "Letters, and what may be done with them. Times are RFC 3339 in UTC, errors problem+json (RFC 9457)."
))]
struct Description;

pub fn routes() -> Router<Arc<AppState>> {
    let v1 = OpenApiRouter::new()
        .routes(routes!(letters::letters))
        .routes(routes!(letter::letter, commands::change))
        .routes(routes!(letter::body))
        .routes(routes!(commands::discard))
        .routes(routes!(commands::reopen))
        .routes(routes!(bulk::start))
        .routes(routes!(jobs::job))
        .routes(routes!(jobs::cancel))
        .routes(routes!(jobs::undo))
        .routes(routes!(groups::groups))
        .routes(routes!(groups::group, groups::change))
        .routes(routes!(queues::queues))
        .routes(routes!(activity::activity))
        .routes(routes!(policies::policies, policies::set, policies::unset))
        .routes(routes!(digests::digests))
        .routes(routes!(digests::preview))
        .routes(routes!(digests::send))
        .routes(routes!(decode::decode))
        .routes(routes!(rules::rules, rules::add))
        .routes(routes!(rules::rule, rules::set, rules::remove))
        .routes(routes!(rules::order))
        .routes(routes!(rule_trials::test))
        .routes(routes!(rule_trials::apply))
        .routes(routes!(schemas::remove))
        .routes(routes!(schemas::types))
        .routes(routes!(mappings::mappings, mappings::set, mappings::unset));
    let uploads = OpenApiRouter::new().routes(routes!(schemas::schemas, schemas::add)).layer(upload::limit());
    // It may bring a whole body.
    let retry = OpenApiRouter::new().routes(routes!(commands::retry)).layer(DefaultBodyLimit::max(EDIT_LIMIT));
    let v1 = v1.merge(uploads).merge(retry);
    let described = OpenApiRouter::with_openapi(Description::openapi()).nest("/api/v1", v1);
    let (router, description) = described.split_for_parts();
    let description = Arc::new(description);
    let for_docs = Arc::clone(&description);
    router
        .route("/api/openapi.json", get(async move || Json((*description).clone())))
        .route("/api/docs", get(async move |app| docs::show(app, &for_docs).await))
}
