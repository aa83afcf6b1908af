//! A message as RabbitMQ delivers it and as it is published again.

use super::field::FieldTable;

/// A message with the address it was delivered under.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Message {
    /// The exchange it was last published to; empty for the default exchange.
    pub exchange: String,
    pub routing_key: String,
    pub properties: Properties,
    pub headers: FieldTable,
    pub body: Vec<u8>,
}

/// The properties of AMQP 0-9-1's class `basic`, but for the headers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Properties {
    pub content_type: Option<String>,
    pub content_encoding: Option<String>,
    /// 1: transient, 2: persistent.
    pub delivery_mode: Option<u8>,
    pub priority: Option<u8>,
    pub correlation_id: Option<String>,
    pub reply_to: Option<String>,
    /// Time to live in milliseconds, in digits.
    pub expiration: Option<String>,
    pub message_id: Option<String>,
    /// Seconds since the Unix epoch.
    pub timestamp: Option<u64>,
    pub kind: Option<String>,
    pub user_id: Option<String>,
    pub app_id: Option<String>,
    pub cluster_id: Option<String>,
}
