//! Noticing that something goes wrong, and that it is over.

use std::{convert::Infallible, time::Duration};

use tokio_util::sync::CancellationToken;

use super::{Health, fingerprint};
use crate::{
    domain::health::Condition,
    services::worker::{Next, Worker},
};

/// How soon it is noticed; it costs no more than a look into memory.
const EVERY: Duration = Duration::from_millis(500);

/// Logs what begins to be wrong and what is over, and wakes those who show it.
pub struct HealthWatch {
    health: Health,
    before: Vec<Condition>,
}

impl HealthWatch {
    pub fn new(health: Health) -> Self {
        Self { health, before: Vec::new() }
    }

    /// Looks once.
    pub fn look(&mut self) {
        let now = self.health.conditions();
        for begun in now.iter().filter(|condition| !holds(condition, &self.before)) {
            let condition = begun.kind.as_str();
            tracing::warn!(condition, subject = begun.subject, why = begun.why, "{}", begun.title());
        }
        for over in self.before.iter().filter(|condition| !holds(condition, &now)) {
            tracing::info!(condition = over.kind.as_str(), subject = over.subject, "over: {}", over.title());
        }
        let seen = fingerprint(&now);
        self.health.0.seen.send_if_modified(|before| std::mem::replace(before, seen) != seen);
        self.before = now;
    }
}

fn holds(condition: &Condition, among: &[Condition]) -> bool {
    among.iter().any(|other| other.kind == condition.kind && other.subject == condition.subject)
}

impl Worker for HealthWatch {
    const NAME: &'static str = "watching the health of the server";
    /// Brokers that are there are connected by then.
    const BEGINS_LATE: bool = true;
    type Error = Infallible;

    fn every(&self) -> Duration {
        EVERY
    }

    async fn round(&mut self, _stop: &CancellationToken) -> Result<Next, Infallible> {
        self.look();
        Ok(Next::Later)
    }
}
