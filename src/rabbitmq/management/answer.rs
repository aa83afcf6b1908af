//! What the API answers.

use std::fmt;

use amqp_message::time::Timestamp;
use serde::{Deserialize, Deserializer, de::DeserializeOwned};

use crate::domain::queue_level::{DeadLetterRoute, QueueKind, QueueLevel, QueueState};

/// What broker it is.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Overview {
    #[serde(rename = "rabbitmq_version")]
    pub version: String,
    /// Statistics are off (`management.disable_stats` or `management_agent.disable_metrics_collector`): then counts of
    /// messages are reported, but neither consumers nor rates.
    #[serde(rename = "disable_stats", default, deserialize_with = "lenient")]
    statistics_off: bool,
}

impl Overview {
    pub const fn has_statistics(&self) -> bool {
        !self.statistics_off
    }
}

/// As whom we are known.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct WhoAmI {
    pub name: String,
    #[serde(default, deserialize_with = "lenient")]
    pub tags: Vec<String>,
}

/// What a mere look at the API found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Probe {
    pub user: String,
    pub overview: Overview,
    pub n_queues: u64,
}

impl fmt::Display for Probe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { user, overview, n_queues } = self;
        let queues = if *n_queues == 1 { "queue" } else { "queues" };
        write!(f, "RabbitMQ {}, {n_queues} {queues}, as {user}", overview.version)?;
        if !overview.has_statistics() {
            f.write_str("; its statistics are off, so that nobody sees whether queues have consumers")?;
        }
        Ok(())
    }
}

/// One page of a list.
#[derive(Debug, Deserialize)]
pub(super) struct Page {
    pub items: Vec<QueueItem>,
    /// 0 for an empty list.
    pub page_count: u64,
    pub total_count: u64,
}

/// One binding.
#[derive(Debug, Deserialize)]
pub(super) struct Binding {
    /// The exchange; empty for the default one.
    pub source: String,
}

/// What the API says when it refuses.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Refusal {
    #[serde(default, deserialize_with = "lenient")]
    pub error: String,
    #[serde(default, deserialize_with = "lenient")]
    pub reason: String,
}

/// One queue. Only the name has to be there, and nothing else that is odd spoils the list: fields are missing or null
/// while there are no statistics, and which ones differs between versions.
#[derive(Debug, Deserialize)]
pub(super) struct QueueItem {
    pub name: String,
    #[serde(rename = "type", default, deserialize_with = "lenient")]
    kind: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    state: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    messages: Option<u64>,
    #[serde(default, deserialize_with = "lenient")]
    messages_ready: Option<u64>,
    #[serde(default, deserialize_with = "lenient")]
    messages_unacknowledged: Option<u64>,
    #[serde(default, deserialize_with = "lenient")]
    consumers: Option<u64>,
    #[serde(default, deserialize_with = "lenient")]
    idle_since: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    policy: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    arguments: Arguments,
    #[serde(default, deserialize_with = "lenient")]
    effective_policy_definition: PolicyDefinition,
    #[serde(default, deserialize_with = "lenient")]
    exclusive: bool,
    #[serde(default, deserialize_with = "lenient")]
    auto_delete: bool,
    #[serde(default, deserialize_with = "lenient")]
    message_stats: MessageStats,
}

#[derive(Debug, Default, Deserialize)]
struct Arguments {
    #[serde(rename = "x-max-length", default, deserialize_with = "lenient")]
    max_length: Option<u64>,
    #[serde(rename = "x-message-ttl", default, deserialize_with = "lenient")]
    message_ttl: Option<u64>,
    #[serde(rename = "x-dead-letter-exchange", default, deserialize_with = "lenient")]
    dead_letter_exchange: Option<String>,
    #[serde(rename = "x-dead-letter-routing-key", default, deserialize_with = "lenient")]
    dead_letter_routing_key: Option<String>,
}

/// What its policy and an operator's say together.
#[derive(Debug, Default, Deserialize)]
struct PolicyDefinition {
    #[serde(rename = "max-length", default, deserialize_with = "lenient")]
    max_length: Option<u64>,
    #[serde(rename = "message-ttl", default, deserialize_with = "lenient")]
    message_ttl: Option<u64>,
    #[serde(rename = "dead-letter-exchange", default, deserialize_with = "lenient")]
    dead_letter_exchange: Option<String>,
    #[serde(rename = "dead-letter-routing-key", default, deserialize_with = "lenient")]
    dead_letter_routing_key: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
struct MessageStats {
    #[serde(default, deserialize_with = "lenient")]
    publish_details: Details,
    #[serde(default, deserialize_with = "lenient")]
    deliver_get_details: Details,
    #[serde(default, deserialize_with = "lenient")]
    redeliver_details: Details,
    #[serde(default, deserialize_with = "lenient")]
    ack_details: Details,
}

#[derive(Debug, Default, Deserialize)]
struct Details {
    #[serde(default, deserialize_with = "lenient")]
    rate: Option<f64>,
}

impl From<QueueItem> for QueueLevel {
    fn from(item: QueueItem) -> Self {
        let rate = |details: Details| details.rate.filter(|rate| *rate >= 0.0);
        // Of an argument and a policy the lower one counts (https://www.rabbitmq.com/docs/maxlength,
        // https://www.rabbitmq.com/docs/ttl).
        let lower = |limits: [Option<u64>; 2]| limits.into_iter().flatten().min();
        Self {
            kind: item.kind.and_then(|kind| kind.parse().ok()).unwrap_or(QueueKind::Other),
            state: item.state.map(|state| state.parse().unwrap_or(QueueState::Other)),
            messages_ready: item.messages_ready,
            messages_unacknowledged: item.messages_unacknowledged,
            messages: item.messages,
            consumers: item.consumers,
            idle_since: item.idle_since.and_then(|text| moment(&text)),
            policy: item.policy.filter(|policy| !policy.is_empty()),
            max_length: lower([item.arguments.max_length, item.effective_policy_definition.max_length]),
            message_ttl: lower([item.arguments.message_ttl, item.effective_policy_definition.message_ttl]),
            exclusive: item.exclusive,
            auto_delete: item.auto_delete,
            grows_by: None,
            publish_rate: rate(item.message_stats.publish_details),
            deliver_rate: rate(item.message_stats.deliver_get_details),
            redeliver_rate: rate(item.message_stats.redeliver_details),
            acknowledge_rate: rate(item.message_stats.ack_details),
            // An argument counts before a policy (https://www.rabbitmq.com/docs/dlx).
            dead_letters: DeadLetterRoute {
                by_argument: item.arguments.dead_letter_exchange.is_some(),
                exchange: item.arguments.dead_letter_exchange.or(item.effective_policy_definition.dead_letter_exchange),
                routing_key: (item.arguments.dead_letter_routing_key)
                    .or(item.effective_policy_definition.dead_letter_routing_key),
            },
            name: item.name,
        }
    }
}

/// Older brokers write it without a zone, which says nothing elsewhere.
fn moment(text: &str) -> Option<Timestamp> {
    let moment: jiff::Timestamp = text.parse().ok()?;
    Some(Timestamp::from_micros(moment.as_microsecond()))
}

/// A value of the type that is expected, else its default: an empty map comes as `[]` from Erlang, a word as null.
fn lenient<'de, D: Deserializer<'de>, T: DeserializeOwned + Default>(deserializer: D) -> Result<T, D::Error> {
    let value = serde_json::Value::deserialize(deserializer)?;
    Ok(serde_json::from_value(value).unwrap_or_default())
}
