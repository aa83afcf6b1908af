//! What one source brings: a session of its own, built again whenever it is over.

use std::{
    collections::HashMap,
    pin::pin,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use futures_util::{FutureExt, future::join_all};
use tokio::{sync::watch, time::timeout};
use tokio_util::sync::CancellationToken;

use super::{Intake, IntakeSource, drain, due};
use crate::{
    domain::broker::ConnectionState,
    rabbitmq::{ConsumingSession, QueueConsumer, SessionError, reconnect::Backoff},
    services::wakeup::Wakeup,
};

/// How often it is looked whether the dead-letter exchange is there, and RabbitMQ knows of the consumers.
const LOOK: Duration = Duration::from_secs(5);
/// A session to which nothing came for so long begins anew: of a queue that somebody deleted and declared again RabbitMQ 3 may
/// take its consumer for one, and give what is delivered to it to nobody.
const SILENCE: Duration = Duration::from_secs(10 * 60);

/// How a session has ended that did not fail.
enum Over {
    /// `dlo` ends.
    Stopped,
    Silent,
}

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
    /// Of each queue: changes when one of its sessions has heard that it was deleted. Not all always do.
    deleted: HashMap<&'a str, watch::Sender<()>>,
}

impl<'a> Sessions<'a> {
    pub fn of(intake: &'a Intake) -> Self {
        let sources: Vec<_> =
            intake.sources.iter().flat_map(|source| std::iter::repeat_n(source, source.sessions())).collect();
        Self {
            intake,
            states: Mutex::new(vec![ConnectionState::Connecting; sources.len()]),
            deleted: sources.iter().map(|source| (source.queue(&intake.config), watch::Sender::default())).collect(),
            sources,
            opening: tokio::sync::Mutex::default(),
            waiting: Wakeup::default(),
        }
    }

    /// Work until they are told to stop; what has been delivered by then is stored and acknowledged.
    pub async fn run(&self, stop: &CancellationToken) {
        join_all((0..self.sources.len()).map(|n| self.keep_up(n, stop))).await;
    }

    async fn keep_up(&self, n: usize, stop: &CancellationToken) {
        let intake = self.intake;
        let mut backoff = Backoff::default();
        let (mut since, mut said) = (intake.clock.now(), String::new());
        while !stop.is_cancelled() {
            let error = match self.session(n, &mut backoff, stop).boxed().await {
                Ok(Over::Stopped) => break,
                Ok(Over::Silent) => continue,
                Err(error) => error,
            };
            let queue = self.sources[n].queue(&intake.config);
            if let SessionError::Cancelled { .. } = error {
                self.deleted[queue].send_replace(());
            }
            let why = error.to_string();
            if backoff.is_fresh() {
                since = intake.clock.now();
            }
            // The same is said once, however often it is tried.
            if backoff.is_fresh() || why != said {
                tracing::warn!(broker.name = intake.broker, queue.name = queue, error = why, "not consuming");
                said = why;
            }
            self.show(n, error.into_state(since));
            if !backoff.wait(stop).await {
                break;
            }
        }
    }

    /// One connection's life. When it is over and has not failed, all that was delivered is stored.
    async fn session(&self, n: usize, backoff: &mut Backoff, stop: &CancellationToken) -> Result<Over, SessionError> {
        let (intake, source) = (self.intake, self.sources[n]);
        let queue = source.queue(&intake.config);
        let Some(()) = stop.run_until_cancelled(intake.wait_for_database(queue)).await else {
            return Ok(Over::Stopped);
        };
        let Some(session) = stop.run_until_cancelled(self.open()).await else { return Ok(Over::Stopped) };
        let session = session?;
        let consumer = match source {
            IntakeSource::Due => None,
            // A broker that is silent answers late, and nothing has been delivered yet.
            IntakeSource::DeadLetters(_) | IntakeSource::Obituaries => {
                match stop.run_until_cancelled(session.consume(queue)).await {
                    Some(consumer) => Some(consumer?),
                    None => return Ok(Over::Stopped),
                }
            }
        };
        backoff.connected();
        self.show(n, ConnectionState::Connected { since: intake.clock.now() });
        let address = intake.config.address();
        tracing::info!(broker.name = intake.broker, queue.name = queue, address, "consuming dead letters");
        let ended = self.work(source, &session, consumer, stop).await?;
        session.close().await;
        Ok(ended)
    }

    async fn work(
        &self,
        source: &IntakeSource,
        session: &ConsumingSession,
        consumer: Option<QueueConsumer>,
        stop: &CancellationToken,
    ) -> Result<Over, SessionError> {
        let over = stop.child_token();
        let mut work = pin!(async {
            match consumer {
                Some(consumer) => drain::drain(self.intake, source, consumer, &self.waiting, &over).await,
                None => due::send_back(self.intake, session, &self.waiting, &over).await,
            }
        });
        tokio::select! {
            worked = &mut work => worked.map(|()| Over::Stopped),
            why = self.look_after(source, session) => {
                // What was delivered is dealt with first.
                over.cancel();
                work.await?;
                why
            }
        }
    }

    /// Looks every so often for what RabbitMQ tells nobody. Returns when the session is to end: the queue was deleted, by what
    /// another session has heard, or as RabbitMQ was found twice to know of nobody who consumes it; or nothing came for long.
    async fn look_after(&self, source: &IntakeSource, session: &ConsumingSession) -> Result<Over, SessionError> {
        let queue = source.queue(&self.intake.config);
        let mut deleted = self.deleted[queue].subscribe();
        let (mut problem, mut was_forgotten) = (String::new(), false);
        while let Err(_looking) = timeout(LOOK, deleted.changed()).await {
            if let IntakeSource::DeadLetters(_) = source {
                problem = self.keep_exchange(session, problem).await;
            }
            let is_forgotten = session.is_forgotten(queue).await;
            if is_forgotten && was_forgotten {
                break;
            }
            // Without a database it could not begin anew.
            if session.is_silent(SILENCE)
                && matches!(timeout(LOOK, self.intake.store.check_writable()).await, Ok(Ok(())))
            {
                return Ok(Over::Silent);
            }
            was_forgotten = is_forgotten;
        }
        Err(SessionError::Forgotten { queue: queue.to_owned() })
    }

    /// Looks whether the exchange is there that dead letters go to: RabbitMQ drops them where it is not. Returns why it cannot be
    /// looked at, which is said once.
    async fn keep_exchange(&self, session: &ConsumingSession, before: String) -> String {
        let Intake { broker, config, .. } = self.intake;
        match session.keep_exchange(config).await {
            Ok(false) => String::new(),
            Ok(true) => {
                tracing::warn!(
                    broker.name = broker,
                    exchange = config.dead_letter_exchange,
                    "the dead-letter exchange had been deleted and is declared again; what was rejected meanwhile is lost"
                );
                before
            }
            Err(error) => {
                let why = error.to_string();
                if why != before {
                    tracing::warn!(broker.name = broker, error = why, "the dead-letter exchange cannot be looked at");
                }
                why
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
