//! The JSON API under `/api/v1`, and its description, which is made from the code.
//!
//! Its types are its own: what the domain is called inside may change, what is written here is promised.

mod activity;
mod activity_export;
mod bulk;
mod bulk_filter;
mod change;
mod commands;
mod decode;
mod description;
mod digest_report;
mod digest_runs;
mod digests;
mod doc_schema;
mod docs;
mod edit;
mod edit_preview;
mod export_field;
mod faults;
mod group_item;
mod group_merges;
mod group_splits;
mod group_state;
mod grouping_rules;
mod groups;
mod head;
mod in_common;
mod job_report;
mod jobs;
mod letter;
mod letters;
mod letters_export;
mod mappings;
mod markers;
mod merged_item;
mod model;
mod payload;
mod policies;
mod preview;
mod queue;
mod queues;
mod reply;
mod rule_trials;
mod rules;
mod schemas;
mod views;
mod words;

use std::sync::Arc;

use axum::{Json, Router, middleware, routing::get};
use utoipa_axum::{router::OpenApiRouter, routes};

pub use decode::Decoded;

use description::SignInFacts;
use head::Heads;

use super::{
    AppState, idempotency,
    input::{EDIT_LIMIT, body_limit, decode_limit},
    security::PrivateCookie,
    upload,
};
use crate::config::AuthMode;

pub fn routes(app: &Arc<AppState>) -> Router<Arc<AppState>> {
    let settings = &app.settings;
    let once = middleware::from_fn_with_state(Arc::clone(app), idempotency::once);
    let v1 = OpenApiRouter::new()
        .routes(routes!(letters::letters))
        .routes(routes!(in_common::of_search))
        .routes(routes!(letters_export::export))
        .routes(routes!(letter::letter, change::change))
        .routes(routes!(letter::reveal))
        .routes(routes!(letter::body))
        .routes(routes!(commands::discard))
        .routes(routes!(commands::reopen))
        .routes(routes!(bulk::start))
        .routes(routes!(jobs::jobs))
        .routes(routes!(jobs::job))
        .routes(routes!(jobs::cancel))
        .routes(routes!(jobs::pause))
        .routes(routes!(jobs::resume))
        .routes(routes!(job_report::report))
        .routes(routes!(job_report::report_csv))
        .routes(routes!(preview::preview))
        .routes(routes!(jobs::undo))
        .routes(routes!(groups::groups))
        .routes(routes!(groups::group, groups::change))
        .routes(routes!(group_state::acknowledge))
        .routes(routes!(group_state::snooze))
        .routes(routes!(group_state::resolve))
        .routes(routes!(group_state::reopen))
        .routes(routes!(group_state::act))
        .routes(routes!(group_merges::merge))
        .routes(routes!(group_merges::unmerge))
        .routes(routes!(group_splits::split))
        .routes(routes!(group_splits::preview))
        .routes(routes!(group_splits::join))
        .routes(routes!(in_common::in_common))
        .routes(routes!(queues::queues))
        .routes(routes!(queue::queue))
        .routes(routes!(queue::pause))
        .routes(routes!(queue::resume))
        .routes(routes!(activity::activity))
        .routes(routes!(activity_export::ndjson))
        .routes(routes!(activity_export::csv))
        .routes(routes!(policies::policies, policies::add))
        .routes(routes!(policies::policy, policies::set, policies::remove))
        .routes(routes!(digests::digests))
        .routes(routes!(digest_runs::runs))
        .routes(routes!(digest_runs::run))
        .routes(routes!(digests::preview))
        .routes(routes!(digests::send))
        .routes(routes!(rules::rules, rules::add))
        .routes(routes!(rules::rule, rules::set, rules::remove))
        .routes(routes!(rules::order))
        .routes(routes!(rule_trials::test))
        .routes(routes!(rule_trials::apply))
        .routes(routes!(grouping_rules::rules, grouping_rules::add))
        .routes(routes!(grouping_rules::preview))
        .routes(routes!(grouping_rules::rule, grouping_rules::remove))
        .routes(routes!(schemas::schema, schemas::remove))
        .routes(routes!(schemas::types))
        .routes(routes!(views::views, views::add))
        .routes(routes!(views::view, views::set, views::remove))
        .routes(routes!(markers::markers, markers::add))
        .routes(routes!(markers::marker, markers::remove))
        .routes(routes!(mappings::mappings, mappings::add))
        .routes(routes!(mappings::mapping, mappings::set, mappings::remove));
    let uploads = OpenApiRouter::new().routes(routes!(schemas::schemas, schemas::add));
    // They may bring a whole body.
    let retry = OpenApiRouter::new().routes(routes!(commands::retry));
    let decode_limit = body_limit(decode_limit(settings.decode_max_bytes));
    let decode = OpenApiRouter::new().routes(routes!(decode::decode)).layer(decode_limit);
    // Its limit is around what reads a body to remember it.
    let v1 = v1
        .layer(once.clone())
        .merge(uploads.layer(once.clone()).layer(upload::limit()))
        .merge(retry.layer(once).layer(body_limit(EDIT_LIMIT)))
        .merge(decode);
    let mode = app.sign_in.mode();
    let has_sessions = matches!(mode, AuthMode::Password | AuthMode::Oidc);
    let cookie = has_sessions.then(|| PrivateCookie::session(&settings.public_url).name().to_owned());
    let sign_in = SignInFacts { asks: mode != AuthMode::None, cookie };
    let described = OpenApiRouter::with_openapi(description::base(&settings.public_url, &sign_in)).nest("/api/v1", v1);
    let (router, description) = described.split_for_parts();
    let heads = Heads::of(&description);
    let router = router.route_layer(middleware::from_fn(move |request, next| heads.clone().check(request, next)));
    let description = Arc::new(description::finished(description, &sign_in));
    let for_docs = Arc::clone(&description);
    router
        .route("/api/openapi.json", get(async move || Json((*description).clone())))
        .route("/api/docs", get(async move |app| docs::show(app, &for_docs).await))
}
