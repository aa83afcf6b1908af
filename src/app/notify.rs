//! From a configuration to what notifies users.

use std::sync::Arc;

use super::{Lifecycle, Services, watch};
use crate::{
    config::{Config, ConfigError},
    notify::{Reach, Sender},
    services::{
        digests::DueDigests,
        incidents::{GroupWatch, Incidents, heartbeat::Heartbeat},
        notifications::{channels::Channels, deliveries::Deliveries},
    },
};

/// Whether the addresses and secrets of channels are any: only those who send can tell.
///
/// # Errors
/// Names the key, and never its value.
pub fn check_channels(config: &Config) -> Result<(), ConfigError> {
    Channels::new(&config.notify).map(drop).map_err(|why| ConfigError::Value(why.to_string()))
}

/// Starts what notifies users.
pub(super) fn start(config: &Config, services: &Services, lifecycle: &Lifecycle) -> anyhow::Result<()> {
    let sender = Sender::new(services.clock.clone(), &Reach::new(&config.outgoing.private))?;
    let incidents = Incidents::new(
        Arc::clone(&services.store),
        services.channels.clone(),
        services.clock.clone(),
        services.feed.clone(),
        services.outbox.clone(),
        services.paging.clone(),
    );
    let deliveries = Deliveries {
        store: Arc::clone(&services.store),
        channels: services.channels.clone(),
        sender: sender.clone(),
        clock: services.clock.clone(),
        metrics: services.metrics.clone(),
        health: services.health.clone(),
        outbox: services.outbox.clone(),
    };
    let (store, channels) = (Arc::clone(&services.store), services.channels.clone());
    let heartbeat = Heartbeat { store, channels, sender, clock: services.clock.clone() };
    watch::start(config, services, &incidents, lifecycle)?;
    lifecycle.start_worker(GroupWatch::new(incidents));
    lifecycle.start_worker(DueDigests::new(services.digests.clone()));
    deliveries.workers().for_each(|worker| lifecycle.start_worker(worker));
    lifecycle.start_worker(heartbeat);
    Ok(())
}
