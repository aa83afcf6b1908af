//! From a configuration to what notifies users.

use std::sync::Arc;

use super::{Lifecycle, Services, watch};
use crate::{
    config::Config,
    notify::Sender,
    services::{
        digests::DueDigests,
        incidents::{self, GroupWatch, Incidents, heartbeat::Heartbeat},
        notifications::{
            channels::Channels,
            deliveries::{self, Deliveries},
        },
    },
};

/// Starts what notifies users.
pub(super) fn start(config: &Config, services: &Services, lifecycle: &Lifecycle) -> anyhow::Result<()> {
    let channels = Arc::new(Channels::new(&config.notify)?);
    let sender = Sender::new(services.clock.clone())?;
    let settings = incidents::Settings::new(&config.notify.page, config.web.public_url.clone());
    let incidents = Incidents::new(
        Arc::clone(&services.store),
        Arc::clone(&channels),
        services.clock.clone(),
        services.feed.clone(),
        services.outbox.clone(),
        settings.map_err(anyhow::Error::msg)?,
    );
    let deliveries = Deliveries {
        store: Arc::clone(&services.store),
        channels: Arc::clone(&channels),
        sender: sender.clone(),
        clock: services.clock.clone(),
        metrics: services.metrics.clone(),
        health: services.health.clone(),
        outbox: services.outbox.clone(),
    };
    let heartbeat = Heartbeat { store: Arc::clone(&services.store), channels, sender, clock: services.clock.clone() };
    watch::start(config, services, &incidents, lifecycle)?;
    lifecycle.start_worker(GroupWatch::new(incidents));
    lifecycle.start_worker(DueDigests::new(services.digests.clone()));
    (0..deliveries::AT_ONCE).for_each(|_| lifecycle.start_worker(deliveries.clone()));
    lifecycle.start_worker(heartbeat);
    Ok(())
}
