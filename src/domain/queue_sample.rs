//! How a queue stood over time.

use std::time::Duration;

use amqp_message::time::Timestamp;

/// How long the time is of which one sample tells.
pub const SAMPLE: Duration = Duration::from_secs(15 * 60);
/// For how long samples are kept.
pub const KEPT: Duration = Duration::from_secs(24 * 60 * 60);

/// The worst of a queue in one quarter of an hour; `None` is "not told", never zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueSample {
    /// When that quarter began.
    pub at: Timestamp,
    /// The most that were in it, ready and unacknowledged together.
    pub messages: Option<u64>,
    /// The fewest it had.
    pub consumers: Option<u64>,
}

/// When each of the samples begins that are kept at that time, the oldest first.
pub fn kept_at(now: Timestamp) -> impl Iterator<Item = Timestamp> {
    let last = now.floor_to(SAMPLE);
    let before = u32::try_from(KEPT.as_micros() / SAMPLE.as_micros()).unwrap_or(0) - 1;
    (0..=before).rev().map(move |n| last.minus(SAMPLE * n))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_has_96_of_them_and_the_last_has_begun() {
        let now = Timestamp::from_micros(1_790_000_123_456_789);
        let kept: Vec<_> = kept_at(now).collect();
        assert_eq!(kept.len(), 96);
        assert!(kept.is_sorted() && now.since(kept[95]) < SAMPLE && now.since(kept[0]) < KEPT);
        assert!(kept.iter().all(|at| at.floor_to(SAMPLE) == *at));
    }
}
