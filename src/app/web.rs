//! From a configuration to pages and API.

use std::{
    net::{IpAddr, SocketAddr},
    sync::Arc,
};

use anyhow::Context;
use ipnet::IpNet;
use tokio::{net::TcpListener, runtime::Handle};

use super::{Lifecycle, Services, watch};
use crate::{
    config::{AuthMode, Config},
    services::{
        causes::Causes,
        getting_started::GettingStarted,
        idempotency::Keys,
        sign_in::{SignIn, Tokens, Users},
        triage::{Triage, bulk::LeftBehind, held_back::HeldBackRetries},
    },
    web::{
        self, AppState, Bounds, Certificate, CertificateFiles, LastFigures, Limits, SeenChanges, ViewCounts,
        WebSettings,
    },
};

/// Where it listens.
pub(super) struct Listeners {
    web: TcpListener,
    /// Of their own for probes and metrics.
    probes: Option<TcpListener>,
}

impl Listeners {
    pub(super) async fn open(config: &Config) -> anyhow::Result<Self> {
        let web = listen("web.listen", config.web.listen).await?;
        let probes = match config.web.probes_listen {
            Some(address) => Some(listen("web.probes_listen", address).await?),
            None => None,
        };
        Ok(Self { web, probes })
    }

    /// Which may have been given out.
    pub(super) fn port(&self) -> anyhow::Result<u16> {
        Ok(self.web.local_addr()?.port())
    }
}

async fn listen(key: &str, address: SocketAddr) -> anyhow::Result<TcpListener> {
    TcpListener::bind(address).await.with_context(|| format!("{key}: cannot listen on {address}"))
}

pub(super) fn start(
    config: &Config,
    services: Services,
    listeners: Listeners,
    lifecycle: &Lifecycle,
) -> anyhow::Result<()> {
    let listen = listeners.web.local_addr()?;
    let triage = Triage::new(
        Arc::clone(&services.store),
        services.changes.clone(),
        services.clock.clone(),
        config.retry_limits(),
        services.reader.clone(),
    );
    let settings = WebSettings {
        listen,
        is_tls: config.web.tls.is_set(),
        public_url: config.web.public_url.clone(),
        dead_letter_exchange: config
            .brokers
            .values()
            .next()
            .map(|broker| broker.dead_letter_exchange.clone())
            .unwrap_or_default(),
        trusted_proxies: trusted_proxies(config),
        limits: Limits::default(),
        decode_max_bytes: config.decode.max_bytes,
        is_search_enabled: config.search.enabled,
        succeeded_after: config.groups.succeeded_after,
        watch: watch::all_settings(config),
        demo: config.web.demo.clone(),
        closing: lifecycle.stopping(),
    };
    let app = AppState {
        store: web::GuardedStore::new(services.store.reader().with_own_connections()),
        triage,
        policies: services.policies,
        rules: services.rules,
        grouping_rules: services.grouping_rules,
        group_splits: services.group_splits,
        causes: Causes::new(services.reader.clone()),
        reader: services.reader,
        schemas: services.schemas,
        digests: services.digests,
        channels: services.channels,
        getting_started: GettingStarted::new(watch::sources(config)?, services.changes.clone(), services.clock.clone()),
        tasks: lifecycle.tasks(),
        background: Handle::current(),
        feed: services.feed.clone(),
        brokers: services.board,
        health: services.health,
        sign_in: services.sign_in,
        users: Users::new(Arc::clone(&services.store), services.clock.clone(), services.feed.clone()),
        tokens: Tokens::new(Arc::clone(&services.store), services.clock.clone(), services.feed.clone()),
        keys: Keys::new(Arc::clone(&services.store), services.clock.clone()),
        clock: services.clock,
        metrics: services.metrics,
        figures: LastFigures::default(),
        view_counts: ViewCounts::default(),
        seen_changes: SeenChanges::default(),
        settings,
    };
    lifecycle.start_worker(LeftBehind(app.triage.clone()));
    lifecycle.start_worker(HeldBackRetries(app.triage.clone()));
    let tls = certificate(config)?;
    let bounds = Bounds {
        limits: app.settings.limits,
        proxies: app.settings.trusted_proxies.clone(),
        tls: tls.as_ref().map(Certificate::acceptor).transpose()?,
    };
    let scheme = if tls.is_some() { "https" } else { "http" };
    if let Some(certificate) = tls {
        lifecycle.start_worker(certificate);
    }
    let app = Arc::new(app);
    lifecycle.spawn_web("web", web::serve(listeners.web, web::router(Arc::clone(&app)), bounds, lifecycle.stopping()));
    tracing::info!("listening on {scheme}://{listen}");
    if let Some(listener) = listeners.probes {
        tracing::info!("probes and metrics on http://{}", listener.local_addr()?);
        let bounds = Bounds { limits: app.settings.limits, ..Bounds::default() };
        lifecycle.spawn_web("probes", web::serve(listener, web::probes(app), bounds, lifecycle.stopping()));
    }
    warn_of_plain_http(config, listen.ip());
    Ok(())
}

/// The certificate of our own, where there is one.
pub(super) fn certificate(config: &Config) -> anyhow::Result<Option<Certificate>> {
    let tls = &config.web.tls;
    let files = CertificateFiles { certificate: tls.cert_file.clone(), key: tls.key_file.clone() };
    tls.is_set().then(|| Certificate::open(files)).transpose().context("web.tls")
}

/// Those that name people are believed for whom they ask, too.
fn trusted_proxies(config: &Config) -> Vec<IpNet> {
    let named: &[IpNet] = if config.auth.mode == AuthMode::Proxy { &config.auth.proxy.from } else { &[] };
    [&config.web.trusted_proxies, named].concat()
}

/// Says where the first admin is made, as long as there is none.
pub(super) async fn say_how_to_begin(config: &Config, sign_in: &SignIn) -> anyhow::Result<()> {
    if let Some(link) = sign_in.setup_link().await? {
        let base = config.web.public_url.as_str().trim_end_matches('/');
        tracing::warn!("there is no admin yet: make the first one within a day at {base}/set-up?link={link}");
    }
    Ok(())
}

fn warn_of_plain_http(config: &Config, listen: IpAddr) {
    let is_plain = config.web.public_url.scheme() == "http" && !listen.is_loopback();
    if is_plain && config.auth.mode != AuthMode::None {
        tracing::warn!("web.public_url has no https: passwords and sessions can be read on their way here");
    }
}
