//! Batches that are stored while the broker may not have seen their acknowledgement, or may forget it.

use std::{collections::VecDeque, time::Duration};

use tokio::time::Instant;
use uuid::Uuid;

use super::Intake;
use crate::{
    rabbitmq::{Acknowledger, SessionError},
    store::AckState,
};

/// How long a batch is remembered after the broker has seen its acknowledgement. RabbitMQ writes acknowledgements to
/// disk some time later; a node that is killed before delivers the messages again.
const REST: Duration = Duration::from_secs(30);

#[derive(Default)]
pub(crate) struct PendingAcks {
    acknowledged: Vec<Uuid>,
    /// Seen by the broker; the database does not know that yet.
    confirmed: Vec<Uuid>,
    /// Seen by the broker at that time; the oldest first.
    resting: VecDeque<(Instant, Uuid)>,
}

impl PendingAcks {
    /// From when on there is something to do; never, where nothing is left.
    pub fn due(&self) -> Option<Instant> {
        if !self.acknowledged.is_empty() || !self.confirmed.is_empty() {
            return Some(Instant::now());
        }
        self.resting.front().map(|(confirmed, _)| *confirmed + REST)
    }

    pub fn acknowledged(&mut self, batches: Vec<Uuid>) {
        self.acknowledged = batches;
    }

    /// Awaits proof that the broker has seen the last acknowledgement; the answer is the batches it was of.
    pub fn proof(
        &mut self,
        acknowledger: &Acknowledger,
    ) -> impl Future<Output = Result<Vec<Uuid>, SessionError>> + use<> {
        let (acknowledged, acknowledger) = (std::mem::take(&mut self.acknowledged), acknowledger.clone());
        async move {
            if !acknowledged.is_empty() {
                acknowledger.settle().await?;
            }
            Ok(acknowledged)
        }
    }

    pub fn confirmed(&mut self, batches: Vec<Uuid>) {
        self.confirmed.extend(batches);
    }

    /// What the database is to be updated with: batches just confirmed, and those that are over.
    pub fn settled(&self) -> (Vec<Uuid>, Vec<Uuid>) {
        let expired =
            self.resting.iter().take_while(|(confirmed, _)| confirmed.elapsed() >= REST).map(|(_, batch)| *batch);
        (self.confirmed.clone(), expired.collect())
    }

    /// The database has been updated.
    pub fn told(&mut self, confirmed: &[Uuid], expired: &[Uuid]) {
        self.confirmed.retain(|batch| !confirmed.contains(batch));
        self.resting.drain(..expired.len());
        self.resting.extend(confirmed.iter().map(|batch| (Instant::now(), *batch)));
    }

    /// Updates the database when no batch does so along the way.
    pub async fn settle(&mut self, intake: &Intake) {
        let (confirmed, expired) = self.settled();
        match intake.store.settle(AckState { confirmed: &confirmed, expired: &expired }).await {
            Ok(()) => self.told(&confirmed, &expired),
            // The next batch takes them along.
            Err(error) => tracing::debug!(error = %error, "batches cannot be settled yet"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_batch_is_forgotten_when_it_has_rested_though_nothing_comes() {
        let (mut pending, batch) = (PendingAcks::default(), Uuid::from_u128(1));
        assert_eq!(pending.due(), None);
        pending.acknowledged(vec![batch]);
        assert_eq!(pending.due(), Some(Instant::now()));
        pending.acknowledged(Vec::new());
        pending.confirmed(vec![batch]);
        assert_eq!((pending.due(), pending.settled()), (Some(Instant::now()), (vec![batch], vec![])));
        pending.told(&[batch], &[]);
        let due = pending.due().expect("it is to be forgotten");
        assert_eq!((due, pending.settled()), (Instant::now() + REST, (vec![], vec![])));
        tokio::time::advance(REST).await;
        assert_eq!(pending.settled(), (vec![], vec![batch]));
        pending.told(&[], &[batch]);
        assert_eq!(pending.due(), None);
    }
}
