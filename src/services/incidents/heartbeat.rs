//! Repeating to Alertmanager what goes on: it forgets it when it is restarted, and expects to be sent it again
//! (<https://prometheus.io/docs/alerting/latest/clients/>).

use std::{sync::Arc, time::Duration};

use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::{
    clock::Clock,
    domain::{incident::Incident, notification::Channel as ChannelKind},
    notify::{Channel, Delivery, Outcome, Sender, alertmanager},
    services::{
        live::Live,
        notifications::channels::Channels,
        worker::{Next, Worker},
    },
    store::{IncidentRecord, Store, StoreError},
};

/// How often it is repeated.
const EVERY: Duration = Duration::from_secs(60);
/// How long Alertmanager believes it. Letters stay open also while dlo is closed; and what is reported only after
/// many tries has to be believed still.
pub const LEASE: Duration = Duration::from_secs(48 * 60 * 60);

pub struct Heartbeat {
    pub store: Arc<Store>,
    pub channels: Live<Channels>,
    pub sender: Sender,
    pub clock: Clock,
}

impl Worker for Heartbeat {
    const NAME: &'static str = "repeating incidents to Alertmanager";
    const BEGINS_LATE: bool = true;
    type Error = StoreError;

    fn every(&self) -> Duration {
        EVERY
    }

    async fn round(&mut self, _stop: &CancellationToken) -> Result<Next, StoreError> {
        self.beat().await?;
        Ok(Next::Later)
    }
}

impl Heartbeat {
    /// Repeats all that is open and was reported, as important as it was reported there; nothing where there is no Alertmanager.
    pub async fn beat(&self) -> Result<(), StoreError> {
        let channels = self.channels.now();
        let Some(channel) = channels.get(ChannelKind::Alertmanager) else { return Ok(()) };
        let open = self.reported(&channels).await?;
        self.repeat(channel, &open).await;
        // What was resolved there before it was repeated would fire again, until its lease is over.
        let goes_on = self.reported(&channels).await?;
        let now = self.clock.now();
        let is_over = |was: &Incident| goes_on.iter().all(|incident| incident.identity() != was.identity());
        let over = open.into_iter().filter(is_over).map(|was| Incident { resolved_at: Some(now), ..was });
        self.repeat(channel, &over.collect::<Vec<_>>()).await;
        Ok(())
    }

    /// What is open, as Alertmanager knows it.
    async fn reported(&self, channels: &Channels) -> Result<Vec<Incident>, StoreError> {
        let page = channels.pages().iter().find(|page| page.kind == ChannelKind::Alertmanager);
        let known = |record: IncidentRecord| {
            let importance = page?.knows_as(&record)?;
            Some(Incident { importance, ..record.incident })
        };
        let told = self.store.open_incidents().await?.into_iter().filter(|record| record.told_at.is_some());
        Ok(told.filter_map(known).collect())
    }

    async fn repeat(&self, channel: &Channel, incidents: &[Incident]) {
        if incidents.is_empty() {
            return;
        }
        let alerts = alertmanager::alerts(incidents, self.clock.now(), LEASE);
        let Ok(delivery) = Delivery::new(Uuid::nil(), &alerts) else { return };
        match self.sender.send(channel, &delivery).await {
            Outcome::Delivered { .. } => tracing::debug!(incidents = incidents.len(), "repeated to Alertmanager"),
            Outcome::TryAgain { why, .. } | Outcome::Refused { why } => {
                tracing::warn!(why, "Alertmanager did not take what was repeated");
            }
        }
    }
}
