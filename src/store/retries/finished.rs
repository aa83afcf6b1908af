//! Retries whose publishing is over.

use amqp_message::time::Timestamp;

use super::outcomes::RetryTally;
use crate::{
    domain::{
        letter::LetterId,
        lifecycle::publishing,
        retry::{ClaimedRetry, RetryOutcome},
    },
    store::{
        Store, StoreError,
        counts::tally::Tally,
        letters::{
            apply::{self, Moved},
            lock,
        },
    },
};

impl Store {
    /// Writes down how publishing ended: what was confirmed is retried, what was not is open again and says why.
    pub async fn finish_retries(
        &self,
        outcomes: &[(&ClaimedRetry, RetryOutcome)],
        now: Timestamp,
    ) -> Result<(), StoreError> {
        if outcomes.is_empty() {
            return Ok(());
        }
        let mut tx = self.db.begin().await?;
        let mut scope = self.facet_scope();
        let ids: Vec<LetterId> = outcomes.iter().map(|(retry, _)| retry.id).collect();
        let letters = lock::lock(&mut tx, &ids).await?;
        let moved = outcomes.iter().filter_map(|(retry, outcome)| {
            let letter = letters.get(&retry.id)?;
            Some((letter, publishing::published(&letter.state, retry, outcome, now)))
        });
        let moved: Vec<Moved<'_>> = moved.collect();
        let mut tally = Tally::default();
        apply::apply(&mut tx, &mut scope, &mut tally, &moved).await?;
        tally.apply(&mut tx).await?;
        RetryTally::of(moved.iter().map(|(letter, transition)| (&*letter.state.broker, transition)))
            .apply(&mut tx)
            .await?;
        tx.commit().await?;
        scope.committed();
        Ok(())
    }
}
