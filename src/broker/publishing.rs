//! Publishing with confirms: one connection, one channel, one task.

use std::{collections::HashMap, pin::pin, time::Duration};

use futures_util::{StreamExt, stream::FuturesOrdered};
use lapin::{
    Channel, Confirmation, Connection,
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
}

/// A connection that publishes, with one channel in confirm mode.
///
/// It takes `&mut self` to publish: two tasks on one channel would get each other's confirms.
pub struct PublishingSession {
    connection: Connection,
    channel: Channel,
}

impl PublishingSession {
    pub async fn open(name: &str, config: &BrokerConfig) -> Result<Self, SessionError> {
        let connection = connect(config, &format!("dlo {name} publishing")).await?;
        let channel = confirming_channel(&connection).await?;
        Ok(Self { connection, channel })
    }

    /// Whether the broker is in alarm and reads nothing from us.
    pub fn is_blocked(&self) -> bool {
        self.connection.status().blocked()
    }

    pub fn is_connected(&self) -> bool {
        self.connection.status().connected()
    }

    pub async fn close(self) {
        _ = step("closing", self.connection.close(200, "bye".into())).await;
    }

    /// Publishes a window of messages and awaits all of their confirms; the answers are in the order of the messages.
    ///
    /// # Errors
    /// Only when the connection is gone; what was in flight then is [`PublishOutcome::Unknown`] and in the answer of
    /// the last call.
    pub async fn publish(&mut self, window: Vec<OutgoingRetry>) -> Vec<PublishOutcome> {
        if !self.channel.status().connected() && self.reopen_channel().await.is_err() {
            return vec![PublishOutcome::Unknown; window.len()];
        }
        let ids: Vec<LetterId> = window.iter().map(|retry| retry.id).collect();
        let mut outcomes = vec![PublishOutcome::Unknown; window.len()];
        let mut returned = HashMap::new();
        let unblocked = unblocked_for(&self.connection, CONFIRM_TIMEOUT);
        let confirmed = send_and_confirm(&self.channel, window, &mut outcomes, &mut returned);
        tokio::select! {
            () = confirmed => {}
            () = unblocked => time_out(&mut outcomes),
        }
        self.explain_closed_channel(&mut outcomes);
        mark_returned(&ids, &returned, &mut outcomes);
        outcomes
    }

    async fn reopen_channel(&mut self) -> Result<(), SessionError> {
        self.channel = confirming_channel(&self.connection).await?;
        Ok(())
    }

    /// A message alone in its window that closed the channel was refused, and the broker has said why.
    fn explain_closed_channel(&self, outcomes: &mut [PublishOutcome]) {
        let closed = !self.channel.status().connected() && self.connection.status().connected();
        if let ([outcome @ PublishOutcome::Unknown], true) = (outcomes, closed) {
            *outcome = PublishOutcome::Failed("the broker refused it and closed the channel".to_owned());
        }
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

/// Why the broker sent messages back, by letter.
type Returned = HashMap<LetterId, String>;

async fn send_and_confirm(
    channel: &Channel,
    window: Vec<OutgoingRetry>,
    outcomes: &mut [PublishOutcome],
    returned: &mut Returned,
) {
    let mut confirms = FuturesOrdered::new();
    for (position, retry) in window.into_iter().enumerate() {
        match send(channel, &retry.queue, retry.message).await {
            Ok(confirm) => confirms.push_back(async move { (position, confirm.await) }),
            Err(SendError::Message(why)) => outcomes[position] = PublishOutcome::Failed(why),
            Err(SendError::Channel(error)) => {
                tracing::warn!(error = %error, "publishing was cut short");
                break;
            }
        }
    }
    crash::point("published");
    let mut confirms = pin!(confirms);
    while let Some((position, confirmation)) = confirms.next().await {
        if let Some(outcome) = read(confirmation, returned) {
            outcomes[position] = outcome;
        }
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

/// A returned message may ride on the confirm of another one (lapin keeps them in a queue of their own), so it is
/// taken down by the id it carries, and whose confirm it came with is of no account.
fn read(confirmation: lapin::Result<Confirmation>, returned: &mut Returned) -> Option<PublishOutcome> {
    let confirmation = confirmation.ok()?;
    let refused = confirmation.is_nack();
    let published = !matches!(confirmation, Confirmation::NotRequested);
    if let Some(message) = confirmation.take_message() {
        take_down(&message, returned);
    }
    match (published, refused) {
        (true, true) => {
            Some(PublishOutcome::Failed("the broker refused it: its queue is full, or is in trouble".to_owned()))
        }
        (true, false) => Some(PublishOutcome::Confirmed),
        (false, _) => None,
    }
}

fn take_down(message: &BasicReturnMessage, returned: &mut Returned) {
    let headers = message.delivery.properties.headers().as_ref().map(convert::table_from_lapin).unwrap_or_default();
    let why =
        format!("there is no queue {} ({} {})", message.delivery.routing_key, message.reply_code, message.reply_text);
    match own_headers::dlo_id(&headers) {
        Some(id) => _ = returned.insert(id, why),
        None => tracing::error!("the broker returned a message without the id it was sent with"),
    }
}

fn mark_returned(ids: &[LetterId], returned: &Returned, outcomes: &mut [PublishOutcome]) {
    for (id, outcome) in ids.iter().zip(outcomes) {
        if let Some(why) = returned.get(id) {
            *outcome = PublishOutcome::Failed(why.clone());
        }
    }
}

fn time_out(outcomes: &mut [PublishOutcome]) {
    for outcome in outcomes.iter_mut().filter(|outcome| **outcome == PublishOutcome::Unknown) {
        let why = format!("the broker did not confirm it within {} s; it may have arrived", CONFIRM_TIMEOUT.as_secs());
        *outcome = PublishOutcome::Failed(why);
    }
}
