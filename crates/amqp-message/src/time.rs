//! Points in time.

use std::time::Duration;

/// A point in time, in whole microseconds since the Unix epoch (UTC).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

impl Timestamp {
    /// The latest time there is; a filter without an end uses it.
    pub const MAX: Self = Self(i64::MAX);

    /// Microseconds since the Unix epoch.
    pub const fn from_micros(micros: i64) -> Self {
        Self(micros)
    }

    /// AMQP 0-9-1 timestamps are whole seconds; one too large for us saturates.
    pub fn from_seconds(seconds: u64) -> Self {
        let seconds = i64::try_from(seconds).unwrap_or(i64::MAX);
        Self(seconds.saturating_mul(1_000_000))
    }

    /// Microseconds since the Unix epoch.
    pub const fn as_micros(self) -> i64 {
        self.0
    }

    /// So much later; [`MAX`](Self::MAX) where there is no such time.
    pub fn plus(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(micros(duration)))
    }

    /// So much earlier; the earliest time where there is no such time.
    pub fn minus(self, duration: Duration) -> Self {
        Self(self.0.saturating_sub(micros(duration)))
    }

    /// How long after `earlier` this is; zero when it is not after.
    pub fn since(self, earlier: Self) -> Duration {
        let micros = self.0.saturating_sub(earlier.0);
        Duration::from_micros(u64::try_from(micros).unwrap_or(0))
    }

    /// Rounds down to a whole multiple of `width` since the epoch.
    pub fn floor_to(self, width: Duration) -> Self {
        let width = micros(width).max(1);
        Self(self.0.div_euclid(width).saturating_mul(width))
    }
}

fn micros(duration: Duration) -> i64 {
    i64::try_from(duration.as_micros()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floors_also_before_the_epoch() {
        let minute = Duration::from_secs(60);
        assert_eq!(Timestamp::from_micros(-1).floor_to(minute), Timestamp::from_micros(-60_000_000));
        assert_eq!(Timestamp::from_micros(61_000_000).floor_to(minute), Timestamp::from_micros(60_000_000));
    }

    #[test]
    fn never_overflows() {
        assert_eq!(Timestamp::MAX.plus(Duration::from_secs(1)), Timestamp::MAX);
        assert_eq!(Timestamp::from_seconds(u64::MAX), Timestamp::MAX);
        assert_eq!(Timestamp::from_micros(0).since(Timestamp::MAX), Duration::ZERO);
    }
}
