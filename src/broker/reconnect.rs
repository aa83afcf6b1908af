//! Building a session again after it is over, at once at first and then more and more slowly.

use std::time::Duration;

use tokio_util::sync::CancellationToken;

const FIRST: Duration = Duration::from_millis(100);
/// Work has to resume within seconds of the broker's return.
const LONGEST: Duration = Duration::from_secs(3);

/// The delays between attempts. They double, and differ by up to a half, so that many offices do not knock at a
/// restarted broker at the same moment.
#[derive(Debug, Default)]
pub struct Backoff {
    failures: u32,
}

impl Backoff {
    /// To be called once a session works.
    pub const fn reset(&mut self) {
        self.failures = 0;
    }

    /// Whether nothing has failed since the last session that worked.
    pub const fn is_fresh(&self) -> bool {
        self.failures == 0
    }

    pub fn next(&mut self) -> Duration {
        let delay = FIRST.saturating_mul(2_u32.saturating_pow(self.failures)).min(LONGEST);
        self.failures = self.failures.saturating_add(1);
        delay.mul_f64(0.5 + fastrand::f64() / 2.0)
    }

    /// Waits before the next attempt; `false` when there is to be none.
    pub async fn wait(&mut self, cancel: &CancellationToken) -> bool {
        cancel.run_until_cancelled(tokio::time::sleep(self.next())).await.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grows_to_its_limit_and_starts_over() {
        let mut backoff = Backoff::default();
        assert!(backoff.next() <= FIRST);
        for _ in 0..100 {
            assert!(backoff.next() <= LONGEST);
        }
        assert!(backoff.next() >= LONGEST / 2);
        backoff.reset();
        assert!(backoff.next() <= FIRST);
    }
}
