//! Sending letters back when their retry is due.
//!
//! One scheduler for each broker, in three stages that overlap: claim in the database, publish with confirm, mark in the
//! database. What is claimed and never marked, because the process or the connection died, is claimed again and says in
//! its history that it may have been sent twice.

mod publisher;
mod window;

use std::{sync::Arc, time::Duration};

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::{
    change_feed::ChangeFeed,
    halving::{Halved, halve},
    health::{WorkerBoard, WorkerReport},
    policies::Policies,
    wakeup::Wakeup,
};
use crate::{
    clock::Clock,
    config::BrokerConfig,
    crash_point,
    domain::{
        broker::ConnectionState,
        retry::{Claim, ClaimedRetry, RetryOutcome},
        retry_limits::RetryLimits,
    },
    metrics::Metrics,
    rabbitmq::health::BrokerBoard,
    store::{Store, StoreError},
};

/// How long a claim holds before another process may take it over.
pub const LEASE: Duration = Duration::from_secs(60);
/// How often claims are renewed: who has not done that for longer may have died, which is then said of its jobs.
const RENEW: Duration = Duration::from_secs(5);
/// Retries claimed at once.
const CLAIM: usize = 10_000;
/// How often the database is asked for due retries without being told: another process may have scheduled some.
const POLL: Duration = Duration::from_millis(500);
/// How long a retry is not sent again whose outcome cannot be written down.
const HELD: Duration = Duration::from_secs(24 * 60 * 60);
/// How long to wait when the database does not answer.
const PAUSE: Duration = Duration::from_secs(1);

/// What one scheduler works with.
#[derive(Clone)]
pub struct Scheduler {
    pub broker: String,
    pub config: BrokerConfig,
    pub store: Arc<Store>,
    pub policies: Policies,
    pub limits: RetryLimits,
    pub board: BrokerBoard,
    pub clock: Clock,
    pub metrics: Metrics,
    pub feed: ChangeFeed,
    pub wakeup: Wakeup,
    pub workers: WorkerBoard,
}

/// Retries that were claimed together.
type Batch = Vec<ClaimedRetry>;

fn claims(retries: &[ClaimedRetry]) -> Vec<Claim> {
    retries.iter().map(ClaimedRetry::claim).collect()
}

/// A retry whose publishing is over one way or the other.
enum Ended {
    With(RetryOutcome),
    /// Nobody knows; it stays claimed no longer and will be published again.
    Unknown,
    /// It was not sent at all.
    Unpublished,
}

impl Scheduler {
    /// Works until it is told to stop; what is being published then is finished.
    pub async fn run(self, stop: CancellationToken) {
        // Each stage holds a little for the next, so that none waits for another's database or network.
        let (to_publisher, from_claimer) = mpsc::channel(1);
        let (to_marker, from_publisher) = mpsc::channel(2);
        tokio::join!(
            self.claim(to_publisher, &stop),
            publisher::run(&self, from_claimer, to_marker, &stop),
            self.mark(from_publisher),
        );
    }

    async fn claim(&self, publisher: mpsc::Sender<Batch>, stop: &CancellationToken) {
        let report = self.workers.begins("claiming retries");
        let mut in_line = Vec::new();
        while !stop.is_cancelled() {
            // A place in the line first: what is claimed and waits is as good as lost until its lease ends.
            let place = stop.run_until_cancelled(self.await_place(&publisher, &in_line));
            let Some(Ok(place)) = place.await else { return };
            let claimed = self.claim_due().await;
            report.result(&claimed);
            match claimed {
                Ok(claimed) if claimed.is_empty() => {
                    drop(place);
                    self.wait_for_more(stop).await;
                }
                Ok(claimed) => {
                    crash_point::point("claimed");
                    in_line = claims(&claimed);
                    place.send(claimed);
                }
                Err(error) => {
                    tracing::warn!(broker.name = self.broker, error = %error, "due retries cannot be claimed");
                    drop(place);
                    stop.run_until_cancelled(tokio::time::sleep(PAUSE)).await;
                }
            }
        }
    }

    /// Waits for the place that the batch has before it, and renews the claims of that meanwhile: a broker in alarm takes nothing
    /// for longer than a lease.
    async fn await_place<'a>(
        &self,
        publisher: &'a mpsc::Sender<Batch>,
        in_line: &[Claim],
    ) -> Result<mpsc::Permit<'a, Batch>, mpsc::error::SendError<()>> {
        loop {
            match tokio::time::timeout(RENEW, publisher.reserve()).await {
                Ok(place) => return place,
                Err(_) => self.renew(in_line).await,
            }
        }
    }

    async fn renew(&self, claims: &[Claim]) {
        if let Err(error) = self.store.renew_leases(claims, self.clock.now().plus(LEASE)).await {
            tracing::warn!(broker.name = self.broker, error = %error, "leases cannot be renewed");
        }
    }

    async fn claim_due(&self) -> Result<Vec<ClaimedRetry>, StoreError> {
        if !self.can_publish() {
            return Ok(Vec::new());
        }
        self.store.claim_due_retries(&self.broker, self.clock.now(), LEASE, CLAIM).await
    }

    /// Nothing is claimed for a broker that takes nothing.
    fn can_publish(&self) -> bool {
        self.publishing_state().is_some_and(|state| state.is_connected())
    }

    fn publishing_state(&self) -> Option<ConnectionState> {
        self.board.all().into_iter().find(|health| health.name == self.broker).map(|health| health.publishing)
    }

    async fn wait_for_more(&self, stop: &CancellationToken) {
        let wait = match self.store.next_retry_due(&self.broker).await {
            Ok(Some(due)) if self.can_publish() => due.since(self.clock.now()).min(POLL),
            _ => POLL,
        };
        tokio::select! {
            () = stop.cancelled() => {}
            () = self.wakeup.notified() => {}
            () = tokio::time::sleep(wait) => {}
        }
    }

    /// Writes down how publishing ended.
    async fn mark(&self, mut ended: mpsc::Receiver<Vec<(ClaimedRetry, Ended)>>) {
        let report = self.workers.begins("marking retries");
        while let Some(ended) = ended.recv().await {
            self.mark_batch(&ended, &report).await;
            report.goes_well();
            crash_point::point("marked");
            self.count(&ended);
        }
    }

    /// Each is kept at while the database does not answer: what is to be written is all that is known.
    async fn mark_batch(&self, ended: &[(ClaimedRetry, Ended)], report: &WorkerReport) {
        let mut outcomes = Vec::with_capacity(ended.len());
        let (mut unknown, mut unpublished) = (Vec::new(), Vec::new());
        for (retry, ended) in ended {
            match ended {
                Ended::With(outcome) => outcomes.push((retry, outcome.clone())),
                Ended::Unknown => unknown.push(retry.claim()),
                Ended::Unpublished => unpublished.push(retry.claim()),
            }
        }
        self.finish(outcomes, report).await;
        while let Err(error) = self.store.end_leases(&unknown).await {
            self.pause(&error, report).await;
        }
        while let Err(error) = self.store.unclaim_retries(&unpublished).await {
            self.pause(&error, report).await;
        }
    }

    /// A letter whose outcome the database refuses must not hold up the others, and must not be sent again and again
    /// either: its claim is held for a day.
    async fn finish(&self, outcomes: Vec<(&ClaimedRetry, RetryOutcome)>, report: &WorkerReport) {
        let mut parts = vec![outcomes];
        while let Some(part) = parts.pop() {
            let error = match self.store.finish_retries(&part, self.clock.now()).await {
                Ok(()) => continue,
                Err(error) => error,
            };
            if !error.is_refusal() {
                self.pause(&error, report).await;
                parts.push(part);
                continue;
            }
            match halve(part) {
                Some(Halved::Halves(first, second)) => parts.extend([second, first]),
                Some(Halved::One((retry, outcome))) => {
                    tracing::error!(letter = %retry.id, ?outcome, error = %error, "a retry cannot be marked");
                    let held = self.store.renew_leases(&[retry.claim()], self.clock.now().plus(HELD)).await;
                    if let Err(error) = held {
                        tracing::error!(letter = %retry.id, error = %error, "it may be sent again");
                    }
                }
                None => {}
            }
        }
    }

    async fn pause(&self, error: &StoreError, report: &WorkerReport) {
        report.fails(error);
        tracing::warn!(broker.name = self.broker, error = %error, "finished retries cannot be marked yet");
        tokio::time::sleep(PAUSE).await;
    }

    fn count(&self, ended: &[(ClaimedRetry, Ended)]) {
        let (mut failed, mut why) = (0_usize, "");
        for (retry, ended) in ended {
            match ended {
                Ended::With(RetryOutcome::Confirmed) => {
                    self.metrics.retried(&self.broker, &retry.queue, (&retry.by).into());
                }
                Ended::With(RetryOutcome::Failed(reason)) => {
                    self.metrics.retry_failed(&self.broker, &retry.queue, (&retry.by).into());
                    (failed, why) = (failed + 1, reason);
                }
                Ended::Unknown | Ended::Unpublished => {}
            }
        }
        if failed > 0 {
            tracing::warn!(
                broker.name = self.broker,
                letters = failed,
                why,
                "retries failed; their dead letters are open again"
            );
        }
        self.feed.changed(ended.len() as u64);
        tracing::debug!(broker.name = self.broker, letters = ended.len(), "retries published");
    }
}
