//! From facts to what is wrong.

use std::{collections::BTreeMap, time::Duration};

use amqp_message::time::Timestamp;

use super::{Condition, ConditionKind, DatabaseTrouble, Facts, Failing};
use crate::domain::{
    broker::{BrokerHealth, ConnectionState},
    number::{plural, span},
};

/// A database that has not answered for so long does not answer.
pub const NO_ANSWER: Duration = Duration::from_secs(5);
/// So long each answer has to be slow.
const SLOW_FOR: Duration = Duration::from_secs(10);
/// So long a worker has to fail: what the first try after a failure repairs needs nobody.
const FAILS_FOR: Duration = Duration::from_secs(10);
/// Letters are enriched, and retries sent, within a second.
const LATE: Duration = Duration::from_secs(60);
/// So long a channel may fail.
const UNSENT: Duration = Duration::from_secs(60);
/// So long a notification may be due: a channel has a limit, and the others wait.
const UNSENT_DUE: Duration = Duration::from_secs(300);

/// What is wrong at `now` with a server that runs since `started_at`, the worst first.
pub fn conditions(facts: &Facts, brokers: &[BrokerHealth], started_at: Timestamp, now: Timestamp) -> Vec<Condition> {
    let picture = Picture { facts, now };
    let mut found: Vec<Condition> = picture.database().or_else(|| full(brokers)).into_iter().collect();
    let database_is_well = found.is_empty();
    for broker in brokers {
        found.extend(of_broker(broker, started_at));
    }
    found.extend(picture.channels());
    if database_is_well {
        // What was last read says nothing of now, and what fails without a database fails for that.
        found.extend(brokers.iter().filter_map(|broker| picture.late(broker)));
        found.extend(picture.not_enriched());
        found.extend(picture.notifications());
        found.extend(picture.slow());
        found.extend(picture.workers());
    }
    found.sort_by_key(|condition| condition.kind);
    found
}

struct Picture<'a> {
    facts: &'a Facts,
    now: Timestamp,
}

impl Picture<'_> {
    fn database(&self) -> Option<Condition> {
        let database = &self.facts.database;
        if let Some((trouble, failing)) = &database.trouble {
            return Some(condition(*trouble, "", failing.since, &failing.why));
        }
        let asked_at = database.asked_at.filter(|at| self.lasts(*at, NO_ANSWER))?;
        let why = format!("it has not answered for more than {}", span(NO_ANSWER));
        Some(condition(DatabaseTrouble::Unreachable, "", asked_at, &why))
    }

    /// Retries; without a connection they have to wait.
    fn late(&self, broker: &BrokerHealth) -> Option<Condition> {
        let (name, due) = self.facts.database.figures.first_due.iter().find(|(name, _)| *name == broker.name)?;
        let is_late = self.lasts(*due, LATE) && worst(&broker.consuming, &broker.publishing).is_none();
        let why = "the first one that is due is not sent";
        is_late.then(|| condition(ConditionKind::SchedulerLate, name, *due, why))
    }

    fn not_enriched(&self) -> Option<Condition> {
        let backlog = self.facts.database.figures.not_enriched;
        let since = backlog.oldest?.plus(LATE);
        let why = format!("{} not enriched", plural(backlog.letters, "dead letter"));
        (self.now >= since).then(|| condition(ConditionKind::NotEnriched, "", since, &why))
    }

    fn channels(&self) -> Vec<Condition> {
        let channels = self.facts.channels.iter();
        let failing = channels.filter(|(_, (failing, is_final))| *is_final || self.lasts(failing.since, UNSENT));
        let condition = |channel: &str, failing: &Failing| {
            condition(ConditionKind::NotificationsFailing, channel, failing.since, &failing.why)
        };
        failing.map(|(channel, (failing, _))| condition(channel.label(), failing)).collect()
    }

    /// What is due and nobody even tries to send.
    fn notifications(&self) -> Option<Condition> {
        let due = self.facts.database.figures.notification_due?;
        let why = "the first one that is due is not sent";
        self.lasts(due, UNSENT_DUE).then(|| condition(ConditionKind::NotificationsFailing, "", due, why))
    }

    fn slow(&self) -> Option<Condition> {
        let since = self.facts.database.slow_since.filter(|since| self.lasts(*since, SLOW_FOR))?;
        Some(condition(ConditionKind::DatabaseSlow, "", since, "each answer takes longer than a second"))
    }

    /// By name: of several that do the same, one that fails is enough.
    fn workers(&self) -> Vec<Condition> {
        let well_since = self.facts.database.well_since;
        let mut failing: BTreeMap<&str, &Failing> = BTreeMap::new();
        for worker in &self.facts.workers {
            let Some(found) = &worker.failing else { continue };
            let lasts = found.times > 1 && found.last.since(found.since) >= FAILS_FOR;
            // What it could not do while the database was away it has not tried again yet.
            if lasts && well_since.is_none_or(|well| found.last > well) {
                let first = failing.entry(worker.name).or_insert(found);
                *first = if found.since < first.since { found } else { first };
            }
        }
        let condition =
            |(name, found): (&str, &Failing)| condition(ConditionKind::WorkerFailing, name, found.since, &found.why);
        failing.into_iter().map(condition).collect()
    }

    fn lasts(&self, since: Timestamp, length: Duration) -> bool {
        self.now.since(since) >= length
    }
}

fn of_broker(broker: &BrokerHealth, started_at: Timestamp) -> impl Iterator<Item = Condition> {
    let name = broker.name.as_str();
    let connection = worst(&broker.consuming, &broker.publishing)
        .map(|(kind, since, why)| condition(kind, name, since.unwrap_or(started_at), why));
    let held = broker.holding.as_ref().map(|held| condition(ConditionKind::IntakeHeld, name, held.since, &held.why));
    [connection, held].into_iter().flatten()
}

/// What the probe writes may still find room where messages do not.
fn full(brokers: &[BrokerHealth]) -> Option<Condition> {
    let held = brokers.iter().filter_map(|broker| broker.holding.as_ref()).filter(|held| held.is_full);
    held.min_by_key(|held| held.since).map(|held| condition(DatabaseTrouble::Full, "", held.since, &held.why))
}

fn condition(kind: impl Into<ConditionKind>, subject: &str, since: Timestamp, why: &str) -> Condition {
    Condition { kind: kind.into(), subject: subject.to_owned(), since, why: why.to_owned() }
}

type Trouble<'a> = (ConditionKind, Option<Timestamp>, &'a str);

/// A broker that is gone, rather than one that is blocked.
fn worst<'a>(consuming: &'a ConnectionState, publishing: &'a ConnectionState) -> Option<Trouble<'a>> {
    let both = [trouble(consuming), trouble(publishing)];
    both.into_iter().flatten().min_by_key(|(kind, since, _)| (*kind, since.is_none()))
}

fn trouble(state: &ConnectionState) -> Option<Trouble<'_>> {
    let why = state.trouble()?;
    Some(match state {
        ConnectionState::Blocked { since, .. } => (ConditionKind::BrokerBlocked, Some(*since), why),
        ConnectionState::Refused { since, .. } => (ConditionKind::BrokerRefuses, Some(*since), why),
        ConnectionState::Lost { since, .. } => (ConditionKind::BrokerUnreachable, Some(*since), why),
        _ => (ConditionKind::BrokerUnreachable, None, why),
    })
}
