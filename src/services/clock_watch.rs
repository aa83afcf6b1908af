//! Noticing that the clock was put back: what was scheduled while it was ahead must not wait until it catches up.

use std::{sync::Arc, time::Duration};

use amqp_message::time::Timestamp;
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
    store: Arc<Store>,
    clock: Clock,
    /// Notified when retries are due earlier than they were.
    wakeup: Wakeup,
    has_looked: bool,
}

impl ClockWatch {
    pub const fn new(store: Arc<Store>, clock: Clock, wakeup: Wakeup) -> Self {
        Self { store, clock, wakeup, has_looked: false }
    }

    /// The latest time that this process has gone by, or one before it: a clock may be ahead for less than a round.
    async fn latest(&mut self) -> Result<Timestamp, StoreError> {
        let latest = self.clock.latest();
        if self.has_looked {
            return Ok(latest);
        }
        let before = self.store.latest_schedule().await?;
        self.has_looked = true;
        Ok(latest.max(before.unwrap_or_default()))
    }
}

impl Worker for ClockWatch {
    const NAME: &'static str = "clock";
    type Error = StoreError;

    fn every(&self) -> Duration {
        EVERY
    }

    async fn round(&mut self, _stop: &CancellationToken) -> Result<Next, StoreError> {
        let (latest, now) = (self.latest().await?, self.clock.now());
        if latest > now {
            self.store.observe_clock(latest, LEASE).await?;
        }
        if let Some(set_back) = self.store.observe_clock(now, LEASE).await? {
            self.clock.forget_latest();
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
