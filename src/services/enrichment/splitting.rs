//! Bringing the letters of groups that were split into their parts.

use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::{AT_ONCE, Enrichment};
use crate::store::{PlaceInGroup, StoreError};

/// Until every process knows that a group was split: till then one that does not may put letters into it as before.
const KNOWN_AFTER: Duration = Duration::from_secs(15);

impl Enrichment {
    /// Brings the letters of groups that were split into their parts. Who dies meanwhile has done no harm: it is begun again.
    pub(super) async fn apply_splits(&mut self, edition: i64, stop: &CancellationToken) -> Result<(), StoreError> {
        if self.group_splits.in_force().is_empty() {
            return Ok(());
        }
        while let Some(split) = self.store.split_to_apply().await? {
            let is_known = self.clock.now().since(split.at) >= KNOWN_AFTER;
            if !is_known && self.so_far.split.as_ref() == Some(&split) {
                return Ok(());
            }
            self.group_splits.reload().await?;
            let mut place = PlaceInGroup::FIRST;
            loop {
                // Newcomers first: somebody may be waiting for them.
                self.enrich_new(edition, stop).await?;
                let (ids, last) = self.store.letters_of_group(split.group, place, AT_ONCE).await?;
                if stop.is_cancelled() || ids.is_empty() {
                    break;
                }
                place = last;
                self.enrich(&ids, edition, stop).await?;
            }
            if stop.is_cancelled() || !is_known {
                self.so_far.split = Some(split).filter(|_| !stop.is_cancelled());
                return Ok(());
            }
            self.store.split_is_applied(&split).await?;
        }
        Ok(())
    }
}
