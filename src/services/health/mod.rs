//! How this server is: what its workers, brokers and database report, kept in memory, so that `/readyz` and the pages can
//! say it also while the database hangs.

mod probe;
mod watch;
mod workers;

use std::{
    collections::BTreeMap,
    hash::{DefaultHasher, Hash, Hasher},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use amqp_message::time::Timestamp;
use tokio::sync::watch::{Receiver, Sender};

pub use probe::Probe;
pub use watch::HealthWatch;
pub use workers::{WorkerBoard, WorkerReport};

use crate::{
    clock::Clock,
    domain::{
        health::{Backlog, Condition, DatabaseFacts, DatabaseTrouble, Facts, Failing, Figures, NO_ANSWER, conditions},
        notification::{Attempt, Channel},
    },
    rabbitmq::health::BrokerBoard,
    store::StoreError,
};

/// An answer of the database that takes longer is slow.
const SLOW: Duration = Duration::from_secs(1);

/// The health of this server; cheap to clone.
#[derive(Clone)]
pub struct Health(Arc<Inner>);

struct Inner {
    brokers: BrokerBoard,
    workers: WorkerBoard,
    clock: Clock,
    started_at: Timestamp,
    database: Mutex<DatabaseFacts>,
    channels: Mutex<BTreeMap<Channel, (Failing, bool)>>,
    /// Stands for the conditions that were seen last.
    seen: Sender<u64>,
}

impl Health {
    pub fn new(brokers: BrokerBoard, workers: WorkerBoard, clock: Clock) -> Self {
        Self(Arc::new(Inner {
            brokers,
            workers,
            started_at: clock.now(),
            clock,
            database: Mutex::default(),
            channels: Mutex::default(),
            seen: Sender::new(fingerprint(&[])),
        }))
    }

    /// What is wrong now, the worst first.
    pub fn conditions(&self) -> Vec<Condition> {
        let Inner { brokers, workers, clock, started_at, .. } = &*self.0;
        let facts = Facts {
            database: self.database().clone(),
            workers: workers.all(),
            channels: lock(&self.0.channels).clone(),
        };
        conditions(&facts, &brokers.all(), *started_at, clock.now())
    }

    /// What the database last said; `None` while it does not answer.
    pub fn figures(&self) -> Option<Figures> {
        let (database, now) = (self.database(), self.0.clock.now());
        let hangs = database.asked_at.is_some_and(|at| now.since(at) >= NO_ANSWER);
        (database.trouble.is_none() && !hangs).then(|| database.figures.clone())
    }

    /// Whether the database is known not to answer.
    pub fn is_database_away(&self) -> bool {
        let (database, now) = (self.database(), self.0.clock.now());
        let hangs = database.asked_at.is_some_and(|at| now.since(at) >= NO_ANSWER);
        let is_unreachable = |(trouble, _): &(DatabaseTrouble, Failing)| *trouble == DatabaseTrouble::Unreachable;
        hangs || database.trouble.as_ref().is_some_and(is_unreachable)
    }

    /// Brokers, and when the first retry to each is due, as far as it was last known.
    pub fn first_due(&self) -> Vec<(String, Timestamp)> {
        self.database().figures.first_due.clone()
    }

    /// Changes with the conditions, a moment after them; see [`fingerprint`].
    pub fn changes(&self) -> Receiver<u64> {
        self.0.seen.subscribe()
    }

    /// The result of an attempt to deliver a notification.
    pub fn notified(&self, channel: Channel, attempt: &Attempt) {
        let mut channels = lock(&self.0.channels);
        let (why, is_final) = match attempt {
            Attempt::Delivered => {
                channels.remove(&channel);
                return;
            }
            Attempt::Later(_, why) => (why, false),
            Attempt::Refused(why) => (why, true),
        };
        let before = channels.remove(&channel);
        let was_final = before.as_ref().is_some_and(|(_, was_final)| *was_final);
        let failing = Failing::again(before.map(|(failing, _)| failing), self.0.clock.now(), why.clone());
        channels.insert(channel, (failing, is_final || was_final));
    }

    /// Whether an attempt to deliver has failed, and none to the same channel has succeeded since.
    pub fn has_failing_channels(&self) -> bool {
        !lock(&self.0.channels).is_empty()
    }

    /// Ends what is said of channels of which `is_over` says so, given when each failed last.
    pub fn end_failures(&self, is_over: impl Fn(Channel, Timestamp) -> bool) {
        lock(&self.0.channels).retain(|channel, (failing, _)| !is_over(*channel, failing.last));
    }

    /// The database is about to be asked something.
    fn asks(&self) {
        self.database().asked_at = Some(self.0.clock.now());
    }

    /// It has answered with that, after so long.
    fn answered(&self, mut figures: Figures, after: Duration) {
        let (mut database, now) = (self.database(), self.0.clock.now());
        database.asked_at = None;
        let Backlog { letters, oldest } = &mut figures.not_enriched;
        database.not_enriched_since = (*letters > 0).then(|| database.not_enriched_since.unwrap_or(now));
        // What is to be looked at anew, or is a copy of another, came in long ago and may have waited for a moment.
        *oldest = (*oldest).max(database.not_enriched_since);
        database.figures = figures;
        database.slow_since = (after >= SLOW).then(|| database.slow_since.unwrap_or(now));
    }

    /// It answers, and can be written.
    fn is_well(&self) {
        let (mut database, now) = (self.database(), self.0.clock.now());
        database.asked_at = None;
        if database.trouble.take().is_some() {
            database.well_since = Some(now);
        }
    }

    /// It has answered with an error, or not at all.
    fn failed(&self, error: &StoreError) {
        let (mut database, now) = (self.database(), self.0.clock.now());
        let asked_at = database.asked_at.take().unwrap_or(now);
        let kind = error.trouble();
        let before = database.trouble.take().filter(|(before, _)| *before == kind).map(|(_, failing)| failing);
        // It began when nothing was answered, not when that was given up.
        let failing = match Failing::again(before, now, error.to_string()) {
            first if first.times == 1 => Failing { since: asked_at, ..first },
            again => again,
        };
        database.trouble = Some((kind, failing));
    }

    /// Somebody has found out that nothing answers, before the database was asked how it is.
    pub fn finds_no_database(&self) {
        let (mut database, now) = (self.database(), self.0.clock.now());
        let why = || "it does not answer".to_owned();
        database.trouble.get_or_insert_with(|| (DatabaseTrouble::Unreachable, Failing::again(None, now, why())));
    }

    fn has_trouble(&self) -> Option<DatabaseTrouble> {
        self.database().trouble.as_ref().map(|(trouble, _)| *trouble)
    }

    fn database(&self) -> MutexGuard<'_, DatabaseFacts> {
        lock(&self.0.database)
    }
}

/// Stands for conditions: the same where the same is wrong for the same reason, also in another process.
pub fn fingerprint(conditions: &[Condition]) -> u64 {
    let mut hasher = DefaultHasher::new();
    for condition in conditions {
        (condition.kind, &condition.subject, &condition.why).hash(&mut hasher);
    }
    hasher.finish()
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
