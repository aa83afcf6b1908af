//! From a configuration to a running server.

mod check;
mod lifecycle;
pub mod logging;
mod notify;
mod roles;
mod services;
mod watch;
mod web;

use std::{process::ExitCode, sync::Arc};

use services::Services;

use crate::{
    config::Config,
    services::{
        change_feed::watch_database,
        enrichment::Sorting,
        intake::{Intake, IntakeSource},
        policies::Policies,
        retention::{Retention, delay_queues::DelayQueues},
        scheduler::Scheduler,
        schemas::Folder,
    },
    store::Store,
};

pub use check::check;
pub use lifecycle::Lifecycle;
pub use roles::{Role, Roles};

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
    tracing::info!("the database is at this version");
    Ok(ExitCode::SUCCESS)
}

/// Builds dlo and starts its workers on `lifecycle`.
pub async fn open(config: Config, roles: &Roles, lifecycle: &Lifecycle) -> anyhow::Result<()> {
    // The port first: a second server on the same address must not touch the database.
    let listener = if roles.has(Role::Web) { Some(web::listen(&config).await?) } else { None };
    let office = Services::build(&config, roles).await?;
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
                feed: office.feed.clone(),
                wakeup: office.wakeup.clone(),
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
                feed: office.feed.clone(),
                wakeup: office.wakeup.clone(),
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
            feed: office.feed.clone(),
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
        notify::start(&config, &office, lifecycle)?;
    }
    if let Some(listener) = listener {
        let watch = watch_database(Arc::clone(&office.store), office.feed.clone(), lifecycle.stopping());
        lifecycle.spawn("news", watch);
        web::start(&config, office, listener, lifecycle)?;
    }
    Ok(())
}

/// The retrier takes dead letters in, the intake obituaries.
fn doors(roles: &Roles, policies: &Policies) -> Vec<IntakeSource> {
    let retrier = roles.has(Role::Retry).then(|| [IntakeSource::DeadLetters(policies.clone()), IntakeSource::Due]);
    let intake = roles.has(Role::Intake).then_some(IntakeSource::Obituaries);
    intake.into_iter().chain(retrier.into_iter().flatten()).collect()
}
