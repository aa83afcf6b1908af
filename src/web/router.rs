//! Where requests go, and what each passes on its way.

use std::sync::Arc;

use axum::{Router, http::Request, middleware};
use tower::ServiceBuilder;
use tower_http::{
    catch_panic::CatchPanicLayer,
    compression::{CompressionLayer, CompressionLevel},
    request_id::{MakeRequestUuid, PropagateRequestIdLayer, RequestId, SetRequestIdLayer},
    trace::TraceLayer,
};

use super::{
    api, assets, docs, error, events,
    handlers::get,
    health, pages, problem, security,
    server::{self, shares::Shares},
    shared::changes,
    state::AppState,
};

/// How well answers are compressed while somebody waits: for each better step it takes longer than it spares.
const COMPRESSION: i32 = 5;

/// All pages, the API and what surrounds them.
pub fn router(app: Arc<AppState>) -> Router {
    let hosts = security::Hosts::new(&app.settings);
    let is_tls = app.settings.public_url.scheme() == "https";
    // From the outside in: an error made anywhere inside is presented, compressed and carries the security headers. In three
    // parts, each of which sees the next as one type: else the type of a layer names all that are in it, for each route.
    let answers = ServiceBuilder::new()
        .layer(SetRequestIdLayer::x_request_id(MakeRequestUuid))
        .layer(TraceLayer::new_for_http().make_span_with(request_span).on_failure(()))
        .layer(PropagateRequestIdLayer::x_request_id())
        .layer(CompressionLayer::new().quality(CompressionLevel::Precise(COMPRESSION)))
        .layer(middleware::from_fn_with_state(is_tls, security::set_headers));
    let faults = ServiceBuilder::new()
        .layer(middleware::from_fn_with_state(Arc::clone(&app), problem::present))
        .layer(middleware::from_fn(server::unread::close))
        .layer(CatchPanicLayer::custom(error::on_panic))
        .layer(middleware::from_fn(server::crowded::refuse));
    let requests = ServiceBuilder::new()
        .layer(middleware::from_fn_with_state(hosts, security::refuse_foreign_hosts))
        .layer(middleware::from_fn(security::refuse_other_sites))
        .layer(middleware::from_fn_with_state(Arc::clone(&app), server::in_time::answer_in_time))
        .layer(middleware::from_fn_with_state(Arc::clone(&app), security::guard))
        .layer(middleware::from_fn_with_state(Arc::<Shares>::default(), server::shares::keep_to))
        .layer(middleware::from_fn_with_state(Arc::clone(&app), changes::note));
    Router::new()
        .merge(pages::routes())
        .merge(api::routes(&app))
        .merge(health::routes())
        .route("/events", get(events::stream))
        .route("/assets/{version}/{*name}", get(assets::serve))
        .route("/docs/{*file}", get(docs::serve))
        .with_state(app)
        .layer(requests)
        .layer(faults)
        .layer(answers)
}

/// Probes and metrics alone, for whoever asks: where they have a port of their own, who reaches it is a matter of the network.
pub fn probes(app: Arc<AppState>) -> Router {
    let layers = ServiceBuilder::new()
        .layer(middleware::from_fn_with_state(Arc::clone(&app), problem::present))
        .layer(CatchPanicLayer::custom(error::on_panic));
    health::routes().with_state(app).layer(layers)
}

fn request_span<B>(request: &Request<B>) -> tracing::Span {
    let id = request.extensions().get::<RequestId>().and_then(|id| id.header_value().to_str().ok());
    tracing::debug_span!("request", method = %request.method(), path = request.uri().path(), id = id.unwrap_or("none"))
}
