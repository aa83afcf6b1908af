//! The policies in force: those of the configuration, and before them those that people have set.

use std::sync::Arc;

use amqp_message::death::Reason;
use thiserror::Error;
use tokio::sync::watch;

use super::{audited_store::AuditedStore, live::Live};
use crate::{
    domain::{
        actor::Actor,
        policy::{ActivePolicy, Policy, PolicyBook},
        version::{Changed, Expected},
    },
    store::{ChangeError, StoreError, StoreReader},
};

#[derive(Debug, Error)]
pub enum PolicyError {
    /// What is wrong with it, in words.
    #[error("{0}")]
    Invalid(String),
    #[error("somebody else has changed it")]
    Changed(Changed<ActivePolicy>),
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<ChangeError<ActivePolicy>> for PolicyError {
    fn from(error: ChangeError<ActivePolicy>) -> Self {
        match error {
            ChangeError::Changed(changed) => Self::Changed(changed),
            ChangeError::Store(error) => Self::Store(error),
        }
    }
}

#[derive(Clone)]
pub struct Policies {
    configured: Live<Vec<Policy>>,
    store: StoreReader,
    changes: AuditedStore,
    book: watch::Sender<Arc<PolicyBook>>,
}

impl Policies {
    /// The configured ones; [`reload`](Self::reload) adds those of the database.
    pub fn new(configured: Vec<Policy>, changes: AuditedStore) -> Self {
        let book = PolicyBook::new(&configured, Vec::new());
        let book = watch::Sender::new(Arc::new(book));
        Self { configured: Live::new(configured), store: changes.reader(), changes, book }
    }

    pub fn book(&self) -> Arc<PolicyBook> {
        Arc::clone(&self.book.borrow())
    }

    /// Whether consumers of `queue` see the routing key of the first publish again.
    pub fn keeps_routing_key(&self, queue: &str, reason: Reason) -> bool {
        self.book.borrow().find(queue, reason).is_some_and(|active| active.policy.keep_routing_key)
    }

    /// Others of the configuration; in force from the next [`reload`](Self::reload) on.
    pub fn configure(&self, configured: Vec<Policy>) {
        self.configured.replace(configured);
    }

    /// Reads what people have set.
    pub async fn reload(&self) -> Result<(), StoreError> {
        let book = PolicyBook::new(&self.configured.now(), self.store.policies().await?);
        self.book.send_if_modified(|current| {
            let changed = **current != book;
            if changed {
                *current = Arc::new(book);
            }
            changed
        });
        Ok(())
    }

    /// Sets a policy. It is in force for what fails from now on; what waits already keeps its time.
    pub async fn set(&self, policy: &Policy, expected: &Expected, by: &Actor) -> Result<(), PolicyError> {
        policy.check().map_err(PolicyError::Invalid)?;
        self.changes.set_policy(policy, expected, by).await?;
        Ok(self.reload().await?)
    }

    /// Takes back what was set; the answer is whether there was anything.
    pub async fn unset(
        &self,
        queues: &str,
        reason: Option<Reason>,
        expected: &Expected,
        by: &Actor,
    ) -> Result<bool, PolicyError> {
        let unset = self.changes.unset_policy(queues, reason, expected, by).await?;
        self.reload().await?;
        Ok(unset)
    }
}
