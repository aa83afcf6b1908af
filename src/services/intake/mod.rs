//! Taking dead letters in: consume, store, and only then acknowledge.
//!
//! While the database cannot be written, deliveries are held unacknowledged on the open channel. They are never sent
//! back: RabbitMQ 4 counts each return and drops a message from a quorum queue after twenty. For the same reason
//! nothing is consumed before the database is known to take a write.
//!
//! What waits in RabbitMQ instead of the database is sent there ([`forward`]) and, when it is due, sent on ([`due`]).

mod arrival;
mod batch_acks;
mod briefly;
mod drain;
mod due;
mod forward;
mod gather;
mod known;
mod outlook;
mod own_retries;
mod parcel;
mod paused;
mod publisher;
mod recognition;
mod sessions;
pub mod source;
pub mod unacknowledged;

use std::{pin::pin, sync::Arc, time::Duration};

use tokio_util::sync::CancellationToken;

use super::{change_feed::ChangeFeed, wakeup::Wakeup};
use crate::{
    clock::Clock,
    config::{BrokerConfig, IntakeConfig},
    crash_point,
    domain::{broker::Holding, health::DatabaseTrouble, retry_limits::RetryLimits},
    metrics::Metrics,
    rabbitmq::{health::BrokerBoard, reconnect::Backoff},
    store::{Store, StoreError},
};

use sessions::Sessions;

pub use source::IntakeSource;

/// A database that has not answered for this long is in trouble, though it may not say so: somebody holds a lock, or the
/// network swallows all.
const LONG: Duration = Duration::from_secs(5);

/// What the intake of one broker works with.
#[derive(Clone)]
pub struct Intake {
    pub broker: String,
    pub config: BrokerConfig,
    /// What it consumes.
    pub sources: Vec<IntakeSource>,
    pub batching: IntakeConfig,
    pub limits: RetryLimits,
    pub store: Arc<Store>,
    pub board: BrokerBoard,
    pub clock: Clock,
    pub metrics: Metrics,
    pub feed: ChangeFeed,
    pub wakeup: Wakeup,
}

impl Intake {
    /// Works until it is told to stop; what has been delivered by then is stored and acknowledged.
    pub async fn run(self, stop: CancellationToken) {
        Sessions::of(&self).run(&stop).await;
    }

    /// Returns once the database takes a write, for whoever is about to consume a queue.
    async fn wait_for_database(&self, queue: &str) {
        let mut backoff = Backoff::default();
        while let Err(error) = self.patiently(queue, self.store.check_writable()).await {
            self.hold(queue, &error);
            tokio::time::sleep(backoff.next_delay()).await;
        }
        self.hold_no_longer(queue);
    }

    /// Waits for the database's answer however long it takes, and says so when it takes long.
    async fn patiently<T>(&self, queue: &str, answer: impl Future<Output = T>) -> T {
        let mut answer = pin!(answer);
        if let Ok(answer) = tokio::time::timeout(LONG, &mut answer).await {
            return answer;
        }
        self.hold(queue, &StoreError::NoAnswer(LONG));
        answer.await
    }

    fn hold(&self, queue: &str, error: &StoreError) {
        crash_point::point("held");
        let (since, why) = (self.clock.now(), error.to_string());
        tracing::error!(
            broker.name = self.broker,
            queue.name = queue,
            error = why,
            "the database cannot be written; deliveries are held"
        );
        self.board.hold(&self.broker, queue, Holding { since, why, is_full: error.trouble() == DatabaseTrouble::Full });
    }

    fn hold_no_longer(&self, queue: &str) {
        if self.board.release(&self.broker, queue) {
            tracing::info!(broker.name = self.broker, "the database can be written again");
        }
    }
}
