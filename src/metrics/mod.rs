//! The numbers for Prometheus. Every name stands in `catalogue.rs` and nowhere else.
//!
//! What happened in this process is counted where it happens. What is a state of the database is handed in before each
//! scrape ([`Metrics::observe`]); all processes that share a database tell the same of it, so who reads these numbers
//! adds counters up but takes the `max` (or `min`) of gauges.

mod catalogue;
mod labels;
mod observation;
mod single;

#[cfg(test)]
mod tests;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use prometheus_client::{encoding::text::encode, registry::Registry};

use catalogue::Families;
use labels::{
    BrokerLabels, Distinct, ExhaustedLabels, NotificationLabels, QueueLabels, RetryLabels, RuleLabels, short,
};

use crate::domain::{letter::Importance, notification::Channel};

pub use labels::{NotificationOutcome, RetryKind};
pub use observation::{DatabaseObservation, HealthObservation, Observation};

/// Queues are named by messages, so there may be any number of them; those past this many share the label `other`.
const MAX_QUEUES: usize = 1_000;

/// Rules are named by people, who may rename them for ever; those past this many share the label `other`.
const MAX_RULES: usize = 200;

#[derive(Clone)]
pub struct Metrics(Arc<Inner>);

struct Inner {
    registry: Registry,
    names: Vec<String>,
    families: Families,
    /// Brokers' queues that have a label of their own.
    queues: Distinct<(String, String)>,
    /// Rules that have a label of their own.
    rules: Distinct<String>,
    /// Held while states are set and while they are written, so that no scrape meets the half of another's.
    states: Mutex<()>,
}

impl Default for Metrics {
    fn default() -> Self {
        let families = Families::default();
        let (registry, names) = families.register();
        let metrics = Self(Arc::new(Inner {
            registry,
            names,
            families,
            queues: Distinct::up_to(MAX_QUEUES),
            rules: Distinct::up_to(MAX_RULES),
            states: Mutex::default(),
        }));
        metrics.begin_notifications_at_zero();
        metrics
    }
}

impl Metrics {
    pub fn letter_received(&self, broker: &str, queue: Option<&str>) {
        self.0.families.received.get_or_create(&self.queue_labels(broker, queue)).inc();
    }

    pub fn retry_stopped(&self, broker: &str, queue: Option<&str>) {
        self.0.families.retry_stops.get_or_create(&self.queue_labels(broker, queue)).inc();
    }

    pub fn redelivered(&self, broker: &str) {
        self.0.families.redelivered.get_or_create(&BrokerLabels::of(broker)).inc();
    }

    pub fn exhausted(&self, broker: &str, queue: Option<&str>, importance: Importance) {
        let QueueLabels { broker, queue } = self.queue_labels(broker, queue);
        let labels = ExhaustedLabels { broker, queue, importance: importance.as_str() };
        self.0.families.exhausted.get_or_create(&labels).inc();
    }

    pub fn retried(&self, broker: &str, queue: &str, by: RetryKind) {
        self.0.families.retries.get_or_create(&self.retry_labels(broker, queue, by)).inc();
    }

    pub fn retry_failed(&self, broker: &str, queue: &str, by: RetryKind) {
        self.0.families.retry_failures.get_or_create(&self.retry_labels(broker, queue, by)).inc();
    }

    /// The result of one attempt to notify somebody.
    pub fn notification(&self, channel: Channel, outcome: NotificationOutcome) {
        self.0.families.notifications.get_or_create(&NotificationLabels::of(channel, outcome)).inc();
    }

    /// A rule of importance could not be tried on a letter.
    pub fn rule_failed(&self, rule: &str) {
        let rule = short(rule);
        let rule = if self.0.rules.include(rule.to_owned()) { rule } else { labels::OTHER };
        self.0.families.rule_failures.get_or_create(&RuleLabels { rule: rule.to_owned() }).inc();
    }

    /// Sets what is a state rather than an event; to be called before [`encode`](Self::encode).
    pub fn observe(&self, seen: &Observation<'_>) {
        let _alone = self.states_alone();
        self.0.families.observe(seen);
    }

    /// All numbers as text, in the OpenMetrics format (<https://prometheus.io/docs/specs/om/open_metrics_spec/>).
    /// Families without a sample are left out.
    pub fn encode(&self) -> String {
        let _alone = self.states_alone();
        let mut text = String::new();
        if let Err(error) = encode(&mut text, &self.0.registry) {
            tracing::error!(error = %error, "metrics cannot be written");
        }
        text
    }

    /// The names of all samples that there can be, whether there are any yet or not.
    pub fn names(&self) -> &[String] {
        &self.0.names
    }

    /// An increase shows only against a number that was there before: without this nobody could alert on the first
    /// notification that is refused. The other counters have labels that are not known beforehand.
    fn begin_notifications_at_zero(&self) {
        for channel in Channel::ALL {
            for outcome in NotificationOutcome::ALL {
                drop(self.0.families.notifications.get_or_create(&NotificationLabels::of(*channel, *outcome)));
            }
        }
    }

    fn states_alone(&self) -> MutexGuard<'_, ()> {
        self.0.states.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn retry_labels(&self, broker: &str, queue: &str, by: RetryKind) -> RetryLabels {
        let QueueLabels { broker, queue } = self.queue_labels(broker, Some(queue));
        RetryLabels { broker, queue, kind: by.as_str() }
    }

    fn queue_labels(&self, broker: &str, queue: Option<&str>) -> QueueLabels {
        let labels = QueueLabels::of(broker, queue.unwrap_or("unknown"));
        let is_known = self.0.queues.include((labels.broker.clone(), labels.queue.clone()));
        if is_known { labels } else { QueueLabels { queue: labels::OTHER.to_owned(), ..labels } }
    }
}
