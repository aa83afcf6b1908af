//! Batches that are stored while the broker may not have seen their acknowledgement, or may forget it.

use std::{collections::VecDeque, time::Duration};

use tokio::time::Instant;
use uuid::Uuid;

use super::Intake;
use crate::{
    rabbitmq::{Acknowledger, SessionError},
    store::Settled,
};

/// How long a batch is remembered after the broker has seen its acknowledgement. RabbitMQ writes acknowledgements to
/// disk some time later; a node that is killed before delivers the messages again.
const REST: Duration = Duration::from_secs(30);

#[derive(Default)]
pub(crate) struct Unsettled {
    acknowledged: Option<Uuid>,
    /// Seen by the broker; the ledger does not know that yet.
    proven: Vec<Uuid>,
    /// Seen by the broker at that time; the oldest first.
    resting: VecDeque<(Instant, Uuid)>,
}

impl Unsettled {
    /// Whether there is something to do.
    pub fn is_some(&self) -> bool {
        self.acknowledged.is_some() || !self.proven.is_empty() || self.is_over()
    }

    fn is_over(&self) -> bool {
        self.resting.front().is_some_and(|(proven, _)| proven.elapsed() > REST)
    }

    pub fn acknowledged(&mut self, batch: Option<Uuid>) {
        self.acknowledged = batch;
    }

    /// Awaits proof that the broker has seen the last acknowledgement; the answer is the batch it was of.
    pub fn proof(
        &mut self,
        acknowledger: &Acknowledger,
    ) -> impl Future<Output = Result<Option<Uuid>, SessionError>> + use<> {
        let (acknowledged, acknowledger) = (self.acknowledged.take(), acknowledger.clone());
        async move {
            if acknowledged.is_some() {
                acknowledger.settle().await?;
            }
            Ok(acknowledged)
        }
    }

    pub fn proven(&mut self, batch: Option<Uuid>) {
        self.proven.extend(batch);
    }

    /// What the ledger is to be told: batches just proven, and those that are over.
    pub fn settled(&self) -> (Vec<Uuid>, Vec<Uuid>) {
        let over = self.resting.iter().take_while(|(proven, _)| proven.elapsed() > REST).map(|(_, batch)| *batch);
        (self.proven.clone(), over.collect())
    }

    /// The ledger has been told.
    pub fn told(&mut self, proven: &[Uuid], over: &[Uuid]) {
        self.proven.retain(|batch| !proven.contains(batch));
        self.resting.drain(..over.len());
        self.resting.extend(proven.iter().map(|batch| (Instant::now(), *batch)));
    }

    /// Tells the ledger when no batch does so along the way.
    pub async fn settle(&mut self, intake: &Intake) {
        let (proven, over) = self.settled();
        match intake.store.settle(Settled { proven: &proven, over: &over }).await {
            Ok(()) => self.told(&proven, &over),
            // The next batch takes them along.
            Err(error) => tracing::debug!(error = %error, "batches cannot be settled yet"),
        }
    }
}
