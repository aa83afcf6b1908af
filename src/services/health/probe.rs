//! Asking the database how it is.

use std::{pin::pin, sync::Arc, time::Duration};

use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;

use super::{Health, SLOW};
use crate::{
    domain::health::{DatabaseTrouble, Figures},
    services::worker::{Next, Worker},
    store::{Store, StoreError},
};

/// How often the database is asked.
const EVERY: Duration = Duration::from_secs(2);
/// How often it is written to see whether it can be; each time costs a commit. While something is wrong, each time it is
/// asked.
const WRITE_EVERY: Duration = Duration::from_secs(10);
/// A question that is not answered by then is given up, and asked again on another connection.
const GIVEN_UP: Duration = Duration::from_secs(15);

/// Asks the database every so often for what [`Health`] has to know.
pub struct Probe {
    store: Arc<Store>,
    health: Health,
    brokers: Vec<String>,
    /// When it last could be written.
    written: Option<Instant>,
}

impl Probe {
    /// `brokers` are those of which this server knows.
    pub fn new(store: Arc<Store>, health: Health, brokers: Vec<String>) -> Self {
        Self { store, health, brokers, written: None }
    }

    /// Asks once.
    pub async fn ask(&mut self) {
        let begun = Instant::now();
        self.health.asks();
        match self.in_time().await {
            Ok(figures) => self.health.answered(figures, begun.elapsed()),
            Err(error) => return self.health.failed(&error),
        }
        if self.health.has_trouble().is_none() && self.written.is_some_and(|at| at.elapsed() < WRITE_EVERY) {
            return;
        }
        self.health.asks();
        match given_up(self.store.check_writable()).await {
            Ok(()) => {
                self.written = Some(Instant::now());
                self.health.is_well();
            }
            Err(error) => {
                if error.trouble() == DatabaseTrouble::ReadOnly {
                    self.store.renew_connections();
                }
                self.health.failed(&error);
            }
        }
    }

    /// What takes long may never come: where there is no database, that is said before the question is given up.
    async fn in_time(&self) -> Result<Figures, StoreError> {
        let mut answer = pin!(given_up(self.figures()));
        if let Ok(answer) = timeout(SLOW, &mut answer).await {
            return answer;
        }
        if !self.store.is_there().await {
            self.health.finds_no_database();
        }
        answer.await
    }

    async fn figures(&self) -> Result<Figures, StoreError> {
        let mut first_due = Vec::new();
        for broker in &self.brokers {
            first_due.extend(self.store.next_retry_due(broker).await?.map(|due| (broker.clone(), due)));
        }
        Ok(Figures {
            not_enriched: self.store.not_enriched_backlog().await?,
            not_indexed: self.store.search_backlog().await?,
            first_due,
            notification_due: self.store.first_notification_due().await?,
        })
    }
}

async fn given_up<T>(answer: impl Future<Output = Result<T, StoreError>>) -> Result<T, StoreError> {
    timeout(GIVEN_UP, answer).await.unwrap_or(Err(StoreError::NoAnswer(GIVEN_UP)))
}

impl Worker for Probe {
    const NAME: &'static str = "asking the database how it is";
    type Error = StoreError;

    fn every(&self) -> Duration {
        EVERY
    }

    async fn round(&mut self, stop: &CancellationToken) -> Result<Next, StoreError> {
        // What goes wrong is reported as what it is, and not as a failure of this worker.
        stop.run_until_cancelled(self.ask()).await;
        Ok(Next::Later)
    }
}
