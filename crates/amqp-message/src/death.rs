//! Why and where a message was dead-lettered.

use crate::{time::Timestamp, word_enum};

word_enum! {
    /// Why RabbitMQ dead-lettered a message (<https://www.rabbitmq.com/docs/dlx>).
    #[derive(Default)]
    Reason, "reason" {
        /// A consumer rejected it without asking for it back.
        Rejected = "rejected",
        /// Its time to live, or its queue's, ran out.
        Expired = "expired",
        /// Its queue was full.
        MaxLen = "maxlen",
        /// A quorum queue had delivered it too often.
        DeliveryLimit = "delivery_limit",
        /// The message does not say.
        #[default]
        Unknown = "unknown",
    }
}

impl Reason {
    /// What happened, as a clause for people.
    pub const fn sentence(self) -> &'static str {
        match self {
            Self::Rejected => "rejected by its consumer, no reason recorded",
            Self::Expired => "expired before a consumer took it",
            Self::MaxLen => "the queue was full",
            Self::DeliveryLimit => "delivered too often without success",
            Self::Unknown => "the message does not say why",
        }
    }
}

/// One entry of `x-death`: the deaths of a message in one queue for one reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Death {
    /// The queue that it was dead-lettered from.
    pub queue: String,
    /// As RabbitMQ sent it; a later version may know more of them than [`Reason`].
    pub reason: String,
    /// How often; at least 1.
    pub count: u64,
    /// The first of these deaths, in whole seconds: RabbitMQ does not say the latest.
    pub first_at: Option<Timestamp>,
    /// The exchange to which it was published before; empty for the default exchange.
    pub exchange: String,
    /// The routing keys with which it was published before, those of `CC` as well, but not of `BCC`.
    pub routing_keys: Vec<String>,
    /// The time to live it had, in milliseconds; RabbitMQ removes the property.
    pub original_expiration: Option<String>,
}
