//! What time it is. It is handed to whoever needs to know, so that tests can turn it.

use std::{
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use amqp_message::time::Timestamp;

#[derive(Clone, Debug, Default)]
pub struct Clock {
    source: Source,
    /// The latest time that was told to anybody.
    latest: Arc<AtomicI64>,
}

#[derive(Clone, Debug, Default)]
enum Source {
    #[default]
    System,
    Manual(Arc<AtomicI64>),
}

impl Clock {
    /// The machine's own clock.
    pub fn system() -> Self {
        Self::default()
    }

    /// A clock that stands at `now` until it is moved on.
    pub fn manual(now: Timestamp) -> Self {
        Self { source: Source::Manual(Arc::new(AtomicI64::new(now.as_micros()))), latest: Arc::default() }
    }

    /// Moves a manual clock on; the system's own is not ours to move.
    pub fn advance(&self, by: Duration) {
        if let Source::Manual(micros) = &self.source {
            micros.store(self.now().plus(by).as_micros(), Ordering::SeqCst);
        }
    }

    /// Puts a manual clock forward or back, as people do with theirs.
    pub fn set(&self, now: Timestamp) {
        if let Source::Manual(micros) = &self.source {
            micros.store(now.as_micros(), Ordering::SeqCst);
        }
    }

    pub fn now(&self) -> Timestamp {
        let now = match &self.source {
            Source::System => system_now(),
            Source::Manual(micros) => Timestamp::from_micros(micros.load(Ordering::SeqCst)),
        };
        self.latest.fetch_max(now.as_micros(), Ordering::Relaxed);
        now
    }

    /// The latest time that was told to anybody: what the clock says, unless it was put back.
    pub fn latest(&self) -> Timestamp {
        let now = self.now();
        now.max(Timestamp::from_micros(self.latest.load(Ordering::Relaxed)))
    }

    /// Forgets what the clock said before it was put back.
    pub fn forget_latest(&self) {
        self.latest.store(self.now().as_micros(), Ordering::Relaxed);
    }
}

#[expect(clippy::disallowed_methods, reason = "the one place that asks the machine")]
fn system_now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_micros(i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
}
