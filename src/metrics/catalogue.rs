//! The names of the numbers, and what each of them means.

use std::{fmt::Debug, hash::Hash};

use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{counter::Counter, family::Family, gauge::Gauge},
    registry::{Metric, Registry},
};

use super::{
    labels::{
        BrokerLabels, ConditionLabels, DigestLabels, ExhaustedLabels, ImportanceLabels, LetterLabels,
        NotificationLabels, QueueLabels, RetryLabels, RuleLabels,
    },
    single::Single,
};

#[derive(Default)]
pub(super) struct Families {
    pub received: Family<QueueLabels, Counter>,
    pub redelivered: Family<BrokerLabels, Counter>,
    pub exhausted: Family<ExhaustedLabels, Counter>,
    pub retries: Family<RetryLabels, Counter>,
    pub retry_failures: Family<RetryLabels, Counter>,
    pub retry_stops: Family<QueueLabels, Counter>,
    pub notifications: Family<NotificationLabels, Counter>,
    pub rule_failures: Family<RuleLabels, Counter>,
    pub connected: Family<BrokerLabels, Gauge>,
    pub letters: Family<LetterLabels, Gauge>,
    pub oldest_open: Family<ImportanceLabels, Gauge>,
    pub groups_open: Single,
    pub open_incidents: Family<ImportanceLabels, Gauge>,
    pub scheduler_late: Family<BrokerLabels, Gauge>,
    pub intake_held: Family<BrokerLabels, Gauge>,
    pub not_enriched: Single,
    pub oldest_not_enriched: Single,
    pub not_indexed: Single,
    pub conditions: Family<ConditionLabels, Gauge>,
    pub without_consumers: Family<QueueLabels, Gauge>,
    pub notifications_waiting: Single,
    pub oldest_notification: Single,
    pub digest_last_sent: Family<DigestLabels, Gauge>,
}

impl Families {
    /// A registry of all families, and the names of their samples.
    pub fn register(&self) -> (Registry, Vec<String>) {
        let mut catalogue = Catalogue::default();
        self.register_events(&mut catalogue);
        self.register_states(&mut catalogue);
        self.register_health(&mut catalogue);
        (catalogue.registry, catalogue.names)
    }

    fn register_events(&self, c: &mut Catalogue) {
        c.counter(
            "dlo_letters_received",
            "Dead letters received, also those that wait for an automatic retry, by the queue they failed in",
            &self.received,
        );
        c.counter("dlo_redelivered", "Messages delivered again that were in the database already", &self.redelivered);
        c.counter(
            "dlo_exhausted",
            "Messages that needed attention: automatic retries were used up, or there were none",
            &self.exhausted,
        );
        c.counter("dlo_retries", "Messages sent back and confirmed, by target queue", &self.retries);
        c.counter(
            "dlo_retry_failures",
            "Retries that RabbitMQ did not take, or that were not sent, such as to a queue that is not allowed",
            &self.retry_failures,
        );
        c.counter(
            "dlo_retry_stops",
            "Messages not retried because their content was sent back as often as their policy allows, as other messages",
            &self.retry_stops,
        );
        c.counter("dlo_notifications", "Attempts to deliver a notification, by outcome", &self.notifications);
        c.counter("dlo_rule_failures", "Dead letters on which a rule failed", &self.rule_failures);
    }

    fn register_states(&self, c: &mut Catalogue) {
        c.gauge("dlo_broker_connected", "1 while messages can be consumed and sent back", &self.connected);
        c.gauge("dlo_letters", "Letters in the database", &self.letters);
        c.gauge("dlo_oldest_open_seconds", "Age of the oldest open dead letter, 0 without one", &self.oldest_open);
        c.gauge("dlo_groups_open", "Error groups that need attention", &self.groups_open);
        c.gauge("dlo_open_incidents", "Incidents that were notified and are not over", &self.open_incidents);
        c.gauge(
            "dlo_queue_without_consumers",
            "1 for a queue that lost its consumers for longer than no_consumers_for",
            &self.without_consumers,
        );
        c.gauge("dlo_notifications_waiting", "Notifications not delivered yet", &self.notifications_waiting);
        c.gauge(
            "dlo_oldest_notification_seconds",
            "Age of the oldest notification not delivered yet, 0 without one",
            &self.oldest_notification,
        );
        c.gauge(
            "dlo_digest_last_sent_timestamp_seconds",
            "When a digest was last sent, or found to have nothing to say, in Unix time",
            &self.digest_last_sent,
        );
    }

    fn register_health(&self, c: &mut Catalogue) {
        c.gauge("dlo_condition", "1 while something is wrong with the server, by what it is", &self.conditions);
        c.gauge(
            "dlo_intake_held_seconds",
            "How long deliveries have been held and not stored, 0 while they are stored",
            &self.intake_held,
        );
        c.gauge("dlo_not_enriched", "Letters not enriched yet, of which 10000 are counted at most", &self.not_enriched);
        c.gauge(
            "dlo_oldest_not_enriched_seconds",
            "How long the oldest letter has waited to be enriched, 0 without one",
            &self.oldest_not_enriched,
        );
        c.gauge(
            "dlo_not_indexed",
            "Letters that searches do not find yet, of which 1000000 are counted at most",
            &self.not_indexed,
        );
        c.gauge(
            "dlo_scheduler_late_seconds",
            "How long the first retry that is due has not been sent, 0 without one",
            &self.scheduler_late,
        );
    }
}

#[derive(Default)]
struct Catalogue {
    registry: Registry,
    names: Vec<String>,
}

impl Catalogue {
    /// The registry itself appends `_total` to the names of samples.
    fn counter<L: Labels>(&mut self, name: &'static str, help: &'static str, family: &Family<L, Counter>) {
        self.registry.register(name, help, family.clone());
        self.names.push(format!("{name}_total"));
    }

    fn gauge(&mut self, name: &'static str, help: &'static str, gauge: &(impl Metric + Clone)) {
        self.registry.register(name, help, gauge.clone());
        self.names.push(name.to_owned());
    }
}

/// What the registry asks of labels.
trait Labels: Clone + Debug + Eq + Hash + EncodeLabelSet + Send + Sync + 'static {}

impl<T: Clone + Debug + Eq + Hash + EncodeLabelSet + Send + Sync + 'static> Labels for T {}
