//! Publishing with confirms: one connection, and on each of its channels one window at a time.

use std::{collections::HashMap, pin::pin, sync::Arc, time::Duration};

use futures_util::{StreamExt, stream::FuturesOrdered};
use lapin::{
    Channel, Confirmation, Connection, ConnectionStatus,
    message::BasicReturnMessage,
    options::{BasicPublishOptions, ConfirmSelectOptions},
};

use super::{SessionError, connect, convert, short, step, topology::open_channel};
use crate::{
    config::BrokerConfig,
    crash,
    domain::{letter::LetterId, message::Message, retry::OutgoingRetry},
    own_headers,
};

/// While one lane awaits its confirms, the other sends; a third gains nothing.
const LANES: usize = 2;
/// How long the broker may take to confirm; while it is in alarm the clock stands still.
const CONFIRM_TIMEOUT: Duration = Duration::from_secs(30);
/// How often a wait for confirms looks whether the broker is in alarm.
const TICK: Duration = Duration::from_millis(250);

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PublishOutcome {
    /// The broker has it in the queue.
    Confirmed,
    /// The broker returned or refused it, or did not answer in time; why, for a person.
    Failed(String),
    /// The channel or the connection was lost before the confirm: it may have arrived.
    Unknown,
    /// The channel or the connection was lost before it was sent at all.
    NotSent,
}

/// Tells how a session's connection stands, also while the session is busy.
#[derive(Clone)]
pub struct Standing(ConnectionStatus);

impl Standing {
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
}

impl PublishingSession {
    pub async fn open(name: &str, config: &BrokerConfig) -> Result<Self, SessionError> {
        let connection = Arc::new(connect(config, &format!("dlo {name} publishing")).await?);
        let lanes = [Lane::open(&connection).await?, Lane::open(&connection).await?];
        Ok(Self { connection, lanes })
    }

    pub fn standing(&self) -> Standing {
        Standing(self.connection.status().clone())
    }

    pub fn lanes(&mut self) -> impl Iterator<Item = &mut Lane> {
        self.lanes.iter_mut()
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
}

impl Lane {
    async fn open(connection: &Arc<Connection>) -> Result<Self, SessionError> {
        Ok(Self { connection: Arc::clone(connection), channel: confirming_channel(connection).await? })
    }

    /// Publishes a window of messages and awaits all of their confirms; the answers are in the order of the messages.
    ///
    /// Of a window that closes the channel nobody knows which message did it. One that is alone in its window and has
    /// been refused in this way is told so.
    pub async fn publish(&mut self, window: Vec<OutgoingRetry>) -> Vec<PublishOutcome> {
        if !self.channel.status().connected() && self.reopen_channel().await.is_err() {
            return vec![PublishOutcome::NotSent; window.len()];
        }
        let ids: Vec<LetterId> = window.iter().map(|retry| retry.id).collect();
        let mut answers = Answers::to(window.len());
        let overdue = tokio::select! {
            () = send_and_confirm(&self.channel, window, &mut answers) => false,
            () = unblocked_for(&self.connection, CONFIRM_TIMEOUT) => true,
        };
        if overdue {
            // Late answers must not be taken for those of the next window.
            _ = step("closing a channel", self.channel.close(200, "confirms are overdue".into())).await;
        }
        answers.into_outcomes(&ids, overdue)
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

/// Ends once the connection has been out of alarm for `limit` altogether.
async fn unblocked_for(connection: &Connection, limit: Duration) {
    let mut waited = Duration::ZERO;
    while waited < limit {
        tokio::time::sleep(TICK).await;
        if !connection.status().blocked() {
            waited += TICK;
        }
    }
}

/// What the broker has answered to a window.
struct Answers {
    outcomes: Vec<PublishOutcome>,
    /// Why it sent messages back, by letter.
    returned: HashMap<LetterId, String>,
    /// Why it closed the channel or the connection, when that was over a message.
    refusal: Option<String>,
}

impl Answers {
    fn to(messages: usize) -> Self {
        Self { outcomes: vec![PublishOutcome::NotSent; messages], returned: HashMap::new(), refusal: None }
    }

    /// A returned message may ride on the confirm of another one (lapin keeps them in a queue of their own), so it is
    /// taken down by the id it carries, and whose confirm it came with is of no account.
    fn take_down(&mut self, position: usize, confirmation: lapin::Result<Confirmation>) {
        let confirmation = match confirmation {
            Ok(confirmation) => confirmation,
            Err(error) => return self.refusal = refusal(&error),
        };
        let outcome = match confirmation {
            Confirmation::Ack(_) => PublishOutcome::Confirmed,
            Confirmation::Nack(_) => {
                PublishOutcome::Failed("the broker refused it: its queue is full, or is in trouble".to_owned())
            }
            Confirmation::NotRequested => PublishOutcome::Unknown,
        };
        self.outcomes[position] = outcome;
        if let Some(message) = confirmation.take_message() {
            self.take_down_returned(&message);
        }
    }

    fn take_down_returned(&mut self, message: &BasicReturnMessage) {
        let headers = message.delivery.properties.headers().as_ref().map(convert::table_from_lapin).unwrap_or_default();
        let queue = &message.delivery.routing_key;
        let why = format!("there is no queue {queue} ({} {})", message.reply_code, message.reply_text);
        match own_headers::dlo_id(&headers) {
            Some(id) => _ = self.returned.insert(id, why),
            None => tracing::error!("the broker returned a message without the id it was sent with"),
        }
    }

    fn into_outcomes(mut self, ids: &[LetterId], overdue: bool) -> Vec<PublishOutcome> {
        if let ([outcome @ PublishOutcome::Unknown], Some(refusal)) = (&mut *self.outcomes, self.refusal) {
            *outcome = PublishOutcome::Failed(format!("the broker refused it: {refusal}"));
        }
        for (id, outcome) in ids.iter().zip(&mut self.outcomes) {
            if let Some(why) = self.returned.remove(id) {
                *outcome = PublishOutcome::Failed(why);
            }
            if overdue && *outcome == PublishOutcome::Unknown {
                let limit = CONFIRM_TIMEOUT.as_secs();
                let why = format!("the broker did not confirm it within {limit} s; it may have arrived");
                *outcome = PublishOutcome::Failed(why);
            }
        }
        self.outcomes
    }
}

/// What the broker said when it closed a channel or a connection; `None` when it was for another reason than what it
/// was sent.
fn refusal(error: &lapin::Error) -> Option<String> {
    /// An operator closed it, or the broker shuts down.
    const CONNECTION_FORCED: u16 = 320;
    match error.kind() {
        lapin::ErrorKind::ProtocolError(error) if error.get_id() != CONNECTION_FORCED => {
            Some(error.get_message().to_string())
        }
        _ => None,
    }
}

async fn send_and_confirm(channel: &Channel, window: Vec<OutgoingRetry>, answers: &mut Answers) {
    let mut confirms = FuturesOrdered::new();
    for (position, retry) in window.into_iter().enumerate() {
        // Before it is sent: whoever gives up waiting in the middle of it cannot know.
        answers.outcomes[position] = PublishOutcome::Unknown;
        match send(channel, &retry.queue, retry.message).await {
            Ok(confirm) => confirms.push_back(async move { (position, confirm.await) }),
            Err(SendError::Message(why)) => answers.outcomes[position] = PublishOutcome::Failed(why),
            Err(SendError::Channel(error)) => {
                tracing::warn!(error = %error, "publishing was cut short");
                break;
            }
        }
    }
    crash::point("published");
    let mut confirms = pin!(confirms);
    while let Some((position, confirmation)) = confirms.next().await {
        answers.take_down(position, confirmation);
    }
}

enum SendError {
    /// The message itself cannot be sent.
    Message(String),
    Channel(lapin::Error),
}

async fn send(channel: &Channel, queue: &str, message: Message) -> Result<lapin::PublisherConfirm, SendError> {
    let refuse = |error: SessionError| SendError::Message(error.to_string());
    let queue = short(queue).map_err(refuse)?;
    let properties = convert::properties_to_lapin(message.properties, message.headers).map_err(refuse)?;
    let mandatory = BasicPublishOptions { mandatory: true, ..BasicPublishOptions::default() };
    channel.basic_publish("".into(), queue, mandatory, &message.body, properties).await.map_err(SendError::Channel)
}
