//! What is known of a server, kept in memory.

use std::collections::BTreeMap;

use amqp_message::time::Timestamp;

use super::DatabaseTrouble;
use crate::domain::notification::Channel;

/// Something that has failed and has not gone well since.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failing {
    pub since: Timestamp,
    /// When it failed last.
    pub last: Timestamp,
    /// Failures in a row.
    pub times: u32,
    pub why: String,
}

impl Failing {
    /// One more failure.
    pub fn again(before: Option<Self>, at: Timestamp, why: String) -> Self {
        let (since, times) = before.map_or((at, 0), |before| (before.since, before.times));
        Self { since, last: at, times: times.saturating_add(1), why }
    }
}

/// Letters that nobody has looked at yet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Backlog {
    /// How many; a bound where there are more, see `Store::not_enriched_backlog`.
    pub letters: u64,
    /// When the oldest of them was received; by a server, not before it first saw that any wait.
    pub oldest: Option<Timestamp>,
}

/// What the probe last read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    pub not_enriched: Backlog,
    /// Letters that searches do not find yet.
    pub not_indexed: u64,
    /// Brokers, and when their first retry is due that nobody has claimed.
    pub first_due: Vec<(String, Timestamp)>,
    /// When the first notification is due that nobody is sending.
    pub notification_due: Option<Timestamp>,
}

/// How the database answers the probe.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DatabaseFacts {
    /// When it was asked what it has not answered yet.
    pub asked_at: Option<Timestamp>,
    /// Its last answer, where that was none.
    pub trouble: Option<(DatabaseTrouble, Failing)>,
    /// When it was well again after its last trouble.
    pub well_since: Option<Timestamp>,
    /// Since when each answer named letters that nobody has looked at yet.
    pub not_enriched_since: Option<Timestamp>,
    /// Since when each answer took long.
    pub slow_since: Option<Timestamp>,
    /// What it last said; older than its trouble.
    pub figures: Figures,
}

/// One worker, or a part of one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WorkerFacts {
    pub name: &'static str,
    pub failing: Option<Failing>,
}

/// All that is known beside the state of brokers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    pub database: DatabaseFacts,
    pub workers: Vec<WorkerFacts>,
    /// Channels whose last attempt failed, and whether for good.
    pub channels: BTreeMap<Channel, (Failing, bool)>,
}
