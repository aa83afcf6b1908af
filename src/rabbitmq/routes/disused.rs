//! Deleting delay queues that nobody needs any more.

use failure_conventions::dlo_queues;
use lapin::{
    Channel,
    options::{BasicGetOptions, BasicRejectOptions, QueueDeleteOptions},
};

use super::declaring::Declarer;
use crate::rabbitmq::{SessionError, short};

/// How a delay queue is found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DelayQueueState {
    /// It is not there, or not any more.
    Gone,
    /// It shows no message. What is due and has not reached the queue of what is due is not shown.
    Empty,
    /// There are messages in it, somebody looks at it, its term is not over for long enough, or the queue of what is
    /// due has messages.
    Needed,
    /// There was no queue of what is due, which is declared now: in every delay queue there may be messages that are not
    /// shown.
    CutOff,
    /// Why it is not known, in words.
    Unknown(String),
}

impl Declarer {
    pub async fn state_of(&mut self, name: &str) -> DelayQueueState {
        self.look(name).await.unwrap_or_else(|error| DelayQueueState::Unknown(error.to_string()))
    }

    /// RabbitMQ deletes a quorum queue whatever is in it, so it is looked at before.
    pub async fn delete_if_empty(&mut self, name: &str) -> DelayQueueState {
        match self.state_of(name).await {
            DelayQueueState::Empty => match self.delete(name).await {
                Ok(()) => DelayQueueState::Gone,
                Err(error) => DelayQueueState::Unknown(error.to_string()),
            },
            state => state,
        }
    }

    async fn look(&mut self, name: &str) -> Result<DelayQueueState, SessionError> {
        let Some(queue) = self.look_at(name).await? else { return Ok(DelayQueueState::Gone) };
        let Some(due) = self.look_at(dlo_queues::DUE).await? else {
            self.declare_due_queue().await?;
            return Ok(DelayQueueState::CutOff);
        };
        let is_empty = queue.message_count() == 0 && queue.consumer_count() == 0 && due.message_count() == 0;
        Ok(if is_empty && self.gives_nothing(name).await? { DelayQueueState::Empty } else { DelayQueueState::Needed })
    }

    /// Whether it has nothing for who asks for a message: of a quorum queue without a leader RabbitMQ only says that it is empty,
    /// and would delete it with what is in it.
    async fn gives_nothing(&mut self, name: &str) -> Result<bool, SessionError> {
        let queue = short(name)?;
        let getting = async |channel: Channel| channel.basic_get(queue, BasicGetOptions::default()).await;
        let given = self.step(&format!("asking queue {name} for a message"), getting).await?;
        if let Some(message) = &given {
            let back = BasicRejectOptions { requeue: true };
            message.reject(back).await.map_err(SessionError::lost)?;
        }
        Ok(given.is_none())
    }

    async fn delete(&mut self, name: &str) -> Result<(), SessionError> {
        let queue = short(name)?;
        let deleting = async |channel: Channel| channel.queue_delete(queue, QueueDeleteOptions::default()).await;
        self.step(&format!("deleting queue {name}"), deleting).await.map(drop)
    }
}
