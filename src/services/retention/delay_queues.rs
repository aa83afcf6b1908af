//! Deleting delay queues that nobody publishes to any more.

use std::{sync::Arc, time::Duration};

use anyhow::Context;
use tokio_util::sync::CancellationToken;

use crate::{
    clock::Clock,
    config::BrokerConfig,
    domain::delay_queue::EmptyQueues,
    rabbitmq::{DelayQueueState, PublishingSession, SessionError, names},
    services::worker::{Next, Worker},
    store::Store,
};

/// How often it is looked for them; they are out of use after weeks.
const EVERY: Duration = Duration::from_secs(60 * 60);

pub struct DelayQueues {
    pub broker: String,
    pub config: BrokerConfig,
    pub store: Arc<Store>,
    pub clock: Clock,
    /// Begins anew with each process: that only takes longer.
    pub empty: EmptyQueues,
}

impl Worker for DelayQueues {
    const NAME: &'static str = "deleting disused delay queues";
    type Error = anyhow::Error;

    fn every(&self) -> Duration {
        EVERY
    }

    async fn round(&mut self, _stop: &CancellationToken) -> anyhow::Result<Next> {
        self.delete_disused().await.with_context(|| format!("broker {}", self.broker))?;
        Ok(Next::Later)
    }
}

impl DelayQueues {
    async fn delete_disused(&mut self) -> anyhow::Result<()> {
        let now = self.clock.now();
        let mut names = self.store.delay_queues(&self.broker).await?;
        names.retain(|name| names::is_out_of_use(name, now));
        if names.is_empty() {
            return Ok(());
        }
        let session = PublishingSession::open(&self.broker, &self.config).await?;
        let deleted = self.delete(&session, &names).await;
        session.close().await;
        deleted
    }

    async fn delete(&mut self, session: &PublishingSession, names: &[String]) -> anyhow::Result<()> {
        for name in names {
            let now = self.clock.now();
            let mut state = session.delay_queue_state(name, now).await;
            if state == DelayQueueState::Empty && self.empty.found_empty(name, now) {
                state = session.delete_delay_queue(name, now).await;
            }
            if !matches!(state, DelayQueueState::Empty) {
                self.empty.forget(name);
            }
            match state {
                DelayQueueState::Gone => self.store.forget_delay_queue(&self.broker, name).await?,
                DelayQueueState::Empty | DelayQueueState::Needed => {}
                DelayQueueState::CutOff => {
                    self.empty.forget_all();
                    break;
                }
                DelayQueueState::Unknown(why) => return Err(SessionError::Lost(why).into()),
            }
        }
        Ok(())
    }
}
