//! Moving the letters of groups that were merged or split again.
//!
//! What is to be moved follows from the database, so that any process may take the next batch, also after another has died.

use std::{sync::Arc, time::Duration};

use tokio_util::sync::CancellationToken;

use super::{
    audited_merges::AT_ONCE,
    change_feed::ChangeFeed,
    worker::{Next, Worker},
};
use crate::store::{Store, StoreError};

/// How often it is asked whether there is something to move.
const EVERY: Duration = Duration::from_secs(1);

/// Moves letters to the group that stands for theirs.
pub struct GroupMoves {
    pub store: Arc<Store>,
    pub feed: ChangeFeed,
}

impl Worker for GroupMoves {
    const NAME: &'static str = "group moves";
    type Error = StoreError;

    fn every(&self) -> Duration {
        EVERY
    }

    /// One batch: whoever else writes comes between two.
    async fn round(&mut self, _stop: &CancellationToken) -> Result<Next, StoreError> {
        if !self.store.move_letters(AT_ONCE).await? {
            return Ok(Next::Later);
        }
        self.feed.changed(AT_ONCE as u64);
        Ok(Next::Now)
    }
}
