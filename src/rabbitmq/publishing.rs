//! Publishing with confirms: one connection, and on each of its channels one window at a time.

use std::sync::Arc;

use amqp_message::time::Timestamp;
use lapin::{
    BasicProperties, Channel, Connection, ConnectionStatus,
    options::{BasicPublishOptions, ConfirmSelectOptions},
};
use tokio::time::Instant;

use super::{
    SessionError, connect,
    declarations::open_channel,
    is_refused,
    publication::Publication,
    routes::{DelayQueueState, Route, Routes},
    step,
    window::{self, Answer},
};
use crate::{config::BrokerConfig, domain::retry::OutgoingRetry, rabbitmq::names};

/// While one lane awaits its confirms, the other sends; a third gains nothing.
const LANES: usize = 2;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PublishOutcome {
    /// The broker has it in the queue.
    Confirmed,
    /// Its queue is there and takes nothing at the moment; why, in words.
    Full(String),
    /// The broker returned it, or cannot take it at all, or did not answer in time; why, in words.
    Failed(String),
    /// The user of dlo may not publish at all, which says nothing about the message: it did not arrive; why, in words.
    Forbidden(String),
    /// The channel or the connection was lost before the confirm: it may have arrived.
    Unknown,
    /// The channel or the connection was lost before it was sent at all.
    NotSent,
    /// It was not sent, as a queue on its way is new, or has confirmed nothing yet: it should not be tried before then.
    Settling(Instant),
}

/// Says how a session's connection stands, also while the session is busy.
#[derive(Clone)]
pub struct ConnectionWatch(ConnectionStatus);

impl ConnectionWatch {
    /// Whether the broker is in alarm and reads nothing from us.
    pub fn is_blocked(&self) -> bool {
        self.0.blocked()
    }

    pub fn is_connected(&self) -> bool {
        self.0.connected()
    }
}

/// A connection that publishes on several lanes.
pub struct PublishingSession {
    connection: Arc<Connection>,
    lanes: [Lane; LANES],
    routes: Arc<Routes>,
}

impl PublishingSession {
    pub async fn open(name: &str, config: &BrokerConfig) -> Result<Self, SessionError> {
        let connection = Arc::new(connect(config, &format!("dlo {name} publishing")).await?);
        let routes = Arc::new(Routes::new(&connection));
        let lanes = [Lane::open(&connection, &routes).await?, Lane::open(&connection, &routes).await?];
        Ok(Self { connection, lanes, routes })
    }

    pub fn connection(&self) -> ConnectionWatch {
        ConnectionWatch(self.connection.status().clone())
    }

    pub fn lanes(&mut self) -> impl Iterator<Item = &mut Lane> {
        self.lanes.iter_mut()
    }

    /// Finds out whether the user may publish, with a message that goes to no queue.
    ///
    /// # Errors
    /// [`SessionError::Forbidden`] where not.
    pub async fn try_to_publish(&self) -> Result<(), SessionError> {
        let channel = confirming_channel(&self.connection).await?;
        let publishing = async {
            let (anywhere, nowhere) = (BasicPublishOptions::default(), "".into());
            channel.basic_publish("".into(), nowhere, anywhere, &[], BasicProperties::default()).await?.await
        };
        match step("publishing", publishing).await {
            Err(SessionError::Refused { source, .. }) if is_refused(&source) => Err(SessionError::forbidden(&source)),
            Err(error) => Err(error),
            Ok(_) => Ok(channel.close(200, "bye".into()).await.map_err(SessionError::lost)?),
        }
    }

    /// That the user may not publish, where a lane has found that out.
    ///
    /// # Errors
    /// [`SessionError::Forbidden`].
    pub fn check_allowed(&mut self) -> Result<(), SessionError> {
        match self.lanes.iter_mut().find_map(|lane| lane.forbidden.take()) {
            Some(why) => Err(SessionError::Forbidden(why)),
            None => Ok(()),
        }
    }

    /// How the delay queue of that name is found.
    ///
    /// Whoever publishes with a wait has to remember [`names::delay_queue`] beforehand: no broker says which
    /// queues there are.
    pub async fn delay_queue_state(&self, name: &str, now: Timestamp) -> DelayQueueState {
        if !names::is_out_of_use(name, now) {
            return DelayQueueState::Needed;
        }
        self.routes.state_of(name).await
    }

    /// Deletes the delay queue of that name if it is out of use and shows no message. Nothing else is ever deleted.
    ///
    /// To be called for a queue that was [found empty](DelayQueueState::Empty) for long enough: one that shows no message
    /// may hold some.
    pub async fn delete_delay_queue(&self, name: &str, now: Timestamp) -> DelayQueueState {
        if !names::is_out_of_use(name, now) {
            return DelayQueueState::Needed;
        }
        self.routes.delete(name).await
    }

    pub async fn close(self) {
        _ = step("closing", self.connection.close(200, "bye".into())).await;
    }
}

/// A channel in confirm mode, on which one window follows the other.
///
/// It takes `&mut self` to publish: two tasks on one channel would get each other's confirms, and of two windows under
/// way at once it could not be told which message was returned.
pub struct Lane {
    connection: Arc<Connection>,
    channel: Channel,
    routes: Arc<Routes>,
    /// Why the broker took nothing, as the user may not publish.
    forbidden: Option<String>,
}

impl Lane {
    async fn open(connection: &Arc<Connection>, routes: &Arc<Routes>) -> Result<Self, SessionError> {
        let channel = confirming_channel(connection).await?;
        Ok(Self { connection: Arc::clone(connection), channel, routes: Arc::clone(routes), forbidden: None })
    }

    /// Whether the broker has said that the user may not publish.
    pub const fn is_forbidden(&self) -> bool {
        self.forbidden.is_some()
    }

    /// Publishes a window of messages and awaits all of their confirms; the answers are in the order of the messages.
    /// What its messages need on their ways is declared first.
    ///
    /// Of a window that closes the channel nobody knows which message did it. One that is alone in its window and has
    /// been refused in this way is reported so.
    pub async fn publish(&mut self, window: &[OutgoingRetry]) -> Vec<PublishOutcome> {
        let mut outcomes = vec![PublishOutcome::NotSent; window.len()];
        let routes: Vec<Route> = window.iter().map(|retry| Route::to(&retry.destination)).collect();
        let returned = self.publish_once(Publication::all_of(window, &routes), &mut outcomes).await;
        // Somebody has deleted what was declared for them.
        let again: Vec<Publication> =
            returned.into_iter().filter(|publication| publication.route.declared().is_some()).collect();
        if !again.is_empty() {
            self.routes.forget(again.iter().map(|publication| publication.route)).await;
            self.publish_once(again, &mut outcomes).await;
        }
        outcomes
    }

    /// Says in `outcomes` the outcome of each message, and returns the publications for which no queue was there.
    async fn publish_once<'a>(
        &mut self,
        mut publications: Vec<Publication<'a>>,
        outcomes: &mut [PublishOutcome],
    ) -> Vec<Publication<'a>> {
        let mut set = |publication: &Publication, outcome: PublishOutcome| {
            for position in publication.positions() {
                outcomes[position] = outcome.clone();
            }
        };
        for publication in &publications {
            set(publication, PublishOutcome::NotSent);
        }
        if !self.channel.status().connected() && self.reopen_channel().await.is_err() {
            return Vec::new();
        }
        let blocked = self.routes.open(publications.iter().map(|publication| publication.route)).await;
        publications.retain(|publication| {
            let obstacle = publication.route.declared().and_then(|name| blocked.get(name));
            if let Some(outcome) = obstacle {
                set(publication, outcome.clone());
            }
            obstacle.is_none()
        });
        let answered = window::publish(&self.connection, &self.channel, &publications).await;
        self.forbidden = answered.forbidden.or(self.forbidden.take());
        if answered.exchange_missing {
            self.routes.forget(publications.iter().map(|publication| publication.route)).await;
        }
        let mut returned = Vec::new();
        for (publication, answer) in publications.into_iter().zip(answered.answers) {
            match answer {
                Answer::Outcome(outcome) => set(&publication, outcome),
                Answer::Returned(words) => {
                    set(&publication, PublishOutcome::Failed(format!("{} ({words})", publication.route.dead_end())));
                    returned.push(publication);
                }
            }
        }
        returned
    }

    async fn reopen_channel(&mut self) -> Result<(), SessionError> {
        self.channel = confirming_channel(&self.connection).await?;
        Ok(())
    }
}

async fn confirming_channel(connection: &Connection) -> Result<Channel, SessionError> {
    let channel = open_channel(connection).await?;
    step("confirm.select", channel.confirm_select(ConfirmSelectOptions::default())).await?;
    Ok(channel)
}
