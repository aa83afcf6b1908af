//! Forgetting what nobody needs any more.
//!
//! A letter that a policy has sent back stays for a while, so that its history goes on if it fails again. What has not
//! failed by then is taken for processed, and only the counts remember it. What people have sent back or discarded
//! stays longer, for them to look it up.

use std::{sync::Arc, time::Duration};

use tokio_util::sync::CancellationToken;

use crate::{
    clock::Clock,
    config::RetentionConfig,
    store::{Outdated, Store, StoreError},
};

/// How often it is looked for.
const EVERY: Duration = Duration::from_secs(10);
/// Letters removed in one commit; others wait for it.
const AT_ONCE: u32 = 1_000;

pub struct Retention {
    pub store: Arc<Store>,
    pub clock: Clock,
    /// How long letters stay after they were settled.
    pub keep: RetentionConfig,
    /// How long groups stay that no letter is in any more.
    pub groups: Duration,
}

impl Retention {
    pub async fn run(self, stop: CancellationToken) {
        while stop.run_until_cancelled(tokio::time::sleep(EVERY)).await.is_some() {
            if let Err(error) = self.forget(&stop).await {
                tracing::warn!(error = %error, "letters cannot be forgotten yet");
            }
        }
    }

    /// Removes all whose time is over, in portions.
    pub async fn forget(&self, stop: &CancellationToken) -> Result<(), StoreError> {
        while !stop.is_cancelled() {
            let now = self.clock.now();
            let healed = self.store.forget_healed(now.minus(self.keep.healed), AT_ONCE).await?;
            let outdated =
                Outdated { retried: now.minus(self.keep.retried), discarded: now.minus(self.keep.discarded) };
            let settled = self.store.forget_settled(outdated, AT_ONCE).await?;
            if healed + settled == 0 {
                break;
            }
            tracing::debug!(healed, settled, "letters forgotten");
        }
        self.store.forget_groups(self.clock.now().minus(self.groups)).await.map(drop)
    }
}
