//! What was reported of brokers that are not in the configuration any more.

use std::{sync::Arc, time::Duration};

use tokio_util::sync::CancellationToken;

use crate::{
    clock::Clock,
    domain::incident::IncidentKind,
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
    pub async fn tidy(&self) -> Result<(), StoreError> {
        let abandoned = self.store.forget_watches(self.clock.now().minus(ABANDONED)).await?;
        if abandoned.is_empty() {
            return Ok(());
        }
        for record in self.store.open_incidents().await? {
            if record.incident.kind == IncidentKind::Watch && abandoned.contains(&record.incident.broker) {
                self.incidents.clear(&record.incident.key).await?;
            }
        }
        Ok(())
    }
}
