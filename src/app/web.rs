//! From a configuration to pages and API.

use std::sync::Arc;

use anyhow::Context;
use tokio::net::TcpListener;

use super::{Foundation, Lifecycle, watch};
use crate::{
    config::Config,
    services::triage::Triage,
    web::{self, Office, WebSettings},
};

pub(super) async fn listen(config: &Config) -> anyhow::Result<TcpListener> {
    let address = config.web.listen;
    TcpListener::bind(address).await.with_context(|| format!("web.listen: cannot listen on {address}"))
}

pub(super) fn start(
    config: &Config,
    foundation: Foundation,
    listener: TcpListener,
    lifecycle: &Lifecycle,
) -> anyhow::Result<()> {
    let listen = listener.local_addr()?;
    let triage = Triage::new(
        Arc::clone(&foundation.store),
        foundation.clock.clone(),
        foundation.news.clone(),
        foundation.bell,
        config.easynetq.inner_bodies(),
    );
    let settings = WebSettings {
        listen,
        public_url: config.web.public_url.clone(),
        dead_letter_exchange: config
            .brokers
            .values()
            .next()
            .map(|broker| broker.dead_letter_exchange.clone())
            .unwrap_or_default(),
        healed_after: config.groups.healed_after,
        watched_brokers: watch::brokers(config),
        closing: lifecycle.stopping(),
    };
    let office = Office {
        store: foundation.store,
        triage,
        policies: foundation.policies,
        rules: foundation.rules,
        reader: foundation.reader,
        schemas: foundation.schemas,
        digests: foundation.digests,
        tasks: lifecycle.tasks(),
        news: foundation.news,
        brokers: foundation.board,
        clock: foundation.clock,
        metrics: foundation.metrics,
        settings,
    };
    lifecycle.spawn("jobs", office.triage.clone().take_up(lifecycle.stopping()));
    let stopping = lifecycle.stopping();
    let server = axum::serve(listener, web::router(Arc::new(office)))
        .with_graceful_shutdown(async move { stopping.cancelled().await });
    lifecycle.spawn("web", async move {
        if let Err(error) = server.await {
            tracing::error!(error = %error, "the web server failed");
        }
    });
    tracing::info!("the office is open on http://{listen}");
    Ok(())
}
