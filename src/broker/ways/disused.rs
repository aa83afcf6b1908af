//! Deleting delay queues that nobody needs any more.

use lapin::{
    Channel,
    options::{ExchangeDeleteOptions, QueueDeclareOptions, QueueDeleteOptions},
    types::FieldTable,
};

use super::declaring::Declarer;
use crate::{
    broker::{SessionError, is_not_found, short},
    own_names,
};

/// What became of a delay queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Deletion {
    /// It is gone, by us or before.
    Gone,
    /// There are messages in it, or may be on their way, or its term is not over for long enough.
    Needed,
    /// Why it is not known to be gone, for a person.
    Failed(String),
}

impl Declarer {
    /// A quorum queue is deleted whatever is in it, so it is looked before. RabbitMQ does not show what has waited and
    /// still lacks the target's confirm; while the target has room there is none of it for long.
    pub async fn delete_if_empty(&mut self, name: &str) -> Deletion {
        match self.try_delete(name).await {
            Ok(deletion) => deletion,
            Err(error) => Deletion::Failed(error.to_string()),
        }
    }

    async fn try_delete(&mut self, name: &str) -> Result<Deletion, SessionError> {
        let Some(target) = own_names::target(name) else { return Ok(Deletion::Needed) };
        match self.is_empty(name).await? {
            Some(true) if self.is_empty(target).await? != Some(false) => self.delete_queue(name).await?,
            Some(_) => return Ok(Deletion::Needed),
            None => {}
        }
        self.delete_front(name).await?;
        Ok(Deletion::Gone)
    }

    /// `None`: there is no such queue.
    pub async fn is_empty(&mut self, name: &str) -> Result<Option<bool>, SessionError> {
        let queue = short(name)?;
        let passive = QueueDeclareOptions { passive: true, ..QueueDeclareOptions::default() };
        let looking = async |channel: Channel| channel.queue_declare(queue, passive, FieldTable::default()).await;
        match self.step(&format!("looking at queue {name}"), looking).await {
            Ok(found) => Ok(Some(found.message_count() == 0)),
            Err(SessionError::Refused { source, .. }) if is_not_found(&source) => Ok(None),
            Err(error) => Err(error),
        }
    }

    async fn delete_queue(&mut self, name: &str) -> Result<(), SessionError> {
        let queue = short(name)?;
        let deleting = async |channel: Channel| channel.queue_delete(queue, QueueDeleteOptions::default()).await;
        self.step(&format!("deleting queue {name}"), deleting).await.map(drop)
    }

    /// The exchange in front of a delay queue where a routing key is kept. To delete one that never was is no mistake.
    async fn delete_front(&mut self, name: &str) -> Result<(), SessionError> {
        let exchange = short(name)?;
        let careful = ExchangeDeleteOptions { if_unused: true, ..ExchangeDeleteOptions::default() };
        let deleting = async |channel: Channel| channel.exchange_delete(exchange, careful).await;
        self.step(&format!("deleting exchange {name}"), deleting).await
    }
}
