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

use std::sync::{Arc, LazyLock, OnceLock};

use axum::{Json, Router, extract::State, middleware};
use utoipa::openapi::OpenApi;
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
    let once = middleware::from_fn_with_state(Arc::clone(app), idempotency::once);
    // The limit of a call is around what reads a body to remember it.
    let v1 = CALLS
        .most
        .clone()
        .layer(once.clone())
        .merge(CALLS.uploads.clone().layer(once.clone()).layer(upload::limit()))
        .merge(CALLS.retry.clone().layer(once).layer(body_limit(EDIT_LIMIT)))
        .merge(CALLS.decode.clone().layer(body_limit(decode_limit(app.settings.decode_max_bytes))));
    let described = Arc::new(OnceLock::new());
    let for_docs = Arc::clone(&described);
    let show = async move |State(app): State<Arc<AppState>>| Json(description_for(&app, &described).clone());
    let show_docs =
        async move |State(app): State<Arc<AppState>>| docs::show(&app, description_for(&app, &for_docs)).await;
    Router::new()
        .nest(V1, v1)
        .route_layer(middleware::from_fn(|request, next| CALLS.heads.check(request, next)))
        .route("/api/openapi.json", get(show))
        .route("/api/docs", get(show_docs))
}

/// As this server is reached and asks people to sign in; made when somebody asks for it first.
fn description_for<'d>(app: &AppState, made: &'d OnceLock<OpenApi>) -> &'d OpenApi {
    made.get_or_init(|| {
        let (mode, public_url) = (app.sign_in.mode(), &app.settings.public_url);
        let has_sessions = matches!(mode, AuthMode::Password | AuthMode::Oidc);
        let cookie = has_sessions.then(|| PrivateCookie::session(public_url).name().to_owned());
        let sign_in = SignInFacts { asks: mode != AuthMode::None, cookie };
        let mut description = description::base(public_url, &sign_in);
        description.merge(CALLS.description.clone());
        description::finished(description, &sign_in)
    })
}

/// Where the calls are.
const V1: &str = "/api/v1";

/// The calls by what surrounds them, and what they say of themselves: once in a process, as it takes longer than all else
/// that a server does when it starts.
static CALLS: LazyLock<Calls> = LazyLock::new(Calls::collect);

struct Calls {
    most: Router<Arc<AppState>>,
    /// They bring a file.
    uploads: Router<Arc<AppState>>,
    /// It may bring a whole body.
    retry: Router<Arc<AppState>>,
    decode: Router<Arc<AppState>>,
    description: OpenApi,
    heads: Heads,
}

impl Calls {
    fn collect() -> Self {
        let (most, described) = most().split_for_parts();
        let mut all = OpenApiRouter::<Arc<AppState>>::with_openapi(described);
        let mut apart = |calls: OpenApiRouter<Arc<AppState>>| {
            let (router, described) = calls.split_for_parts();
            all.get_openapi_mut().merge(described);
            router
        };
        let uploads = apart(OpenApiRouter::new().routes(operations!(schemas::schemas, schemas::add)));
        let retry = apart(OpenApiRouter::new().routes(operations!(commands::retry)));
        let decode = apart(OpenApiRouter::new().routes(operations!(decode::decode)));
        let description = OpenApiRouter::<Arc<AppState>>::default().nest(V1, all).into_openapi();
        Self { most, uploads, retry, decode, heads: Heads::of(&description), description }
    }
}

fn most() -> OpenApiRouter<Arc<AppState>> {
    OpenApiRouter::new()
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
        .routes(operations!(mappings::mapping, mappings::set, mappings::remove))
}
