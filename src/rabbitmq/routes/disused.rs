//! Deleting delay queues that nobody needs any more.

use failure_conventions::dlo_queues;
use lapin::{Channel, options::QueueDeleteOptions};

use super::declaring::Declarer;
use crate::rabbitmq::{SessionError, short};

/// The outcome of a delay queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Deletion {
    /// It is gone, by us or before.
    Gone,
    /// There are messages in it, or may be on their way out of it, or somebody looks at it, or its term is not over for
    /// long enough.
    Needed,
    /// Why it is not known to be gone, in words.
    Failed(String),
}

impl Declarer {
    /// RabbitMQ deletes a quorum queue whatever is in it, so it is looked at before. What has waited and has not been
    /// confirmed by the queue of what is due is not shown; there is none of it for long while that queue is empty.
    pub async fn delete_if_empty(&mut self, name: &str) -> Deletion {
        match self.try_delete(name).await {
            Ok(deletion) => deletion,
            Err(error) => Deletion::Failed(error.to_string()),
        }
    }

    async fn try_delete(&mut self, name: &str) -> Result<Deletion, SessionError> {
        let Some(queue) = self.look_at(name).await? else { return Ok(Deletion::Gone) };
        if queue.message_count() > 0 || queue.consumer_count() > 0 {
            return Ok(Deletion::Needed);
        }
        self.declare_due_queue().await?;
        if self.look_at(dlo_queues::DUE).await?.is_none_or(|due| due.message_count() > 0) {
            return Ok(Deletion::Needed);
        }
        let queue = short(name)?;
        let deleting = async |channel: Channel| channel.queue_delete(queue, QueueDeleteOptions::default()).await;
        self.step(&format!("deleting queue {name}"), deleting).await?;
        Ok(Deletion::Gone)
    }
}
