//! From a configuration to what tells people.

use std::sync::Arc;

use super::{Lifecycle, Services, watch};
use crate::{
    config::Config,
    notify::Sender,
    services::{
        incidents::{self, Incidents, heartbeat::Heartbeat},
        notifications::{channels::Channels, deliveries::Deliveries},
    },
};

/// Starts what tells people.
pub(super) fn start(config: &Config, office: &Services, lifecycle: &Lifecycle) -> anyhow::Result<()> {
    let channels = Arc::new(Channels::new(&config.notify)?);
    let sender = Sender::new(office.clock.clone())?;
    let settings = incidents::Settings::new(&config.notify.page, config.web.public_url.clone());
    let incidents = Incidents::new(
        Arc::clone(&office.store),
        Arc::clone(&channels),
        office.clock.clone(),
        office.feed.clone(),
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
    watch::start(config, office, &incidents, lifecycle)?;
    lifecycle.spawn("incidents", incidents.run(lifecycle.stopping()));
    lifecycle.spawn("digests", office.digests.clone().run(lifecycle.stopping()));
    lifecycle.spawn("deliveries", deliveries.run(lifecycle.stopping()));
    lifecycle.spawn("heartbeat", heartbeat.run(lifecycle.stopping()));
    Ok(())
}
