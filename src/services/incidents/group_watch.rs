//! When groups are looked at.

use std::time::Duration;

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::Incidents;
use crate::{
    services::{
        change_feed::Changes,
        worker::{Next, Worker},
    },
    store::StoreError,
};

/// How often groups are looked at without being told that something has changed.
const POLL: Duration = Duration::from_secs(1);
/// Not more often than this, however much is going on.
const REST: Duration = Duration::from_millis(200);

/// Looks at the groups whenever letters have changed.
pub struct GroupWatch {
    incidents: Incidents,
    changes: watch::Receiver<Changes>,
}

impl GroupWatch {
    pub fn new(incidents: Incidents) -> Self {
        Self { changes: incidents.feed.subscribe(), incidents }
    }
}

impl Worker for GroupWatch {
    const NAME: &'static str = "incidents";
    type Error = StoreError;

    fn every(&self) -> Duration {
        POLL
    }

    async fn round(&mut self, _stop: &CancellationToken) -> Result<Next, StoreError> {
        self.changes.mark_unchanged();
        self.incidents.look().await?;
        Ok(Next::Later)
    }

    async fn called(&mut self) {
        tokio::time::sleep(REST).await;
        if self.changes.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}
