//! What RabbitMQ needs to dead-letter queues to dlo, as definitions and as commands. Pure: nothing is reached.

mod native;
mod pattern;
pub(crate) mod shell;
mod terraform;
mod text;

use lapin::uri::AMQPUri;
use serde_json::{Map, Value, json};

use crate::{
    config::{BrokerConfig, QueueType},
    domain::policy::Policy,
};

/// How often a quorum queue of ours may deliver a message before it gives it up: practically without end.
///
/// RabbitMQ 4 drops a message after 20 returns by default, and a lost connection counts as one; a message must survive
/// any number of our restarts (<https://www.rabbitmq.com/docs/quorum-queues#poison-message-handling>). RabbitMQ 3
/// knows no word for "never", so it is a large number.
pub const DELIVERY_LIMIT: i32 = 1_000_000_000;

/// Above the 0 that policies have unless told: of two that are equal RabbitMQ takes any.
const PRIORITY: u32 = 10;

/// The longest name in AMQP, in bytes.
const LONGEST: usize = 255;

/// The exchange, the queues and the binding of dlo in one virtual host, and policies for the queues of others.
pub struct Topology<'a> {
    config: &'a BrokerConfig,
    vhost: String,
    policies: Vec<QueuePolicy>,
    /// Whether RabbitMQ is to wait before retries by itself.
    native: bool,
}

/// A policy of RabbitMQ for one queue.
struct QueuePolicy {
    queue: String,
    /// The queues it can be for.
    apply_to: &'static str,
    keys: Map<String, Value>,
    /// What users should know of it.
    note: Option<String>,
}

impl<'a> Topology<'a> {
    /// Brings the dead letters of `queues` to where dlo looks for them, and its own policies rule them.
    ///
    /// # Errors
    /// Names the queue that cannot be one.
    pub fn dead_lettering(config: &'a BrokerConfig, queues: &[String]) -> Result<Self, String> {
        Self::of(config, queues, false, |queue| QueuePolicy::dead_lettering(config, queue))
    }

    /// Has RabbitMQ wait and retry as well as it can in the way that `policy` says for a queue.
    ///
    /// # Errors
    /// Names the queue that cannot be one.
    pub fn native<'p>(
        config: &'a BrokerConfig,
        queues: &[String],
        policy: impl Fn(&str) -> Option<&'p Policy>,
    ) -> Result<Self, String> {
        Self::of(config, queues, true, |queue| QueuePolicy::native(config, queue, policy(queue)))
    }

    fn of(
        config: &'a BrokerConfig,
        queues: &[String],
        native: bool,
        policy: impl Fn(&str) -> QueuePolicy,
    ) -> Result<Self, String> {
        let mut policies: Vec<QueuePolicy> = Vec::with_capacity(queues.len());
        for queue in queues {
            check(config, queue)?;
            if policies.iter().all(|other| other.queue != *queue) {
                policies.push(policy(queue));
            }
        }
        Ok(Self { config, vhost: vhost(config), policies, native })
    }

    /// For `rabbitmqctl import_definitions` and for the management API's `POST /api/definitions/VHOST`.
    pub fn definitions(&self) -> Value {
        let config = self.config;
        json!({
            "exchanges": [{
                "name": config.dead_letter_exchange,
                "vhost": self.vhost,
                "type": "fanout",
                "durable": true,
                "auto_delete": false,
                "internal": false,
                "arguments": {},
            }],
            "queues": [self.queue(&config.dead_letter_queue), self.queue(&config.obituary_queue)],
            "bindings": [{
                "source": config.dead_letter_exchange,
                "vhost": self.vhost,
                "destination": config.dead_letter_queue,
                "destination_type": "queue",
                "routing_key": "",
                "arguments": {},
            }],
            "policies": self.policies.iter().map(|policy| self.policy(policy)).collect::<Vec<_>>(),
        })
    }

    /// What users should know of single queues.
    pub fn notes(&self) -> impl Iterator<Item = &str> {
        self.policies.iter().filter_map(|policy| policy.note.as_deref())
    }

    fn queue(&self, name: &str) -> Value {
        json!({
            "name": name,
            "vhost": self.vhost,
            "durable": true,
            "auto_delete": false,
            "arguments": queue_arguments(self.config.queue_type),
        })
    }

    fn policy(&self, policy: &QueuePolicy) -> Value {
        json!({
            "vhost": self.vhost,
            "name": policy.name(),
            "pattern": pattern::exactly(&policy.queue),
            "apply-to": policy.apply_to,
            "definition": policy.keys,
            "priority": PRIORITY,
        })
    }
}

impl QueuePolicy {
    fn dead_lettering(config: &BrokerConfig, queue: &str) -> Self {
        let keys = Map::from_iter([("dead-letter-exchange".to_owned(), json!(config.dead_letter_exchange))]);
        Self { queue: queue.to_owned(), apply_to: "queues", keys, note: None }
    }

    fn name(&self) -> String {
        format!("dlo-{}", self.queue)
    }
}

fn queue_arguments(queue_type: QueueType) -> Value {
    match queue_type {
        QueueType::Quorum => json!({"x-queue-type": queue_type.as_str(), "x-delivery-limit": DELIVERY_LIMIT}),
        QueueType::Classic => json!({"x-queue-type": queue_type.as_str()}),
    }
}

/// The virtual host of a broker, as its address names it.
pub fn vhost(config: &BrokerConfig) -> String {
    config.url.reveal().parse().map_or_else(|_| "/".to_owned(), |uri: AMQPUri| uri.vhost)
}

/// RabbitMQ leaves line breaks out of the names that clients declare; so none is the name of a queue, and each name
/// stays on its line of a comment.
fn check(config: &BrokerConfig, queue: &str) -> Result<(), String> {
    if queue.is_empty() || queue.len() > LONGEST || queue.contains(['\r', '\n', '\0']) {
        return Err(format!("{queue:?} is no name of a queue; it takes 1 to {LONGEST} bytes on one line"));
    }
    if [&config.dead_letter_queue, &config.obituary_queue].contains(&&queue.to_owned()) {
        return Err(format!("{queue:?} is one of dlo's own queues, which cannot dead-letter to itself"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::values::Secret;

    fn config(url: &str) -> BrokerConfig {
        BrokerConfig { url: Secret::new(url), ..BrokerConfig::default() }
    }

    fn names(queues: &[&str]) -> Vec<String> {
        queues.iter().map(|&queue| queue.to_owned()).collect()
    }

    #[test]
    fn each_queue_has_one_policy() {
        let config = config("amqp://h/a%2fb");
        let topology = Topology::dead_lettering(&config, &names(&["orders", "a.b", "orders"])).unwrap();
        let definitions = topology.definitions();
        let policies: Vec<_> = definitions["policies"].as_array().unwrap().iter().map(|p| p["name"].as_str()).collect();
        assert_eq!(policies, [Some("dlo-orders"), Some("dlo-a.b")]);
        let expected = json!({
            "vhost": "a/b",
            "name": "dlo-a.b",
            "pattern": "^a\\.b\\z",
            "apply-to": "queues",
            "definition": {"dead-letter-exchange": "dlx"},
            "priority": 10,
        });
        assert_eq!(definitions["policies"][1], expected);
        assert_eq!(topology.notes().count(), 0);
    }

    #[test]
    fn the_virtual_host_is_the_one_of_the_url() {
        for (url, expected) in [("amqp://h", "/"), ("amqp://h/%2f", "/"), ("amqp://h/%C3%B6%20l", "ö l")] {
            assert_eq!(vhost(&config(url)), expected, "{url}");
        }
    }

    #[test]
    fn the_queues_are_of_the_type_in_the_configuration() {
        let quorum = config("amqp://h");
        let classic = BrokerConfig { queue_type: QueueType::Classic, ..quorum.clone() };
        let arguments = |config| {
            Topology::dead_lettering(config, &[]).unwrap().definitions()["queues"].as_array().unwrap()[1]["arguments"]
                .clone()
        };
        assert_eq!(arguments(&quorum), json!({"x-queue-type": "quorum", "x-delivery-limit": 1_000_000_000}));
        assert_eq!(arguments(&classic), json!({"x-queue-type": "classic"}));
    }

    #[test]
    fn what_can_be_no_queue_of_others_is_refused() {
        let config = config("amqp://h");
        let long = "q".repeat(256);
        for queue in ["", "a\nb", "a\r", &long, "dlo.dead-letters", "dlo.obituaries"] {
            assert!(Topology::dead_lettering(&config, &names(&["orders", queue])).is_err(), "{queue:?}");
        }
    }
}
