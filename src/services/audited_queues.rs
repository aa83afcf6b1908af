//! What is done with queues, written with who did it.

use failure_conventions::dlo_queues;

use super::{audit_log::log, audited_store::AuditedStore};
use crate::{
    domain::{
        activity::{Area, AuditEntry, Concerns},
        actor::Actor,
        queue_pause::QueuePause,
    },
    store::{StoreError, resumed_entry},
};

impl AuditedStore {
    pub(crate) async fn pause_queue(&self, pause: &QueuePause) -> Result<(), StoreError> {
        self.store.pause_queue(pause).await?;
        log(&pause.entry());
        self.feed.changed(1);
        Ok(())
    }

    /// Writes down that somebody sent a message through the test queue of a broker, or why they could not.
    pub(crate) async fn test_sent(&self, broker: &str, failed: Option<&str>, by: &Actor) -> Result<(), StoreError> {
        let entry = AuditEntry::new(self.clock.now(), by, Area::Queues, "test", broker);
        let detail = failed.map(|why| format!("It failed: {why}")).unwrap_or_default();
        let concerns = Concerns::Queue(broker.to_owned(), dlo_queues::TEST.to_owned());
        let entry = AuditEntry { detail, concerns, ..entry };
        self.store.append_activity(&entry).await?;
        log(&entry);
        self.feed.changed(1);
        Ok(())
    }

    pub(crate) async fn resume_queue(&self, broker: &str, queue: &str, by: &Actor) -> Result<bool, StoreError> {
        let at = self.clock.now();
        let resumed = self.store.resume_queue(broker, queue, by, at).await?;
        if resumed {
            log(&resumed_entry(broker, queue, by, at, ""));
            self.feed.changed(1);
        }
        Ok(resumed)
    }
}
