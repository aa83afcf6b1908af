//! From a configuration to pages and API.

use std::sync::Arc;

use anyhow::Context;
use tokio::net::TcpListener;

use super::{Lifecycle, Services, watch};
use crate::{
    config::Config,
    services::{
        idempotency::Keys,
        triage::{Triage, bulk::LeftBehind},
    },
    web::{self, AppState, LastFigures, Limits, WebSettings},
};

pub(super) async fn listen(config: &Config) -> anyhow::Result<TcpListener> {
    let address = config.web.listen;
    TcpListener::bind(address).await.with_context(|| format!("web.listen: cannot listen on {address}"))
}

pub(super) fn start(
    config: &Config,
    services: Services,
    listener: TcpListener,
    lifecycle: &Lifecycle,
) -> anyhow::Result<()> {
    let listen = listener.local_addr()?;
    let triage =
        Triage::new(Arc::clone(&services.store), services.changes, services.clock.clone(), config.retry_limits());
    let settings = WebSettings {
        listen,
        public_url: config.web.public_url.clone(),
        dead_letter_exchange: config
            .brokers
            .values()
            .next()
            .map(|broker| broker.dead_letter_exchange.clone())
            .unwrap_or_default(),
        limits: Limits::default(),
        decode_max_bytes: config.decode.max_bytes,
        succeeded_after: config.groups.succeeded_after,
        watch: watch::all_settings(config),
        closing: lifecycle.stopping(),
    };
    let app = AppState {
        store: services.store.reader(),
        triage,
        policies: services.policies,
        rules: services.rules,
        reader: services.reader,
        schemas: services.schemas,
        digests: services.digests,
        tasks: lifecycle.tasks(),
        feed: services.feed,
        brokers: services.board,
        health: services.health,
        keys: Keys::new(Arc::clone(&services.store), services.clock.clone()),
        clock: services.clock,
        metrics: services.metrics,
        figures: LastFigures::default(),
        settings,
    };
    lifecycle.start_worker(LeftBehind(app.triage.clone()));
    let (limits, router) = (app.settings.limits, web::router(Arc::new(app)));
    lifecycle.spawn("web", web::serve(listener, router, limits, lifecycle.stopping()));
    tracing::info!("listening on http://{listen}");
    Ok(())
}
