//! Pausing retries into a queue.

use super::Triage;
use crate::{
    domain::{actor::Actor, queue_pause::QueuePause},
    store::StoreError,
};

impl Triage {
    /// Pauses automatic and manual retries into a queue; what is being sent still goes out.
    pub async fn pause_queue(
        &self,
        (broker, queue): (&str, &str),
        until_consumers: bool,
        note: String,
        by: &Actor,
    ) -> Result<(), StoreError> {
        let (broker, queue) = (broker.to_owned(), queue.to_owned());
        let pause = QueuePause { broker, queue, until_consumers, note, by: by.clone(), at: self.clock.now() };
        self.changes.pause_queue(&pause).await
    }

    /// What was due goes out at the usual pace. The answer is whether the queue was paused.
    pub async fn resume_queue(&self, broker: &str, queue: &str, by: &Actor) -> Result<bool, StoreError> {
        let resumed = self.changes.resume_queue(broker, queue, by).await?;
        if resumed {
            // Other servers look by themselves a moment later.
            self.held_back.notify();
        }
        Ok(resumed)
    }
}
