//! The numbers for Prometheus. Every name stands here and nowhere else.

use std::sync::Arc;

use prometheus_client::{
    encoding::{EncodeLabelSet, text::encode},
    metrics::{counter::Counter, family::Family, gauge::Gauge},
    registry::Registry,
};

use crate::domain::{actor::Actor, broker::BrokerHealth, filter::FacetCount, letter::Importance, time::Timestamp};

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct QueueLabels {
    broker: String,
    queue: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RetryLabels {
    broker: String,
    queue: String,
    kind: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ExhaustedLabels {
    broker: String,
    queue: String,
    importance: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct LetterLabels {
    status: &'static str,
    importance: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ImportanceLabels {
    importance: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct BrokerLabels {
    broker: String,
}

/// Whether a policy sent a message back or a person did.
#[derive(Clone, Copy, Debug)]
pub enum RetryKind {
    Automatic,
    Manual,
}

impl From<&Actor> for RetryKind {
    fn from(by: &Actor) -> Self {
        if *by == Actor::office() { Self::Automatic } else { Self::Manual }
    }
}

/// Queues are named by messages, so there may be any number of them; those past this many share the label `other`.
const MAX_QUEUES: usize = 1_000;

#[derive(Clone)]
pub struct Metrics(Arc<Inner>);

struct Inner {
    registry: Registry,
    received: Family<QueueLabels, Counter>,
    redelivered: Family<BrokerLabels, Counter>,
    exhausted: Family<ExhaustedLabels, Counter>,
    retries: Family<RetryLabels, Counter>,
    retry_failures: Family<RetryLabels, Counter>,
    letters: Family<LetterLabels, Gauge>,
    oldest: Family<ImportanceLabels, Gauge>,
    connected: Family<BrokerLabels, Gauge>,
    queues: std::sync::Mutex<std::collections::HashSet<(String, String)>>,
}

impl Default for Metrics {
    fn default() -> Self {
        let mut registry = Registry::default();
        let mut inner = Inner {
            received: Family::default(),
            redelivered: Family::default(),
            exhausted: Family::default(),
            retries: Family::default(),
            retry_failures: Family::default(),
            letters: Family::default(),
            oldest: Family::default(),
            connected: Family::default(),
            queues: std::sync::Mutex::default(),
            registry: Registry::default(),
        };
        // The registry itself appends `_total` to counters.
        let r = &mut registry;
        r.register("dlo_letters_received", "Letters received, by the queue they failed in", inner.received.clone());
        r.register(
            "dlo_redelivered",
            "Messages delivered again that were in the ledger already",
            inner.redelivered.clone(),
        );
        r.register(
            "dlo_exhausted",
            "Messages whose automatic retries were used up, or that had none",
            inner.exhausted.clone(),
        );
        r.register("dlo_retries", "Messages sent back and confirmed, by target queue", inner.retries.clone());
        r.register(
            "dlo_retry_failures",
            "Retries the broker returned, refused or did not confirm in time",
            inner.retry_failures.clone(),
        );
        r.register("dlo_letters", "Letters in the ledger", inner.letters.clone());
        r.register("dlo_oldest_open_seconds", "Age of the oldest open letter", inner.oldest.clone());
        r.register("dlo_broker_connected", "1 while messages can be consumed and sent back", inner.connected.clone());
        inner.registry = registry;
        Self(Arc::new(inner))
    }
}

impl Metrics {
    pub fn letter_received(&self, broker: &str, queue: Option<&str>) {
        self.0.received.get_or_create(&self.queue_labels(broker, queue)).inc();
    }

    pub fn redelivered(&self, broker: &str) {
        self.0.redelivered.get_or_create(&BrokerLabels { broker: broker.to_owned() }).inc();
    }

    pub fn exhausted(&self, broker: &str, queue: Option<&str>, importance: Importance) {
        let QueueLabels { broker, queue } = self.queue_labels(broker, queue);
        self.0.exhausted.get_or_create(&ExhaustedLabels { broker, queue, importance: importance.as_str() }).inc();
    }

    pub fn retried(&self, broker: &str, queue: &str, by: RetryKind) {
        self.0.retries.get_or_create(&self.retry_labels(broker, queue, by)).inc();
    }

    pub fn retry_failed(&self, broker: &str, queue: &str, by: RetryKind) {
        self.0.retry_failures.get_or_create(&self.retry_labels(broker, queue, by)).inc();
    }

    /// Sets what is a state rather than an event; to be called before [`encode`](Self::encode).
    pub fn observe(
        &self,
        facets: &[FacetCount],
        oldest: &[(Importance, Timestamp)],
        brokers: &[BrokerHealth],
        now: Timestamp,
    ) {
        self.0.letters.clear();
        for facet in facets {
            let labels = LetterLabels { status: facet.status.as_str(), importance: facet.importance.as_str() };
            let count = i64::try_from(facet.count).unwrap_or(i64::MAX);
            self.0.letters.get_or_create(&labels).inc_by(count);
        }
        self.0.oldest.clear();
        for importance in Importance::ALL {
            let since = oldest.iter().find(|(i, _)| i == importance).map_or(now, |(_, since)| *since);
            let age = i64::try_from(now.since(since).as_secs()).unwrap_or(i64::MAX);
            self.0.oldest.get_or_create(&ImportanceLabels { importance: importance.as_str() }).set(age);
        }
        for broker in brokers {
            let connected = broker.consuming.trouble().is_none() && broker.publishing.trouble().is_none();
            let labels = BrokerLabels { broker: broker.name.clone() };
            self.0.connected.get_or_create(&labels).set(i64::from(connected));
        }
    }

    /// All numbers as text, in the OpenMetrics format (<https://prometheus.io/docs/specs/om/open_metrics_spec/>).
    pub fn encode(&self) -> String {
        let mut text = String::new();
        if let Err(error) = encode(&mut text, &self.0.registry) {
            tracing::error!(error = %error, "metrics cannot be written");
        }
        text
    }

    fn retry_labels(&self, broker: &str, queue: &str, by: RetryKind) -> RetryLabels {
        let QueueLabels { broker, queue } = self.queue_labels(broker, Some(queue));
        let kind = match by {
            RetryKind::Automatic => "automatic",
            RetryKind::Manual => "manual",
        };
        RetryLabels { broker, queue, kind }
    }

    fn queue_labels(&self, broker: &str, queue: Option<&str>) -> QueueLabels {
        let queue = queue.unwrap_or("unknown");
        let known = (broker.to_owned(), queue.to_owned());
        let mut queues = self.0.queues.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let within = queues.contains(&known) || queues.len() < MAX_QUEUES && queues.insert(known);
        QueueLabels { broker: broker.to_owned(), queue: if within { queue } else { "other" }.to_owned() }
    }
}
