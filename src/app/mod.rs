//! From a configuration to a running office.

mod check;
mod lifecycle;
mod roles;

use std::{path::PathBuf, process::ExitCode, sync::Arc};

use anyhow::Context;
use tokio::net::TcpListener;

pub use check::check;
pub use lifecycle::Lifecycle;
pub use roles::{Role, Roles};

use crate::{
    broker::health::BrokerBoard,
    clock::Clock,
    config::Config,
    domain::broker::ConnectionState,
    metrics::Metrics,
    notify::Sender,
    pipeline::{
        bell::Bell,
        channels::Channels,
        delay_queues::DelayQueues,
        deliveries::Deliveries,
        digests::Digests,
        heartbeat::Heartbeat,
        incidents::{self, Incidents},
        intake::{Door, Intake},
        news::{News, watch_ledger},
        policies::Policies,
        reader::Reader,
        retention::Retention,
        rules::Rules,
        scheduler::Scheduler,
        schemas::{Folder, Schemas},
        sorting::Sorting,
        triage::Triage,
    },
    store::Store,
    web::{self, Office, WebSettings},
};

/// Runs the server until it is told to stop.
pub async fn serve(config: Config, roles: Roles) -> anyhow::Result<ExitCode> {
    let lifecycle = Lifecycle::start()?;
    open(config, &roles, &lifecycle).await?;
    Ok(lifecycle.run().await)
}

/// Brings the database to this version.
pub async fn migrate(config: &Config) -> anyhow::Result<ExitCode> {
    let store = Store::open(config.database.url.reveal()).await?;
    store.migrate().await?;
    tracing::info!("the ledger is at this version");
    Ok(ExitCode::SUCCESS)
}

/// Builds the office and starts its workers on `lifecycle`.
pub async fn open(config: Config, roles: &Roles, lifecycle: &Lifecycle) -> anyhow::Result<()> {
    // The port first: a second office on the same address must not touch the ledger.
    let listener = if roles.has(Role::Web) { Some(listen(&config).await?) } else { None };
    let office = Foundation::lay(&config, roles).await?;
    for (name, broker) in &config.brokers {
        let doors = doors(roles, &office.policies);
        if !doors.is_empty() {
            let intake = Intake {
                broker: name.clone(),
                config: broker.clone(),
                doors,
                batching: config.intake.clone(),
                bodies: config.easynetq.inner_bodies(),
                store: Arc::clone(&office.store),
                board: office.board.clone(),
                clock: office.clock.clone(),
                metrics: office.metrics.clone(),
                news: office.news.clone(),
                bell: office.bell.clone(),
            };
            lifecycle.spawn("intake", intake.run(lifecycle.stopping()));
        }
        if roles.has(Role::Retry) {
            let scheduler = Scheduler {
                broker: name.clone(),
                config: broker.clone(),
                store: Arc::clone(&office.store),
                policies: office.policies.clone(),
                bodies: config.easynetq.inner_bodies(),
                board: office.board.clone(),
                clock: office.clock.clone(),
                metrics: office.metrics.clone(),
                news: office.news.clone(),
                bell: office.bell.clone(),
            };
            let delay_queues = DelayQueues {
                broker: name.clone(),
                config: broker.clone(),
                store: Arc::clone(&office.store),
                clock: office.clock.clone(),
            };
            lifecycle.spawn("delay queues", delay_queues.run(lifecycle.stopping()));
            lifecycle.spawn("scheduler", scheduler.run(lifecycle.stopping()));
        }
    }
    lifecycle.spawn("policies", office.policies.clone().watch(lifecycle.stopping()));
    lifecycle.spawn("rules", office.rules.clone().watch(lifecycle.stopping()));
    lifecycle.spawn("schemas", office.schemas.clone().watch(lifecycle.stopping()));
    if roles.has(Role::Web) && !config.schemas.folder.is_empty() {
        let folder = Folder::new(config.schemas.folder.clone().into(), office.schemas.clone());
        lifecycle.spawn("schemas' folder", folder.run(lifecycle.stopping()));
    }
    if roles.has(Role::Intake) {
        let sorting = Sorting {
            store: Arc::clone(&office.store),
            reader: office.reader.clone(),
            schemas: office.schemas.clone(),
            rules: office.rules.clone(),
            clock: office.clock.clone(),
            metrics: office.metrics.clone(),
            news: office.news.clone(),
        };
        lifecycle.spawn("sorting", sorting.run(lifecycle.stopping()));
    }
    if roles.has(Role::Retry) {
        let retention = Retention {
            store: Arc::clone(&office.store),
            clock: office.clock.clone(),
            keep: config.retention,
            groups: config.groups.keep,
        };
        lifecycle.spawn("retention", retention.run(lifecycle.stopping()));
    }
    if roles.has(Role::Notify) {
        notify(&config, &office, lifecycle)?;
    }
    if let Some(listener) = listener {
        let watch = watch_ledger(Arc::clone(&office.store), office.news.clone(), lifecycle.stopping());
        lifecycle.spawn("news", watch);
        start_web(&config, office, listener, lifecycle)?;
    }
    Ok(())
}

/// Starts what tells people.
fn notify(config: &Config, office: &Foundation, lifecycle: &Lifecycle) -> anyhow::Result<()> {
    let channels = Arc::new(Channels::new(&config.notify)?);
    let sender = Sender::new(office.clock.clone())?;
    let settings = incidents::Settings::new(&config.notify.page, config.web.public_url.clone());
    let incidents = Incidents::new(
        Arc::clone(&office.store),
        Arc::clone(&channels),
        office.clock.clone(),
        office.news.clone(),
        office.outbox.clone(),
        settings.map_err(anyhow::Error::msg)?,
    );
    let deliveries = Deliveries {
        store: Arc::clone(&office.store),
        channels: Arc::clone(&channels),
        sender: sender.clone(),
        clock: office.clock.clone(),
        metrics: office.metrics.clone(),
        outbox: office.outbox.clone(),
    };
    let heartbeat = Heartbeat { store: Arc::clone(&office.store), channels, sender, clock: office.clock.clone() };
    lifecycle.spawn("incidents", incidents.run(lifecycle.stopping()));
    lifecycle.spawn("digests", office.digests.clone().run(lifecycle.stopping()));
    lifecycle.spawn("deliveries", deliveries.run(lifecycle.stopping()));
    lifecycle.spawn("heartbeat", heartbeat.run(lifecycle.stopping()));
    Ok(())
}

/// What all workers share.
struct Foundation {
    store: Arc<Store>,
    policies: Policies,
    rules: Rules,
    schemas: Schemas,
    reader: Reader,
    board: BrokerBoard,
    clock: Clock,
    metrics: Metrics,
    news: News,
    bell: Bell,
    digests: Digests,
    /// Rung when there is something to tell people.
    outbox: Bell,
}

impl Foundation {
    async fn lay(config: &Config, roles: &Roles) -> anyhow::Result<Self> {
        let store = Store::open(config.database.url.reveal()).await?;
        if config.database.auto_migrate {
            store.migrate().await?;
        }
        store.check_version().await?;
        if roles.has(Role::Retry) {
            store.release_abandoned_claims().await?;
        }
        if roles.has(Role::Intake) || roles.has(Role::Web) {
            store.release_abandoned_jobs().await?;
        }
        if roles.has(Role::Notify) {
            store.release_abandoned_notifications().await?;
        }
        let (store, clock) = (Arc::new(store), Clock::system());
        let configured = config.retry.policies().map_err(anyhow::Error::msg)?;
        let policies = Policies::new(configured, Arc::clone(&store), clock.clone());
        policies.reload().await?;
        let file = Some(&config.rules.file).filter(|file| !file.is_empty()).map(PathBuf::from);
        let rules = Rules::new(file, Arc::clone(&store), clock.clone());
        rules.reload().await?;
        if let Some(problem) = rules.problem() {
            anyhow::bail!("rules.file: {problem}");
        }
        let schemas = Schemas::new(Arc::clone(&store), clock.clone());
        schemas.reload().await?;
        let outbox = Bell::default();
        let digests = Digests::new(
            &config.notify,
            config.web.public_url.clone(),
            config.groups.healed_after,
            Arc::clone(&store),
            clock.clone(),
            outbox.clone(),
        );
        Ok(Self {
            digests: digests.map_err(anyhow::Error::msg)?,
            store,
            policies,
            rules,
            reader: Reader::new(schemas.clone(), config.decode.clone()),
            schemas,
            board: board(config, roles),
            clock,
            metrics: Metrics::default(),
            news: News::default(),
            bell: Bell::default(),
            outbox,
        })
    }
}

/// The retrier takes dead letters in, the intake obituaries.
fn doors(roles: &Roles, policies: &Policies) -> Vec<Door> {
    let retrier = roles.has(Role::Retry).then(|| Door::DeadLetters(policies.clone()));
    let intake = roles.has(Role::Intake).then_some(Door::Obituaries);
    intake.into_iter().chain(retrier).collect()
}

fn board(config: &Config, roles: &Roles) -> BrokerBoard {
    let board = BrokerBoard::new(config.brokers.iter().map(|(name, broker)| (name.clone(), broker.address())));
    for name in config.brokers.keys() {
        if !roles.has(Role::Intake) && !roles.has(Role::Retry) {
            board.set_consuming(name, ConnectionState::Elsewhere);
        }
        if !roles.has(Role::Retry) {
            board.set_publishing(name, ConnectionState::Elsewhere);
        }
    }
    board
}

async fn listen(config: &Config) -> anyhow::Result<TcpListener> {
    let address = config.web.listen;
    TcpListener::bind(address).await.with_context(|| format!("web.listen: cannot listen on {address}"))
}

fn start_web(
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
