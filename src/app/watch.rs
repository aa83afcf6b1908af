//! From a configuration to the watch over its brokers.

use std::{collections::BTreeMap, sync::Arc};

use amqp_message::glob::Globs;
use anyhow::Context;

use super::{Lifecycle, Services};
use crate::{
    config::{BrokerConfig, Config},
    domain::watch::Settings,
    notify::{self, Patience, SetupError},
    rabbitmq::{
        management::{Management, ManagementError},
        topology,
    },
    services::{
        getting_started::Source,
        incidents::Incidents,
        watch::{Tidying, Watch},
    },
};

/// Starts what watches the queues of brokers.
pub(super) fn start(
    config: &Config,
    services: &Services,
    incidents: &Incidents,
    lifecycle: &Lifecycle,
) -> anyhow::Result<()> {
    for (name, broker) in &config.brokers {
        let Some(management) = management(broker)? else { continue };
        let management = management.with_context(|| format!("brokers.{name}.management_url"))?;
        let watch = Watch {
            broker: name.clone(),
            management,
            settings: settings(config, broker),
            importance: config.watch.importance,
            public_url: config.web.public_url.clone(),
            store: Arc::clone(&services.store),
            board: services.board.clone(),
            clock: services.clock.clone(),
            incidents: incidents.clone(),
        };
        lifecycle.start_worker(watch.begin());
    }
    let (store, clock, incidents) = (Arc::clone(&services.store), services.clock.clone(), incidents.clone());
    lifecycle.start_worker(Tidying { store, clock, incidents });
    Ok(())
}

/// How each of the brokers is watched that are.
pub(super) fn all_settings(config: &Config) -> BTreeMap<String, Settings> {
    let watched = config.brokers.iter().filter(|(_, broker)| !broker.management_url.is_empty());
    watched.map(|(name, broker)| (name.clone(), settings(config, broker))).collect()
}

/// How each broker is looked at when somebody sets it up.
pub(super) fn sources(config: &Config) -> anyhow::Result<BTreeMap<String, Source>> {
    let source = |(name, broker): (&String, &BrokerConfig)| {
        let (management, settings) = (management(broker)?, settings(config, broker));
        Ok((name.clone(), Source { config: broker.clone(), management, settings }))
    };
    config.brokers.iter().map(source).collect()
}

pub(super) fn settings(config: &Config, broker: &BrokerConfig) -> Settings {
    Settings {
        interval: config.watch.every,
        no_consumers_for: config.watch.no_consumers_for,
        growing_for: config.watch.growing_for,
        lags_for: config.watch.lags_for,
        queues: Globs::new(&config.watch.queues),
        vhost: topology::vhost(broker),
        dead_letter_exchange: broker.dead_letter_exchange.clone(),
        dead_letter_queue: broker.dead_letter_queue.clone(),
        obituary_queue: broker.obituary_queue.clone(),
    }
}

/// A client of a broker's management API, if it has one and it can be asked.
pub(super) fn management(broker: &BrokerConfig) -> Result<Option<Result<Management, ManagementError>>, SetupError> {
    if broker.management_url.is_empty() {
        return Ok(None);
    }
    let ca_file = Some(broker.ca_file.as_path()).filter(|path| !path.as_os_str().is_empty());
    Ok(Management::of(broker, notify::client(Patience::default(), ca_file)?))
}
