//! From a configuration to a running server.

mod backup;
mod check;
mod database;
mod dump;
mod health;
mod lifecycle;
pub mod logging;
mod notify;
mod people;
mod reload;
mod roles;
mod runtimes;
mod services;
mod unconfigured;
mod watch;
mod web;

use std::{
    fmt,
    io::{self, Write},
    process::ExitCode,
    sync::Arc,
};

use reload::{Reload, Replaceable};
use services::Services;
use tokio::runtime::Handle;
use web::Listeners;

use crate::{
    config::Config,
    domain::delay_queue::EmptyQueues,
    services::{
        change_feed::DatabaseWatch,
        clock_watch::ClockWatch,
        enrichment::{Enrichment, SoFar},
        group_moves::GroupMoves,
        grouping_rules::Regrouping,
        health::{HealthWatch, Probe},
        intake::{Intake, IntakeSource},
        policies::Policies,
        processes,
        retention::{Retention, delay_queues::DelayQueues},
        scheduler::Scheduler,
        schemas::Folder,
        search::{self, Indexing},
        settings::Settings,
        snoozes::Snoozes,
    },
};

pub use backup::backup;
pub use check::check;
pub use dump::{export, import};
pub use health::health;
pub use lifecycle::Lifecycle;
pub use notify::check_channels;
pub use people::People;
pub use reload::ReadAgain;
pub use roles::{Role, Roles};
pub use runtimes::Runtimes;
use unconfigured::unconfigured;

/// Runs the server until it is told to stop. On SIGHUP it reads its configuration again.
pub async fn serve(config: Config, roles: Roles, again: ReadAgain, pages: Handle) -> anyhow::Result<ExitCode> {
    let lifecycle = Lifecycle::start(pages)?;
    let reload = Reload::listen(again)?;
    let replaceable = open(config, &roles, &lifecycle).await?;
    lifecycle.spawn("reading the configuration again", reload.run(replaceable, lifecycle.stopping()));
    Ok(lifecycle.run().await)
}

/// Brings the database to this version.
pub async fn migrate(config: &Config) -> anyhow::Result<ExitCode> {
    database::open(config).await?.migrate().await?;
    tracing::info!("the database is at this version");
    Ok(ExitCode::SUCCESS)
}

/// Builds dlo and starts its workers on `lifecycle`. The answer is what a configuration that is read again replaces.
pub async fn open(mut config: Config, roles: &Roles, lifecycle: &Lifecycle) -> anyhow::Result<Replaceable> {
    // The port first: a second server on the same address must not touch the database.
    let limits = config.retry_limits();
    let listeners = if roles.has(Role::Web) { Some(Listeners::open(&config).await?) } else { None };
    if let Some(listeners) = &listeners {
        config.web.name_port(listeners.port()?);
    }
    let services = Services::build(&config, roles, lifecycle).await?;
    // That the database does not answer is told elsewhere.
    for broker in unconfigured(&services.store, &config).await.unwrap_or_default() {
        tracing::warn!("{broker}");
    }
    let replaceable = Replaceable::of(&services, &config);
    let brokers = config.brokers.keys().cloned().collect();
    lifecycle.start_worker(Probe::new(Arc::clone(&services.store), services.health.clone(), brokers));
    lifecycle.start_worker(HealthWatch::new(services.health.clone()));
    for (name, broker) in &config.brokers {
        let sources = sources(roles, &services.policies);
        if !sources.is_empty() {
            let intake = Intake {
                broker: name.clone(),
                config: broker.clone(),
                sources,
                batching: config.intake.clone(),
                limits: limits.clone(),
                store: Arc::clone(&services.store),
                board: services.board.clone(),
                clock: services.clock.clone(),
                metrics: services.metrics.clone(),
                feed: services.feed.clone(),
                wakeup: services.wakeup.clone(),
            };
            lifecycle.spawn("intake", intake.run(lifecycle.stopping()));
        }
        if roles.has(Role::Retry) {
            let scheduler = Scheduler {
                broker: name.clone(),
                config: broker.clone(),
                store: Arc::clone(&services.store),
                policies: services.policies.clone(),
                limits: limits.clone(),
                board: services.board.clone(),
                clock: services.clock.clone(),
                metrics: services.metrics.clone(),
                feed: services.feed.clone(),
                wakeup: services.wakeup.clone(),
                workers: services.workers.clone(),
            };
            let delay_queues = DelayQueues {
                broker: name.clone(),
                config: broker.clone(),
                store: Arc::clone(&services.store),
                clock: services.clock.clone(),
                empty: EmptyQueues::default(),
            };
            lifecycle.start_worker(delay_queues);
            lifecycle.spawn("scheduler", scheduler.run(lifecycle.stopping()));
        }
    }
    let Services { policies, rules, grouping_rules, group_splits, schemas, feed, .. } = &services;
    let settings = Settings {
        policies: policies.clone(),
        rules: rules.clone(),
        grouping_rules: grouping_rules.clone(),
        group_splits: group_splits.clone(),
        schemas: schemas.clone(),
        changes: feed.subscribe(),
    };
    lifecycle.start_worker(settings);
    let wakeups = vec![services.wakeup.clone(), services.outbox.clone()];
    if let Some((announcer, listener)) = processes::between(&services.store, feed, wakeups) {
        lifecycle.start_worker(announcer);
        lifecycle.start_worker(listener);
    }
    if roles.has(Role::Web) && !config.schemas.folder.is_empty() {
        lifecycle.start_worker(Folder::new(config.schemas.folder.clone().into(), services.schemas.clone()));
    }
    if roles.has(Role::Intake) {
        let enrichment = Enrichment {
            store: Arc::clone(&services.store),
            reader: services.reader.clone(),
            schemas: services.schemas.clone(),
            rules: services.rules.clone(),
            grouping_rules: services.grouping_rules.clone(),
            group_splits: services.group_splits.clone(),
            clock: services.clock.clone(),
            metrics: services.metrics.clone(),
            feed: services.feed.clone(),
            so_far: SoFar::default(),
        };
        lifecycle.start_worker(enrichment);
        let (store, clock) = (Arc::clone(&services.store), services.clock.clone());
        lifecycle.start_worker(Snoozes::new(store, clock, services.feed.clone()));
        lifecycle.start_worker(Regrouping(services.grouping_rules.clone()));
        lifecycle.start_worker(GroupMoves { store: Arc::clone(&services.store), feed: services.feed.clone() });
        services.store.prepare_search(search::settings(&config.search, &config.decode)).await?;
        let (store, reader) = (Arc::clone(&services.store), services.reader.clone());
        let (clock, feed) = (services.clock.clone(), services.feed.clone());
        lifecycle.start_worker(Indexing { store, reader, config: config.search, clock, feed, unsorted: None });
    }
    if roles.has(Role::Retry) {
        let retention = Retention {
            policies: services.policies.clone(),
            store: Arc::clone(&services.store),
            clock: services.clock.clone(),
            keep: config.retention,
            groups: config.groups,
            sessions: services.sign_in.limits(),
            tidied_at: None,
        };
        lifecycle.start_worker(retention);
        let (store, clock, wakeup) = (Arc::clone(&services.store), services.clock.clone(), services.wakeup.clone());
        lifecycle.start_worker(ClockWatch::new(store, clock, wakeup));
    }
    if roles.has(Role::Notify) {
        notify::start(&config, &services, lifecycle)?;
    }
    if let Some(listeners) = listeners {
        lifecycle.start_worker(DatabaseWatch::new(Arc::clone(&services.store), services.feed.clone()));
        web::say_how_to_begin(&config, &services.sign_in).await?;
        web::start(&config, services, listeners, lifecycle)?;
    }
    Ok(replaceable)
}

/// The retrier takes dead letters in, the intake obituaries.
fn sources(roles: &Roles, policies: &Policies) -> Vec<IntakeSource> {
    let retrier = roles.has(Role::Retry).then(|| [IntakeSource::DeadLetters(policies.clone()), IntakeSource::Due]);
    let intake = roles.has(Role::Intake).then_some(IntakeSource::Obituaries);
    intake.into_iter().chain(retrier.into_iter().flatten()).collect()
}

/// Prints a line of what a command answers. A reader that goes away early, as `head` does, is no failure.
fn answer(line: fmt::Arguments<'_>) {
    _ = writeln!(io::stdout(), "{line}");
}
