//! Taking dead letters in: consume, store, and only then acknowledge.
//!
//! While the database cannot be written, deliveries are held unacknowledged on the open channel. They are never sent
//! back: RabbitMQ 4 counts each return and drops a message from a quorum queue after twenty. For the same reason
//! nothing is consumed before the database is known to take a write.
//!
//! What waits in RabbitMQ instead of the database is sent there ([`forward`]) and, when it is due, sent on ([`due`]).

mod arrival;
mod drain;
mod due;
mod forward;
mod gather;
mod publisher;
pub mod source;
pub mod unacknowledged;

use std::{fmt::Display, pin::pin, sync::Arc, time::Duration};

use failure_conventions::inner_body::InnerBodies;
use futures_util::{
    FutureExt,
    future::{BoxFuture, try_join_all},
};
use tokio_util::sync::CancellationToken;

use super::{change_feed::ChangeFeed, wakeup::Wakeup};
use crate::{
    clock::Clock,
    config::{BrokerConfig, IntakeConfig},
    domain::broker::{ConnectionState, Holding},
    metrics::Metrics,
    rabbitmq::{ConsumingSession, SessionError, health::BrokerBoard, reconnect::Backoff},
    store::{Store, StoreError},
};

pub use source::IntakeSource;

/// What a process that died left unacknowledged is remembered this long; by then the broker has long delivered it again.
const UNACKNOWLEDGED_FOR: Duration = Duration::from_secs(24 * 60 * 60);
/// A database that has not answered for this long is in trouble, though it may not say so: somebody holds a lock, or the
/// network swallows all.
const LONG: Duration = Duration::from_secs(5);

/// Stands for every queue, where none is consumed yet.
const ALL: &str = "";

/// What the intake of one broker works with.
#[derive(Clone)]
pub struct Intake {
    pub broker: String,
    pub config: BrokerConfig,
    /// What it consumes.
    pub sources: Vec<IntakeSource>,
    pub batching: IntakeConfig,
    pub bodies: InnerBodies,
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
        let mut backoff = Backoff::default();
        let mut since = self.clock.now();
        while !stop.is_cancelled() {
            let why = match self.session(&mut backoff, &stop).await {
                Ok(()) => break,
                Err(error) => error.to_string(),
            };
            if backoff.is_fresh() {
                since = self.clock.now();
            }
            tracing::warn!(broker.name = self.broker, error = why, "not consuming");
            self.board.set_consuming(&self.broker, ConnectionState::Lost { since, why });
            if !backoff.wait(&stop).await {
                break;
            }
        }
    }

    /// One connection's life; `Ok` when dlo closes and all is stored.
    async fn session(&self, backoff: &mut Backoff, stop: &CancellationToken) -> Result<(), SessionError> {
        let Some(()) = stop.run_until_cancelled(self.wait_for_database()).await else { return Ok(()) };
        let opened = stop.run_until_cancelled(ConsumingSession::open(&self.broker, &self.config)).await;
        let Some(opened) = opened else { return Ok(()) };
        let session = opened?;
        let waiting = Wakeup::default();
        let mut drains: Vec<BoxFuture<Result<(), SessionError>>> = Vec::with_capacity(self.sources.len());
        for source in &self.sources {
            drains.push(match source.queue(&self.config) {
                Some(queue) => {
                    let consumer = session.consume(queue).await?;
                    drain::drain(self, source, consumer, &waiting, stop).boxed()
                }
                None => due::send_back(self, &session, &waiting, stop).boxed(),
            });
        }
        backoff.connected();
        let since = self.clock.now();
        self.board.set_consuming(&self.broker, ConnectionState::Connected { since });
        tracing::info!(broker.name = self.broker, address = self.config.address(), "consuming dead letters");
        try_join_all(drains).await?;
        session.close().await;
        Ok(())
    }

    /// Returns once the database takes a write.
    async fn wait_for_database(&self) {
        let mut backoff = Backoff::default();
        while let Err(error) = self.patiently(ALL, self.prepare_database()).await {
            self.hold(ALL, &error);
            tokio::time::sleep(backoff.next_delay()).await;
        }
        self.hold_no_longer(None);
    }

    async fn prepare_database(&self) -> Result<(), StoreError> {
        self.store.check_writable().await?;
        self.store.forget_pending_acks_before(self.clock.now().minus(UNACKNOWLEDGED_FOR)).await
    }

    /// Waits for the database's answer however long it takes, and says so when it takes long.
    async fn patiently<T>(&self, queue: &str, answer: impl Future<Output = T>) -> T {
        let mut answer = pin!(answer);
        if let Ok(answer) = tokio::time::timeout(LONG, &mut answer).await {
            return answer;
        }
        self.hold(queue, &format_args!("it has not answered for {} s", LONG.as_secs()));
        answer.await
    }

    fn hold(&self, queue: &str, why: &dyn Display) {
        let (since, why) = (self.clock.now(), why.to_string());
        tracing::error!(
            broker.name = self.broker,
            queue.name = queue,
            error = why,
            "the database cannot be written; deliveries are held"
        );
        self.board.hold(&self.broker, queue, Holding { since, why });
    }

    /// `None`: of no queue.
    fn hold_no_longer(&self, queue: Option<&str>) {
        if self.board.release(&self.broker, queue) {
            tracing::info!(broker.name = self.broker, "the database can be written again");
        }
    }
}
