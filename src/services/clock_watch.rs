//! Noticing that the clock was put back: what was scheduled while it was ahead must not wait until it catches up.

use std::{sync::Arc, time::Duration};

use tokio_util::sync::CancellationToken;

use super::{scheduler::LEASE, wakeup::Wakeup};
use crate::{
    clock::Clock,
    domain::number::span,
    services::worker::{Next, Worker},
    store::{Store, StoreError},
};

const EVERY: Duration = Duration::from_secs(10);

pub struct ClockWatch {
    pub store: Arc<Store>,
    pub clock: Clock,
    /// Notified when retries are due earlier than they were.
    pub wakeup: Wakeup,
}

impl Worker for ClockWatch {
    const NAME: &'static str = "clock";
    type Error = StoreError;

    fn every(&self) -> Duration {
        EVERY
    }

    async fn round(&mut self, _stop: &CancellationToken) -> Result<Next, StoreError> {
        if let Some(set_back) = self.store.observe_clock(self.clock.now(), LEASE).await? {
            let (by, retries) = (span(set_back.by), set_back.retries);
            tracing::warn!(
                by,
                retries,
                "the clock was ahead; retries scheduled then are due after their delay from now"
            );
            self.wakeup.notify();
        }
        Ok(Next::Later)
    }
}
