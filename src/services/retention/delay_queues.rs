//! Deleting delay queues that nobody publishes to any more.

use std::{sync::Arc, time::Duration};

use anyhow::Context;
use tokio_util::sync::CancellationToken;

use crate::{
    clock::Clock,
    config::BrokerConfig,
    rabbitmq::{Deletion, PublishingSession, SessionError, names},
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
    async fn delete_disused(&self) -> anyhow::Result<()> {
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

    async fn delete(&self, session: &PublishingSession, names: &[String]) -> anyhow::Result<()> {
        for name in names {
            match session.delete_delay_queue(name, self.clock.now()).await {
                Deletion::Gone => self.store.forget_delay_queue(&self.broker, name).await?,
                Deletion::Needed => {}
                Deletion::Failed(why) => return Err(SessionError::Lost(why).into()),
            }
        }
        Ok(())
    }
}
