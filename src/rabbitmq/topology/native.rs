//! Delayed retries of RabbitMQ 4.3 and later (<https://www.rabbitmq.com/docs/quorum-queues>).

use std::time::Duration;

use humantime::format_duration;
use serde_json::{Map, json};

use super::QueuePolicy;
use crate::{
    config::BrokerConfig,
    domain::policy::{Delays, Policy},
};

/// Delays that are shown, of those that there are.
const SHOWN: usize = 5;

impl QueuePolicy {
    /// A queue that waits and retries by itself, as well as it can in the way that `policy` says.
    ///
    /// What has used up its retries becomes an obituary, by way of the default exchange: dlo would begin to
    /// retry a dead letter anew, an obituary needs attention.
    pub(super) fn native(config: &BrokerConfig, queue: &str, policy: Option<&Policy>) -> Self {
        let Some((policy, backoff)) = policy.and_then(|policy| Some((policy, Backoff::of(&policy.delays)?))) else {
            let note = format!(
                "{queue:?}: no retries in the policy that is in force for it, so there is nothing to wait for; it just \
                 dead-letters."
            );
            return Self { note: Some(note), ..Self::dead_lettering(config, queue) };
        };
        let keys = [
            ("delayed-retry-type", json!("all")),
            ("delayed-retry-min", json!(backoff.min)),
            ("delayed-retry-max", json!(backoff.max)),
            ("delivery-limit", json!(backoff.retries)),
            ("dead-letter-exchange", json!("")),
            ("dead-letter-routing-key", json!(config.obituary_queue)),
        ];
        Self {
            queue: queue.to_owned(),
            // A classic queue would take the dead-lettering and leave out the retries.
            apply_to: "quorum_queues",
            keys: keys.into_iter().map(|(key, value)| (key.to_owned(), value)).collect::<Map<_, _>>(),
            note: Some(backoff.compared(queue, policy)),
        }
    }
}

/// What RabbitMQ can be told of delays: each is longer than the one before by the first, up to the largest.
struct Backoff {
    /// In milliseconds, at least 1, as `max`.
    min: u64,
    max: u64,
    retries: usize,
}

impl Backoff {
    /// `None` where nothing is retried.
    fn of(delays: &Delays) -> Option<Self> {
        let min = milliseconds(delays.after(1)?);
        let max = all(delays).map(milliseconds).max().unwrap_or(min);
        Some(Self { min, max, retries: delays.retries() })
    }

    fn delays(&self) -> impl Iterator<Item = Duration> {
        let nth = |n| Duration::from_millis(self.min.saturating_mul(n).min(self.max));
        (1..).map(nth).take(self.retries)
    }

    fn compared(&self, queue: &str, policy: &Policy) -> String {
        let wanted = list(all(&policy.delays));
        let glob = &policy.queues;
        if self.delays().eq(all(&policy.delays)) {
            return format!("{queue:?} waits {wanted}, as the policy for {glob:?} has it.");
        }
        let waits = list(self.delays());
        format!("{queue:?} waits {waits}, where the policy for {glob:?} has {wanted}: in RabbitMQ delays grow evenly.")
    }
}

fn all(delays: &Delays) -> impl Iterator<Item = Duration> {
    (1..).map_while(|failures| delays.after(failures))
}

fn milliseconds(delay: Duration) -> u64 {
    u64::try_from(delay.as_millis()).unwrap_or(u64::MAX).max(1)
}

fn list(delays: impl Iterator<Item = Duration>) -> String {
    let mut delays: Vec<_> = delays.map(|delay| format_duration(delay).to_string()).collect();
    if delays.len() > SHOWN {
        delays.splice(SHOWN - 1..delays.len() - 1, ["…".to_owned()]);
    }
    delays.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::policy::Via;

    fn native(delays: Delays) -> QueuePolicy {
        let queues = "orders*".to_owned();
        let policy = Policy { queues, reason: None, delays, jitter: 0.1, via: Via::Database, keep_routing_key: false };
        QueuePolicy::native(&BrokerConfig::default(), "orders", Some(&policy))
    }

    fn listed(seconds: &[u64]) -> Delays {
        Delays::Listed(seconds.iter().copied().map(Duration::from_secs).collect())
    }

    #[test]
    fn exhausted_ones_become_obituaries() {
        let policy = native(listed(&[10, 100, 1000]));
        let expected = json!({
            "delayed-retry-type": "all",
            "delayed-retry-min": 10_000,
            "delayed-retry-max": 1_000_000,
            "delivery-limit": 3,
            "dead-letter-exchange": "",
            "dead-letter-routing-key": "dlo.obituaries",
        });
        assert_eq!((json!(policy.keys), policy.apply_to), (expected, "quorum_queues"));
    }

    #[test]
    fn what_differs_is_reported() {
        fn check(delays: Delays, parts: &[&str]) {
            let note = native(delays).note.unwrap();
            assert!(parts.iter().all(|part| note.contains(part)), "{note}");
        }
        check(listed(&[10, 100, 1000]), &["waits 10s, 20s, 30s,", "\"orders*\" has 10s, 1m 40s, 16m 40s", "evenly"]);
        check(listed(&[10, 20, 20]), &["waits 10s, 20s, 20s, as the policy"]);
        let seconds = Duration::from_secs;
        let growing = Delays::Growing { initial: seconds(1), factor: 2.0, max: seconds(8), attempts: 20 };
        check(growing, &["waits 1s, 2s, 3s, 4s, …, 8s, where", "has 1s, 2s, 4s, 8s, …, 8s"]);
    }

    #[test]
    fn rabbitmq_takes_no_delay_of_nothing() {
        let policy = native(listed(&[0, 0]));
        assert_eq!([&policy.keys["delayed-retry-min"], &policy.keys["delayed-retry-max"]], [1, 1]);
    }

    #[test]
    fn without_retries_there_is_nothing_to_wait_for() {
        let nobody = QueuePolicy::native(&BrokerConfig::default(), "orders", None);
        for policy in [native(listed(&[])), nobody] {
            assert_eq!((json!(policy.keys), policy.apply_to), (json!({"dead-letter-exchange": "dlx"}), "queues"));
            assert!(policy.note.unwrap().contains("no retries"));
        }
    }
}
