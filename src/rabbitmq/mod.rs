//! RabbitMQ, through lapin.
//!
//! This floor knows AMQP 0-9-1 and the domain's messages; it knows no database and decides nothing about letters.
//!
//! One *session* is one connection with its channels. When anything in it fails the whole session is over, and whoever
//! runs it builds a new one ([`reconnect`]); the client's own recovery stays off. Consuming and publishing have
//! connections of their own, since a broker in alarm stops reading from a connection that publishes, acknowledgements
//! included. A delivery never outlives its session.

mod bundle;
mod consuming;
mod convert;
pub(crate) mod declarations;
pub mod health;
pub mod management;
pub mod names;
pub mod outgoing;
mod patience;
mod publication;
mod publishing;
pub(crate) mod reconnect;
pub(crate) mod routes;
mod test_message;
pub(crate) mod topology;
mod traffic;
mod transport;
mod utf8_guard;
mod window;

use std::{path::Path, time::Duration};

use amqp_message::time::Timestamp;
use thiserror::Error;

use utf8_guard::Repairs;

use crate::{config::BrokerConfig, domain::broker::ConnectionState};

pub use bundle::{BUNDLE, unpack};
pub use consuming::{Acknowledger, ConsumingSession, Delivery, QueueConsumer, Received};
pub use declarations::Topology;
pub use publishing::{ConnectionWatch, Lane, PublishOutcome, PublishingSession};
pub use routes::DelayQueueState;
pub use test_message::dead_letter_a_test;

/// How long one step of building a session may take; lapin itself would wait for ever.
const STEP_TIMEOUT: Duration = Duration::from_secs(10);

/// Why a session is over, or could not begin.
#[derive(Debug, Error)]
pub enum SessionError {
    #[error(transparent)]
    Connect(#[from] transport::ConnectError),
    #[error("{what} did not answer within {} s", STEP_TIMEOUT.as_secs())]
    Timeout { what: String },
    #[error("{what}: {source}")]
    Refused { what: String, source: lapin::Error },
    #[error("{0:?} is too long to be a name in AMQP: it takes 255 bytes")]
    Name(String),
    #[error("there is no queue without a name")]
    NoName,
    #[error(
        "the exchange {exchange} is of type direct, which drops what has another routing key than its bindings: dead letters \
         would be lost. Name another one in dead_letter_exchange, or bind {queue} to it for each routing key and set \
         declare = false"
    )]
    DirectExchange { exchange: String, queue: String },
    #[error(
        "the broker cancelled the consumer of {queue}: the queue was deleted, its node went away, or what it had delivered was \
         not acknowledged within its consumer_timeout"
    )]
    Cancelled { queue: String },
    #[error("the broker did not say so to this consumer, but queue {queue} was deleted, or its node went away")]
    Forgotten { queue: String },
    #[error(
        "the broker takes nothing that is published, as its user lacks the right to write to the default exchange: {0}. \
         Give it the rights that docs/guide/rabbitmq.md lists"
    )]
    Forbidden(String),
    #[error("the connection was lost: {0}")]
    Lost(String),
}

impl SessionError {
    fn lost(error: impl std::fmt::Display) -> Self {
        Self::Lost(error.to_string())
    }

    fn forbidden(error: &lapin::Error) -> Self {
        Self::Forbidden(refusal(error).unwrap_or_default())
    }

    /// How dlo stands with the broker after this, which has been so since then.
    pub fn into_state(self, since: Timestamp) -> ConnectionState {
        let why = self.to_string();
        if self.is_refusal() { ConnectionState::Refused { since, why } } else { ConnectionState::Lost { since, why } }
    }

    /// Whether the broker was reached, and did not give what it was asked for.
    fn is_refusal(&self) -> bool {
        match self {
            Self::Refused { source, .. } => refusal(source).is_some(),
            Self::Name(_)
            | Self::NoName
            | Self::DirectExchange { .. }
            | Self::Cancelled { .. }
            | Self::Forgotten { .. }
            | Self::Forbidden(_) => true,
            Self::Connect(_) | Self::Timeout { .. } | Self::Lost(_) => false,
        }
    }
}

/// Connects as the configuration says. The name is what the broker's own pages call the connection.
pub async fn connect(config: &BrokerConfig, name: &str) -> Result<lapin::Connection, SessionError> {
    Ok(transport::connect(config.url.reveal(), name, ca_file(config), false).await?.0)
}

/// The same, for whoever publishes nothing and wants to know what the guard repaired in deliveries.
async fn connect_to_receive(config: &BrokerConfig, name: &str) -> Result<(lapin::Connection, Repairs), SessionError> {
    Ok(transport::connect(config.url.reveal(), name, ca_file(config), true).await?)
}

fn ca_file(config: &BrokerConfig) -> Option<&Path> {
    Some(config.ca_file.as_path()).filter(|path| !path.as_os_str().is_empty())
}

/// Waits for the broker's answer, but not for ever.
async fn step<T>(what: &str, answer: impl Future<Output = lapin::Result<T>>) -> Result<T, SessionError> {
    match tokio::time::timeout(STEP_TIMEOUT, answer).await {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(source)) => Err(SessionError::Refused { what: what.to_owned(), source }),
        Err(_) => Err(SessionError::Timeout { what: what.to_owned() }),
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

/// 404: the channel is closed, the connection goes on.
fn is_not_found(error: &lapin::Error) -> bool {
    const NOT_FOUND: u16 = 404;
    has_code(error, NOT_FOUND)
}

/// The user lacks a right.
fn is_refused(error: &lapin::Error) -> bool {
    const ACCESS_REFUSED: u16 = 403;
    has_code(error, ACCESS_REFUSED)
}

fn has_code(error: &lapin::Error, code: u16) -> bool {
    matches!(error.kind(), lapin::ErrorKind::ProtocolError(error) if error.get_id() == code)
}

/// Names that a person or a message supplied may be too long; lapin would panic.
fn short(text: &str) -> Result<lapin::types::ShortString, SessionError> {
    lapin::types::ShortString::try_new(text).map_err(|_| SessionError::Name(text.to_owned()))
}
