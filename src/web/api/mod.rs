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
mod idempotency;
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
mod operations;
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

use axum::{Json, Router, middleware};
use utoipa_axum::router::OpenApiRouter;

pub use decode::Decoded;

use description::SignInFacts;
use head::Heads;
use operations::operations;

use super::{
    handlers::get,
    input::{EDIT_LIMIT, body_limit, decode_limit},
    security::PrivateCookie,
};
use crate::{
    config::AuthMode,
    web::{input::upload, state::AppState},
};

pub fn routes(app: &Arc<AppState>) -> Router<Arc<AppState>> {
    let settings = &app.settings;
    let once = middleware::from_fn_with_state(Arc::clone(app), idempotency::once);
    let v1 = OpenApiRouter::new()
        .routes(operations!(letters::letters))
        .routes(operations!(in_common::of_search))
        .routes(operations!(letters_export::export))
        .routes(operations!(letter::letter, change::change))
        .routes(operations!(letter::reveal))
        .routes(operations!(letter::body))
        .routes(operations!(commands::discard))
        .routes(operations!(commands::reopen))
        .routes(operations!(bulk::start))
        .routes(operations!(jobs::jobs))
        .routes(operations!(jobs::job))
        .routes(operations!(jobs::cancel))
        .routes(operations!(jobs::pause))
        .routes(operations!(jobs::resume))
        .routes(operations!(job_report::report))
        .routes(operations!(job_report::report_csv))
        .routes(operations!(preview::preview))
        .routes(operations!(jobs::undo))
        .routes(operations!(groups::groups))
        .routes(operations!(groups::group, groups::change))
        .routes(operations!(group_state::acknowledge))
        .routes(operations!(group_state::snooze))
        .routes(operations!(group_state::resolve))
        .routes(operations!(group_state::reopen))
        .routes(operations!(group_state::act))
        .routes(operations!(group_merges::merge))
        .routes(operations!(group_merges::unmerge))
        .routes(operations!(group_splits::split))
        .routes(operations!(group_splits::preview))
        .routes(operations!(group_splits::join))
        .routes(operations!(in_common::in_common))
        .routes(operations!(queues::queues))
        .routes(operations!(queue::queue))
        .routes(operations!(queue::pause))
        .routes(operations!(queue::resume))
        .routes(operations!(activity::activity))
        .routes(operations!(activity_export::ndjson))
        .routes(operations!(activity_export::csv))
        .routes(operations!(policies::policies, policies::add))
        .routes(operations!(policies::policy, policies::set, policies::remove))
        .routes(operations!(digests::digests))
        .routes(operations!(digest_runs::runs))
        .routes(operations!(digest_runs::run))
        .routes(operations!(digests::preview))
        .routes(operations!(digests::send))
        .routes(operations!(rules::rules, rules::add))
        .routes(operations!(rules::rule, rules::set, rules::remove))
        .routes(operations!(rules::order))
        .routes(operations!(rule_trials::test))
        .routes(operations!(rule_trials::apply))
        .routes(operations!(grouping_rules::rules, grouping_rules::add))
        .routes(operations!(grouping_rules::preview))
        .routes(operations!(grouping_rules::rule, grouping_rules::remove))
        .routes(operations!(schemas::schema, schemas::remove))
        .routes(operations!(schemas::types))
        .routes(operations!(views::views, views::add))
        .routes(operations!(views::view, views::set, views::remove))
        .routes(operations!(markers::markers, markers::add))
        .routes(operations!(markers::marker, markers::remove))
        .routes(operations!(mappings::mappings, mappings::add))
        .routes(operations!(mappings::mapping, mappings::set, mappings::remove));
    let uploads = OpenApiRouter::new().routes(operations!(schemas::schemas, schemas::add));
    // They may bring a whole body.
    let retry = OpenApiRouter::new().routes(operations!(commands::retry));
    let decode_limit = body_limit(decode_limit(settings.decode_max_bytes));
    let decode = OpenApiRouter::new().routes(operations!(decode::decode)).layer(decode_limit);
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
