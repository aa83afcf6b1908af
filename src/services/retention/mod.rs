//! Forgetting what nobody needs any more.
//!
//! A letter that a policy has sent back stays for a while, so that its history goes on if it fails again. What has not
//! failed by then is taken for processed, and only the counts remember it. What people have sent back or discarded
//! stays longer, for them to look it up; who did what stays longest.

pub mod delay_queues;

use std::{sync::Arc, time::Duration};

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::{
    clock::Clock,
    config::{GroupsConfig, RetentionConfig},
    domain::{
        access::SessionLimits,
        lifecycle::{recognition::MARGIN, retention::Outdated},
    },
    services::{
        idempotency,
        policies::Policies,
        worker::{Next, Worker},
    },
    store::{Store, StoreError},
};

/// How often it is looked for.
const EVERY: Duration = Duration::from_secs(10);
/// How often it is looked for what takes a look through a whole table.
const SELDOM: Duration = Duration::from_secs(60 * 60);
/// How long outcomes of automatic retries stay, and jobs that have ended.
const SHOWN: Duration = Duration::from_secs(31 * 24 * 60 * 60);
/// How long it can be looked up what users were notified of.
const TOLD: Duration = Duration::from_secs(120 * 24 * 60 * 60);
/// How long the answers to calls with an `Idempotency-Key` stay.
const KEYS: Duration = idempotency::KEPT;
/// How long deliveries of a session that is over are remembered; by then the broker has long delivered them again.
const UNACKNOWLEDGED: Duration = Duration::from_secs(24 * 60 * 60);
/// The same where the broker has seen their acknowledgement, and written it down long since. Each batch of a queue reads them.
const ACKNOWLEDGED: Duration = Duration::from_secs(10 * 60);
/// How long a view that was removed can be brought back.
const REMOVED_VIEWS: Duration = Duration::from_secs(24 * 60 * 60);
/// Letters removed in one commit; others wait for it.
const AT_ONCE: u32 = 1_000;

pub struct Retention {
    pub store: Arc<Store>,
    pub clock: Clock,
    /// How long letters stay after they were settled, and activity after it was written down.
    pub keep: RetentionConfig,
    pub groups: GroupsConfig,
    pub policies: Policies,
    /// When sessions are over.
    pub sessions: SessionLimits,
    /// When it was last looked for what is looked for seldom.
    pub tidied_at: Option<Instant>,
}

impl Worker for Retention {
    const NAME: &'static str = "retention";
    type Error = StoreError;

    fn every(&self) -> Duration {
        EVERY
    }

    async fn round(&mut self, stop: &CancellationToken) -> Result<Next, StoreError> {
        self.forget(stop).await?;
        if self.tidied_at.is_none_or(|at| at.elapsed() >= SELDOM) {
            self.tidy(stop).await?;
            self.tidied_at = Some(Instant::now());
        }
        self.store.give_back_space().await?;
        Ok(Next::Later)
    }
}

impl Retention {
    /// Removes all whose time is over, in batches.
    pub async fn forget(&self, stop: &CancellationToken) -> Result<(), StoreError> {
        while !stop.is_cancelled() {
            let now = self.clock.now();
            let succeeded = self.store.forget_succeeded(now.minus(self.keep.succeeded), AT_ONCE).await?;
            let outdated =
                Outdated { retried: now.minus(self.keep.retried), discarded: now.minus(self.keep.discarded) };
            let settled = self.store.forget_settled(outdated, AT_ONCE).await?;
            if succeeded + settled == 0 {
                break;
            }
            tracing::debug!(succeeded, settled, "old dead letters removed");
        }
        let now = self.clock.now();
        while !stop.is_cancelled() && self.store.forget_activity(now.minus(self.keep.activity), AT_ONCE).await? > 0 {}
        self.store.forget_pending_acks(now.minus(UNACKNOWLEDGED), now.minus(ACKNOWLEDGED)).await?;
        self.store.forget_views(now.minus(REMOVED_VIEWS)).await?;
        while !stop.is_cancelled() && self.store.forget_markers(now.minus(self.keep.markers), AT_ONCE).await? > 0 {}
        while !stop.is_cancelled() && self.store.forget_keys(now.minus(KEYS), AT_ONCE).await? > 0 {}
        self.store.forget_recent_retries(now.minus(self.groups.succeeded_after)).await?;
        let longest = self.policies.book().longest_span().saturating_add(MARGIN);
        while !stop.is_cancelled() && self.store.forget_sent_back(now.minus(longest), AT_ONCE).await? > 0 {}
        self.store.forget_told(now.minus(TOLD)).await
    }

    /// Removes what nothing is counted in any more, and what nobody looks at any more, in batches.
    pub async fn tidy(&self, stop: &CancellationToken) -> Result<(), StoreError> {
        self.store.forget_sessions(self.clock.now(), self.sessions).await?;
        self.store.forget_groups(self.clock.now().minus(self.groups.keep)).await?;
        let old = self.clock.now().minus(SHOWN);
        while !stop.is_cancelled() && self.store.forget_facets(AT_ONCE).await? > 0 {}
        while !stop.is_cancelled() && self.store.forget_slices(AT_ONCE).await? > 0 {}
        while !stop.is_cancelled() && self.store.forget_retry_counts(old, AT_ONCE).await? > 0 {}
        while !stop.is_cancelled() && self.store.forget_job_letters(old, AT_ONCE).await? > 0 {}
        while !stop.is_cancelled() && self.store.forget_jobs(old, AT_ONCE).await? > 0 {}
        Ok(())
    }
}
