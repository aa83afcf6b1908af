//! What every loop is that works in rounds: look, work, and wait until there may be more to do.
//!
//! The sessions with a broker are not among them: those are streams, and [`Backoff`](crate::rabbitmq::reconnect::Backoff)
//! builds them anew.

use std::{fmt::Display, time::Duration};

use tokio_util::sync::CancellationToken;

use super::health::WorkerReport;

/// The shortest wait after a round that failed, also of a worker whose rounds follow each other at once.
const SHORTEST: Duration = Duration::from_millis(100);
/// The longest wait after a round that failed, of a worker that otherwise looks more often, and the longest first one of the others.
const LONGEST: Duration = Duration::from_secs(5);

/// How soon the next round begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// There is more to do.
    Now,
    /// After [`Worker::every`], or when the worker is called.
    Later,
}

/// Work that is done in rounds until the server stops.
pub trait Worker: Send {
    /// Names it in the log and, when it fails, on the pages.
    const NAME: &'static str;
    /// Whether the first round, too, comes only after [`every`](Self::every).
    const BEGINS_LATE: bool = false;

    type Error: Display + Send;

    /// How long it waits for the next round where nobody calls it.
    fn every(&self) -> Duration;

    /// One round. A round that takes long ends early when `stop` is cancelled. One that fails is logged and tried again,
    /// at first soon and then more slowly.
    fn round(&mut self, stop: &CancellationToken) -> impl Future<Output = Result<Next, Self::Error>> + Send;

    /// Returns when there is a reason for a round before its time. It may be dropped and asked again at any moment.
    fn called(&mut self) -> impl Future<Output = ()> + Send {
        std::future::pending()
    }

    /// What is to be done after the last round.
    fn end(&mut self) -> impl Future<Output = ()> + Send {
        std::future::ready(())
    }
}

/// Works until it is told to stop, and reports how that goes.
pub async fn run<W: Worker>(mut worker: W, stop: CancellationToken, report: WorkerReport) {
    let mut failures = Failures::reported_to(report);
    let mut waits = W::BEGINS_LATE.then(|| worker.every());
    loop {
        if let Some(wait) = waits {
            let waited = async {
                tokio::select! {
                    () = tokio::time::sleep(wait) => {}
                    // What has just failed is not tried at every call.
                    () = worker.called(), if failures.in_a_row == 0 => {}
                }
            };
            if stop.run_until_cancelled(waited).await.is_none() {
                break;
            }
        }
        if stop.is_cancelled() {
            break;
        }
        waits = match worker.round(&stop).await {
            Ok(next) => {
                failures.ended(W::NAME);
                (next == Next::Later).then(|| worker.every())
            }
            Err(error) => Some(failures.wait_after(W::NAME, &error, worker.every())),
        };
    }
    worker.end().await;
}

/// What has failed since the last round that went well.
#[derive(Debug)]
struct Failures {
    in_a_row: u32,
    last: String,
    report: WorkerReport,
}

impl Failures {
    const fn reported_to(report: WorkerReport) -> Self {
        Self { in_a_row: 0, last: String::new(), report }
    }

    /// Says in the log what has failed, unless it was said already, and how long to wait.
    fn wait_after(&mut self, worker: &'static str, error: &dyn Display, every: Duration) -> Duration {
        self.report.fails(&error);
        let error = error.to_string();
        if error != self.last {
            tracing::warn!(worker, error, "work failed and is tried again");
            self.last = error;
        }
        let first = every.clamp(SHORTEST, LONGEST);
        let wait = first.saturating_mul(2_u32.saturating_pow(self.in_a_row)).min(LONGEST.max(every));
        self.in_a_row = self.in_a_row.saturating_add(1);
        wait
    }

    fn ended(&mut self, worker: &'static str) {
        if self.in_a_row > 0 {
            tracing::info!(worker, failures = self.in_a_row, "recovered");
            self.report.goes_well();
            (self.in_a_row, self.last) = (0, String::new());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use tokio::time::Instant;

    use super::*;
    use crate::services::wakeup::Wakeup;

    const EVERY: Duration = Duration::from_secs(1);

    /// Does what it is told, and notes when.
    struct Scripted {
        rounds: Vec<Result<Next, &'static str>>,
        begun: Instant,
        at: Arc<Mutex<Vec<u64>>>,
        wakeup: Wakeup,
        stop: CancellationToken,
    }

    impl Worker for Scripted {
        const NAME: &'static str = "scripted";
        type Error = &'static str;

        fn every(&self) -> Duration {
            EVERY
        }

        async fn round(&mut self, _stop: &CancellationToken) -> Result<Next, &'static str> {
            self.at.lock().unwrap().push(self.begun.elapsed().as_secs());
            if self.rounds.is_empty() {
                self.stop.cancel();
                return Ok(Next::Now);
            }
            self.rounds.remove(0)
        }

        async fn called(&mut self) {
            self.wakeup.notified().await;
        }

        async fn end(&mut self) {
            self.at.lock().unwrap().push(u64::MAX);
        }
    }

    /// The seconds at which rounds began.
    async fn seconds(rounds: Vec<Result<Next, &'static str>>, wakeup: Wakeup) -> Vec<u64> {
        let (at, stop) = (Arc::default(), CancellationToken::new());
        let worker = Scripted { rounds, begun: Instant::now(), at: Arc::clone(&at), wakeup, stop: stop.clone() };
        run(worker, stop, WorkerReport::default()).await;
        let mut at = at.lock().unwrap().clone();
        assert_eq!(at.pop(), Some(u64::MAX), "it is told when its last round is over");
        at
    }

    #[tokio::test(start_paused = true)]
    async fn rounds_follow_each_other_as_the_worker_says() {
        let rounds = vec![Ok(Next::Now), Ok(Next::Later), Ok(Next::Later)];
        assert_eq!(seconds(rounds, Wakeup::default()).await, [0, 0, 1, 2]);
    }

    #[tokio::test(start_paused = true)]
    async fn what_fails_is_tried_again_more_and_more_slowly() {
        let rounds =
            vec![Err("gone"), Err("gone"), Err("gone"), Err("gone"), Err("gone"), Ok(Next::Later), Err("gone")];
        assert_eq!(seconds(rounds, Wakeup::default()).await, [0, 1, 3, 7, 12, 17, 18, 19]);
    }

    #[test]
    fn what_fails_is_never_tried_again_at_once() {
        let mut failures = Failures::reported_to(WorkerReport::default());
        let mut wait = || failures.wait_after("impatient", &"gone", Duration::ZERO);
        assert_eq!((wait(), wait()), (SHORTEST, SHORTEST * 2));
        (0..40).for_each(|_| _ = wait());
        assert_eq!(wait(), LONGEST);
    }

    /// It may be called often, and looks seldom by itself.
    #[test]
    fn what_looks_seldom_tries_again_soon_too() {
        const MINUTE: Duration = Duration::from_secs(60);
        let mut failures = Failures::reported_to(WorkerReport::default());
        let waits = [(); 6].map(|()| failures.wait_after("patient", &"gone", MINUTE).as_secs());
        assert_eq!(waits, [5, 10, 20, 40, 60, 60]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_begins_a_round_before_its_time_unless_the_last_failed() {
        let notified = || {
            let wakeup = Wakeup::default();
            wakeup.notify();
            wakeup
        };
        assert_eq!(seconds(vec![Ok(Next::Later), Ok(Next::Later)], notified()).await, [0, 0, 1]);
        assert_eq!(seconds(vec![Err("gone"), Ok(Next::Later)], notified()).await, [0, 1, 1]);
    }
}
