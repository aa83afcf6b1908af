//! Building a session again after it is over, at once at first and then more and more slowly.

use std::time::Duration;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

const FIRST: Duration = Duration::from_millis(100);
/// Work has to resume within seconds of the broker's return.
const LONGEST: Duration = Duration::from_secs(3);
/// A session that lasted for less has not worked: one that dies at once, again and again, must not be built ten times
/// a second, for each time the broker counts what it had delivered as returned.
const STEADY: Duration = Duration::from_secs(5);

/// The delays between attempts. They double, and differ by up to a half, so that many servers do not reconnect to a
/// restarted broker at the same moment.
#[derive(Debug, Default)]
pub struct Backoff {
    failures: u32,
    connected: Option<Instant>,
}

impl Backoff {
    /// To be called once a session begins its work.
    pub fn connected(&mut self) {
        self.connected = Some(Instant::now());
    }

    /// Whether nothing has failed since the last session that has worked.
    pub fn is_fresh(&self) -> bool {
        self.failures == 0 || self.has_worked()
    }

    fn has_worked(&self) -> bool {
        self.connected.is_some_and(|since| since.elapsed() >= STEADY)
    }

    pub fn next_delay(&mut self) -> Duration {
        if self.has_worked() {
            self.failures = 0;
        }
        self.connected = None;
        let delay = FIRST.saturating_mul(2_u32.saturating_pow(self.failures)).min(LONGEST);
        self.failures = self.failures.saturating_add(1);
        delay.mul_f64(0.5 + fastrand::f64() / 2.0)
    }

    /// Waits before the next attempt; `false` when there is to be none.
    pub async fn wait(&mut self, cancel: &CancellationToken) -> bool {
        cancel.run_until_cancelled(tokio::time::sleep(self.next_delay())).await.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at_its_limit() -> Backoff {
        let mut backoff = Backoff::default();
        for _ in 0..100 {
            assert!(backoff.next_delay() <= LONGEST);
        }
        assert!(backoff.next_delay() >= LONGEST / 2);
        backoff
    }

    #[tokio::test(start_paused = true)]
    async fn starts_over_after_a_session_that_lasted() {
        let mut backoff = at_its_limit();
        backoff.connected();
        tokio::time::advance(STEADY).await;
        assert!(backoff.is_fresh());
        assert!(backoff.next_delay() <= FIRST);
    }

    #[tokio::test(start_paused = true)]
    async fn goes_on_after_a_session_that_died_at_once() {
        let mut backoff = at_its_limit();
        backoff.connected();
        assert!(!backoff.is_fresh());
        assert!(backoff.next_delay() >= LONGEST / 2);
        assert!(!backoff.is_fresh());
    }
}
