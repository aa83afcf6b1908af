//! States: what holds now, whatever happened in this process.

use std::time::Duration;

use amqp_message::time::Timestamp;
use prometheus_client::metrics::{family::Family, gauge::Gauge};

use super::{
    MAX_QUEUES,
    catalogue::Families,
    labels::{BrokerLabels, ConditionLabels, DigestLabels, ImportanceLabels, LetterLabels, OTHER, QueueLabels, short},
};
use crate::domain::{
    broker::BrokerHealth,
    filter::FacetCount,
    health::{Backlog, Condition, ConditionKind},
    letter::Importance,
};

/// There is one digest for each schedule of the configuration; more than this many is a mistake of ours.
const MAX_DIGESTS: usize = 100;

/// What holds at one point in time.
#[derive(Clone, Copy, Debug)]
pub struct Observation<'a> {
    pub now: Timestamp,
    /// How this process stands with each broker.
    pub brokers: &'a [BrokerHealth],
    pub health: HealthObservation<'a>,
    /// `None` while the database cannot be read. Its numbers are left out then: old ones would look like new ones.
    pub database: Option<DatabaseObservation<'a>>,
}

/// What is known of this server without asking the database.
#[derive(Clone, Copy, Debug, Default)]
pub struct HealthObservation<'a> {
    pub conditions: &'a [Condition],
    /// Letters that are not enriched yet; `None` while the database does not say.
    pub not_enriched: Option<Backlog>,
    /// Letters that searches do not find yet.
    pub not_indexed: Option<u64>,
    /// Brokers, and when their first retry that nobody has claimed was or will be due, as far as it was last known.
    pub first_due: &'a [(String, Timestamp)],
}

/// What the database says.
#[derive(Clone, Copy, Debug, Default)]
pub struct DatabaseObservation<'a> {
    pub facets: &'a [FacetCount],
    /// When the oldest open letter was received; an importance without open letters is left out.
    pub oldest_open: &'a [(Importance, Timestamp)],
    /// Groups with at least one open letter.
    pub groups_open: u64,
    /// Incidents that were notified and are not resolved; an importance without any may be left out.
    pub open_incidents: &'a [(Importance, u64)],
    /// Broker and name of the queues users were notified of, and have consumers as little now as then.
    pub queues_without_consumers: &'a [(String, String)],
    /// Notifications in the outbox that are neither delivered nor refused.
    pub notifications_waiting: u64,
    /// When the oldest of these was written.
    pub oldest_notification: Option<Timestamp>,
    /// Digests by name, and when each was last sent, or had nothing to say; one that never did is left out.
    pub digests_sent: &'a [(String, Timestamp)],
}

impl Families {
    pub fn observe(&self, seen: &Observation<'_>) {
        self.connected.clear();
        for broker in seen.brokers {
            let is_connected = broker.consuming.trouble().is_none() && broker.publishing.trouble().is_none();
            self.connected.get_or_create(&BrokerLabels::of(&broker.name)).set(i64::from(is_connected));
        }
        self.observe_health(seen);
        self.observe_search(seen);
        self.forget_database();
        if let Some(database) = &seen.database {
            self.observe_letters(database, seen.now);
            self.observe_consumers(database);
            self.observe_notifications(database, seen.now);
        }
    }

    fn forget_database(&self) {
        self.letters.clear();
        self.oldest_open.clear();
        self.groups_open.clear();
        self.open_incidents.clear();
        self.without_consumers.clear();
        self.notifications_waiting.clear();
        self.oldest_notification.clear();
        self.digest_last_sent.clear();
    }

    fn observe_letters(&self, database: &DatabaseObservation<'_>, now: Timestamp) {
        for facet in database.facets {
            let labels = LetterLabels { status: facet.status.as_str(), importance: facet.importance.as_str() };
            self.letters.get_or_create(&labels).inc_by(count(facet.count));
        }
        for importance in Importance::ALL {
            let since = database.oldest_open.iter().find(|(i, _)| i == importance).map_or(now, |(_, since)| *since);
            set_for(&self.oldest_open, *importance, seconds(now.since(since)));
            let open = database.open_incidents.iter().find(|(i, _)| i == importance).map_or(0, |(_, open)| *open);
            set_for(&self.open_incidents, *importance, count(open));
        }
        self.groups_open.set(count(database.groups_open));
    }

    fn observe_health(&self, seen: &Observation<'_>) {
        for broker in seen.brokers {
            let labels = BrokerLabels::of(&broker.name);
            let held = broker.holding.as_ref().map_or(Duration::ZERO, |holding| seen.now.since(holding.since));
            self.intake_held.get_or_create(&labels).set(seconds(held));
            let due = seen.health.first_due.iter().find(|(name, _)| *name == broker.name);
            let late = due.map_or(Duration::ZERO, |(_, due)| seen.now.since(*due));
            self.scheduler_late.get_or_create(&labels).set(seconds(late));
        }
        for kind in ConditionKind::ALL {
            let holds = seen.health.conditions.iter().any(|condition| condition.kind == *kind);
            self.conditions.get_or_create(&ConditionLabels { condition: kind.as_str() }).set(i64::from(holds));
        }
        match seen.health.not_enriched {
            Some(Backlog { letters, oldest }) => {
                self.not_enriched.set(count(letters));
                self.oldest_not_enriched.set(oldest.map_or(0, |oldest| seconds(seen.now.since(oldest))));
            }
            None => {
                self.not_enriched.clear();
                self.oldest_not_enriched.clear();
            }
        }
    }

    fn observe_search(&self, seen: &Observation<'_>) {
        match seen.health.not_indexed {
            Some(letters) => self.not_indexed.set(count(letters)),
            None => self.not_indexed.clear(),
        }
    }

    fn observe_consumers(&self, database: &DatabaseObservation<'_>) {
        for (place, (broker, queue)) in database.queues_without_consumers.iter().enumerate() {
            let queue = if place < MAX_QUEUES { queue } else { OTHER };
            self.without_consumers.get_or_create(&QueueLabels::of(broker, queue)).set(1);
        }
    }

    fn observe_notifications(&self, database: &DatabaseObservation<'_>, now: Timestamp) {
        self.notifications_waiting.set(count(database.notifications_waiting));
        self.oldest_notification.set(database.oldest_notification.map_or(0, |since| seconds(now.since(since))));
        for (digest, at) in database.digests_sent.iter().take(MAX_DIGESTS) {
            let labels = DigestLabels { digest: short(digest).to_owned() };
            self.digest_last_sent.get_or_create(&labels).set(at.as_micros().div_euclid(1_000_000));
        }
    }
}

fn set_for(gauge: &Family<ImportanceLabels, Gauge>, importance: Importance, value: i64) {
    gauge.get_or_create(&ImportanceLabels { importance: importance.as_str() }).set(value);
}

fn count(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

fn seconds(duration: Duration) -> i64 {
    count(duration.as_secs())
}
