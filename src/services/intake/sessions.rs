//! What one source brings: a session of its own, built again whenever it is over.

use std::{
    convert::Infallible,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use futures_util::{FutureExt, future::join_all};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::{Intake, IntakeSource, drain, due};
use crate::{
    domain::broker::ConnectionState,
    rabbitmq::{ConsumingSession, SessionError, reconnect::Backoff},
    services::wakeup::Wakeup,
};

/// How often it is looked whether the dead-letter exchange is there, and RabbitMQ knows of the consumers.
const LOOK: Duration = Duration::from_secs(5);

/// The sessions of an intake. What ends one, such as a queue that was deleted, ends no other.
pub(super) struct Sessions<'a> {
    intake: &'a Intake,
    sources: Vec<&'a IntakeSource>,
    states: Mutex<Vec<ConnectionState>>,
    /// One after the other: of a quorum queue that another has only just declared RabbitMQ has no process yet, and ends
    /// the connection of whoever looks at it.
    opening: tokio::sync::Mutex<()>,
    /// Notified when something waits in RabbitMQ, which may be the first to do so.
    waiting: Wakeup,
    /// Changes when the queue of what is due is not there any more.
    deleted: watch::Sender<()>,
}

impl<'a> Sessions<'a> {
    pub fn of(intake: &'a Intake) -> Self {
        let sources: Vec<_> =
            intake.sources.iter().flat_map(|source| std::iter::repeat_n(source, source.sessions())).collect();
        Self {
            intake,
            states: Mutex::new(vec![ConnectionState::Connecting; sources.len()]),
            sources,
            opening: tokio::sync::Mutex::default(),
            waiting: Wakeup::default(),
            deleted: watch::Sender::default(),
        }
    }

    /// Work until they are told to stop; what has been delivered by then is stored and acknowledged.
    pub async fn run(&self, stop: &CancellationToken) {
        join_all((0..self.sources.len()).map(|n| self.keep_up(n, stop))).await;
    }

    async fn keep_up(&self, n: usize, stop: &CancellationToken) {
        let intake = self.intake;
        let mut backoff = Backoff::default();
        let mut since = intake.clock.now();
        while !stop.is_cancelled() {
            let why = match self.session(n, &mut backoff, stop).boxed().await {
                Ok(()) => break,
                Err(error) => error.to_string(),
            };
            if backoff.is_fresh() {
                since = intake.clock.now();
            }
            let queue = self.sources[n].queue(&intake.config);
            tracing::warn!(broker.name = intake.broker, queue.name = queue, error = why, "not consuming");
            self.show(n, ConnectionState::Lost { since, why });
            if !backoff.wait(stop).await {
                break;
            }
        }
    }

    /// One connection's life; `Ok` when dlo closes and all is stored.
    async fn session(&self, n: usize, backoff: &mut Backoff, stop: &CancellationToken) -> Result<(), SessionError> {
        let (intake, source) = (self.intake, self.sources[n]);
        let queue = source.queue(&intake.config);
        let Some(()) = stop.run_until_cancelled(intake.wait_for_database(queue)).await else { return Ok(()) };
        let Some(session) = stop.run_until_cancelled(self.open()).await else { return Ok(()) };
        let session = session?;
        let consumer = match source {
            IntakeSource::Due => None,
            // A broker that is silent answers late, and nothing has been delivered yet.
            IntakeSource::DeadLetters(_) | IntakeSource::Obituaries => {
                let Some(consumer) = stop.run_until_cancelled(session.consume(queue)).await else { return Ok(()) };
                Some(consumer?)
            }
        };
        backoff.connected();
        self.show(n, ConnectionState::Connected { since: intake.clock.now() });
        let address = intake.config.address();
        tracing::info!(broker.name = intake.broker, queue.name = queue, address, "consuming dead letters");
        let over = stop.child_token();
        let work = async {
            match consumer {
                Some(consumer) => drain::drain(intake, source, consumer, &self.waiting, &over).await,
                None => due::send_back(intake, &session, (&self.waiting, &self.deleted), &over).await,
            }
        };
        tokio::select! {
            worked = work => worked?,
            never = self.keep_exchange(source, &session) => match never {},
            never = watch(&session, queue, &over) => match never {},
        }
        session.close().await;
        if over.is_cancelled() && !stop.is_cancelled() {
            return Err(SessionError::Cancelled { queue: queue.to_owned() });
        }
        Ok(())
    }

    /// Looks every so often whether the exchange is there that dead letters go to: RabbitMQ drops them where it is not, and
    /// tells nobody.
    async fn keep_exchange(&self, source: &IntakeSource, session: &ConsumingSession) -> Infallible {
        let Intake { broker, config, .. } = self.intake;
        if !matches!(source, IntakeSource::DeadLetters(_)) {
            return std::future::pending().await;
        }
        let mut problem = String::new();
        loop {
            tokio::time::sleep(LOOK).await;
            match session.keep_exchange(config).await {
                Ok(false) => problem.clear(),
                Ok(true) => tracing::warn!(
                    broker.name = broker,
                    exchange = config.dead_letter_exchange,
                    "the dead-letter exchange had been deleted and is declared again; what was rejected meanwhile is lost"
                ),
                Err(error) => {
                    let why = error.to_string();
                    if why != problem {
                        tracing::warn!(
                            broker.name = broker,
                            error = why,
                            "the dead-letter exchange cannot be looked at"
                        );
                    }
                    problem = why;
                }
            }
        }
    }

    async fn open(&self) -> Result<ConsumingSession, SessionError> {
        let _turn = self.opening.lock().await;
        ConsumingSession::open(&self.intake.broker, &self.intake.config).await
    }

    /// Has the board show how they stand together.
    fn show(&self, n: usize, state: ConnectionState) {
        let mut states = self.states.lock().unwrap_or_else(PoisonError::into_inner);
        states[n] = state;
        let worst = states.iter().reduce(ConnectionState::worse).cloned().unwrap_or(ConnectionState::Connecting);
        self.intake.board.set_consuming(&self.intake.broker, worst);
    }
}

/// Has the work of a session end, in good order, once RabbitMQ has been found twice to know nothing of its consumer.
async fn watch(session: &ConsumingSession, queue: &str, over: &CancellationToken) -> Infallible {
    let mut before = None;
    loop {
        tokio::time::sleep(LOOK).await;
        let forgotten = session.forgotten_consumer(queue).await;
        if forgotten.is_some() && forgotten == before {
            over.cancel();
            return std::future::pending().await;
        }
        before = forgotten;
    }
}
