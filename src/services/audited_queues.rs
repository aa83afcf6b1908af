//! Pauses of queues, written with who set them.

use super::{audit_log::log, audited_store::AuditedStore};
use crate::{
    domain::{actor::Actor, queue_pause::QueuePause},
    store::{StoreError, resumed_entry},
};

impl AuditedStore {
    pub(crate) async fn pause_queue(&self, pause: &QueuePause) -> Result<(), StoreError> {
        self.store.pause_queue(pause).await?;
        log(&pause.entry());
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
