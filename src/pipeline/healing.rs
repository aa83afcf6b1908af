//! Forgetting what has healed.
//!
//! A letter that a policy has sent back stays for a while, so that its history goes on if it fails again. What has not
//! failed by then is taken for processed, and only the counts remember it.

use std::{sync::Arc, time::Duration};

use tokio_util::sync::CancellationToken;

use crate::{clock::Clock, store::Store};

/// How often it is looked for.
const EVERY: Duration = Duration::from_secs(10);
/// Letters removed in one commit; others wait for it.
const AT_ONCE: u32 = 1_000;

pub struct Healing {
    pub store: Arc<Store>,
    pub clock: Clock,
    /// How long a letter stays after it was sent back.
    pub keep: Duration,
}

impl Healing {
    pub async fn run(self, stop: CancellationToken) {
        while stop.run_until_cancelled(tokio::time::sleep(EVERY)).await.is_some() {
            while !stop.is_cancelled() {
                match self.store.forget_healed(self.clock.now().minus(self.keep), AT_ONCE).await {
                    Ok(0) => break,
                    Ok(letters) => tracing::debug!(letters, "healed letters forgotten"),
                    Err(error) => {
                        tracing::warn!(error = %error, "healed letters cannot be removed yet");
                        break;
                    }
                }
            }
        }
    }
}
