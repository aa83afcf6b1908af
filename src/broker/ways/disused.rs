//! Deleting delay queues that nobody needs any more.

use lapin::{
    Channel,
    options::{ExchangeDeleteOptions, QueueDeclareOptions, QueueDeleteOptions},
    types::FieldTable,
};

use super::declaring::Declarer;
use crate::broker::{SessionError, has_code, is_not_found, short};

/// What became of a delay queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Deletion {
    /// It is gone, by us or before.
    Gone,
    /// There are messages in it, or somebody looks at it, or its term is not over for long enough.
    Needed,
    /// Why it is not known to be gone, for a person.
    Failed(String),
}

impl Declarer {
    /// RabbitMQ itself refuses to delete a queue with a message in it; asking first spares it the refusal.
    pub async fn delete_if_empty(&mut self, name: &str) -> Deletion {
        match self.try_delete(name).await {
            Ok(deletion) => deletion,
            Err(SessionError::Refused { source, .. }) if has_code(&source, PRECONDITION_FAILED) => Deletion::Needed,
            Err(error) => Deletion::Failed(error.to_string()),
        }
    }

    async fn try_delete(&mut self, name: &str) -> Result<Deletion, SessionError> {
        match self.has_content(name).await {
            Ok(true) => return Ok(Deletion::Needed),
            Ok(false) => self.delete_queue(name).await?,
            Err(SessionError::Refused { source, .. }) if is_not_found(&source) => {}
            Err(error) => return Err(error),
        }
        self.delete_front(name).await?;
        Ok(Deletion::Gone)
    }

    async fn has_content(&mut self, name: &str) -> Result<bool, SessionError> {
        let queue = short(name)?;
        let passive = QueueDeclareOptions { passive: true, ..QueueDeclareOptions::default() };
        let looking = async |channel: Channel| channel.queue_declare(queue, passive, FieldTable::default()).await;
        let found = self.step(&format!("looking at queue {name}"), looking).await?;
        Ok(found.message_count() > 0 || found.consumer_count() > 0)
    }

    async fn delete_queue(&mut self, name: &str) -> Result<(), SessionError> {
        let queue = short(name)?;
        let careful = QueueDeleteOptions { if_unused: true, if_empty: true, ..QueueDeleteOptions::default() };
        let deleting = async |channel: Channel| channel.queue_delete(queue, careful).await;
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

/// There is a message, a consumer or a binding.
const PRECONDITION_FAILED: u16 = 406;
