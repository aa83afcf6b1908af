//! What was reported of brokers that are not in the configuration any more.

use std::{sync::Arc, time::Duration};

use tokio_util::sync::CancellationToken;

use crate::{
    clock::Clock,
    domain::incident::{Incident, IncidentKind},
    services::{
        incidents::Incidents,
        worker::{Next, Worker},
    },
    store::{Store, StoreError},
};

/// A broker that nobody has asked for so long is not in the configuration any more.
const ABANDONED: Duration = Duration::from_secs(24 * 60 * 60);
/// How often it is looked for what nobody watches any more.
const EVERY: Duration = Duration::from_secs(10 * 60);

/// Ends what is reported of brokers that nobody watches any more.
pub struct Tidying {
    pub store: Arc<Store>,
    pub clock: Clock,
    pub incidents: Incidents,
}

impl Worker for Tidying {
    const NAME: &'static str = "tidying of watches";
    /// Those that are watched have to have been asked once.
    const BEGINS_LATE: bool = true;
    type Error = StoreError;

    fn every(&self) -> Duration {
        EVERY
    }

    async fn round(&mut self, _stop: &CancellationToken) -> Result<Next, StoreError> {
        self.tidy().await?;
        Ok(Next::Later)
    }
}

impl Tidying {
    /// Ends what is reported of brokers of which nothing is kept, whoever forgot them: that process may have died before it
    /// did this.
    pub async fn tidy(&self) -> Result<(), StoreError> {
        self.store.forget_watches(self.clock.now().minus(ABANDONED)).await?;
        // In this order: what is reported of a broker was kept before.
        let open = self.store.open_incidents().await?;
        let watched = self.store.watched_brokers().await?;
        let is_watched = |broker: &str| watched.iter().any(|watched| watched.name == broker);
        for Incident { key, kind, broker, .. } in open.into_iter().map(|record| record.incident) {
            if kind == IncidentKind::Watch && !is_watched(&broker) {
                self.incidents.clear(&key).await?;
            }
        }
        Ok(())
    }
}
