//! A message as RabbitMQ delivers it and as it is published again.

use super::field::FieldTable;

/// A message with the address it was delivered under.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Message {
    /// The exchange it was last published to; empty for the default exchange.
    pub exchange: String,
    /// The routing key with which it was last published.
    pub routing_key: String,
    /// Its properties, without the headers.
    pub properties: Properties,
    /// Its headers, those that RabbitMQ added as well.
    pub headers: FieldTable,
    /// Its body, as it is on the wire.
    pub body: Vec<u8>,
}

/// The properties of AMQP 0-9-1's class `basic`, but for the headers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Properties {
    /// The media type of the body, as `application/json`.
    pub content_type: Option<String>,
    /// How the body is compressed, as `gzip`.
    pub content_encoding: Option<String>,
    /// 1: transient, 2: persistent.
    pub delivery_mode: Option<u8>,
    /// 0 to 255 in a queue with priorities.
    pub priority: Option<u8>,
    /// What a reply belongs to.
    pub correlation_id: Option<String>,
    /// The queue that replies go to.
    pub reply_to: Option<String>,
    /// Time to live in milliseconds, in digits.
    pub expiration: Option<String>,
    /// An id that its publisher gave it.
    pub message_id: Option<String>,
    /// Seconds since the Unix epoch.
    pub timestamp: Option<u64>,
    /// `type`: what kind of message it is.
    pub kind: Option<String>,
    /// The user who published it; RabbitMQ checks it.
    pub user_id: Option<String>,
    /// The application that published it.
    pub app_id: Option<String>,
    /// Not used by RabbitMQ.
    pub cluster_id: Option<String>,
}
