//! The one door for what people do with letters.

use std::sync::Arc;

use uuid::Uuid;

use super::{ids, news::News, scheduler::Bell};
use crate::{
    clock::Clock,
    domain::{
        actor::Actor,
        command::{Command, CommandReport},
        letter::LetterId,
    },
    store::{Order, Store, StoreError},
};

/// Every change that a person makes goes through here: it is carried out, written down and announced in one place.
pub struct Triage {
    store: Arc<Store>,
    clock: Clock,
    news: News,
    bell: Bell,
}

impl Triage {
    pub const fn new(store: Arc<Store>, clock: Clock, news: News, bell: Bell) -> Self {
        Self { store, clock, news, bell }
    }

    /// Carries out a command on each of `ids` that takes it.
    pub async fn act(&self, ids: &[LetterId], command: &Command, by: &Actor) -> Result<CommandReport, StoreError> {
        let order = Order { ids, command, by, at: self.clock.now() };
        let report = self.store.act(&order).await?;
        self.announce(command, by, &report);
        Ok(report)
    }

    /// The same, leaving a job behind that tells what came of it.
    pub async fn act_as_job(&self, ids: &[LetterId], command: &Command, by: &Actor) -> Result<Uuid, StoreError> {
        let at = self.clock.now();
        let job = ids::uuid(at);
        let report = self.store.act_as_job(job, &Order { ids, command, by, at }).await?;
        self.announce(command, by, &report);
        Ok(job)
    }

    fn announce(&self, command: &Command, by: &Actor, report: &CommandReport) {
        let (done, refused) = (report.done.len(), report.refused.len());
        tracing::info!(command = command.name(), by = %by, letters = done, refused, "a person acted on letters");
        self.news.changed(done as u64);
        if matches!(command, Command::Retry { .. }) {
            self.bell.ring();
        }
    }
}
