//! One look at a broker, and what is asked of it.

use std::{collections::BTreeSet, time::Duration};

use amqp_message::{glob::Globs, time::Timestamp};
use failure_conventions::dlo_queues;

use crate::domain::queue_level::QueueLevel;

/// How many intervals after the end of one look the next may begin for the time between them to count as watched.
const LONGEST_STEP: u32 = 3;
/// What takes longer is no look: all that is asked has an end before, so the clock or the machine has jumped meanwhile.
pub const LONGEST_LOOK: Duration = Duration::from_secs(90);

/// What is watched, and when it is told.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// How often the broker is asked.
    pub interval: Duration,
    /// How long a queue may be without the consumers it had.
    pub no_consumers_for: Duration,
    /// How long a queue of ours may grow.
    pub growing_for: Duration,
    /// How long messages may be ready in a queue of ours all the time, and how overdue a retry may be.
    pub lags_for: Duration,
    /// Whose consumers are watched.
    pub queues: Globs,
    /// The virtual host that all of it is in.
    pub vhost: String,
    pub dead_letter_exchange: String,
    pub dead_letter_queue: String,
    pub obituary_queue: String,
}

impl Settings {
    /// Whether it is a queue of a service, and one whose consumers are watched.
    pub fn watches(&self, level: &QueueLevel) -> bool {
        !self.is_ours(&level.name) && !level.exclusive && !level.auto_delete && self.queues.matches(&level.name)
    }

    /// Whether it is a queue from which dlo takes messages in.
    pub fn is_taken_in(&self, queue: &str) -> bool {
        queue == self.dead_letter_queue || queue == self.obituary_queue || queue == dlo_queues::DUE
    }

    /// Whether it is a queue that dlo declares for itself.
    pub fn is_ours(&self, queue: &str) -> bool {
        queue == self.dead_letter_queue || queue == self.obituary_queue || dlo_queues::is_queue(queue)
    }
}

/// What the caller found out.
#[derive(Clone, Copy, Debug)]
pub struct Poll<'a> {
    /// When the broker began to be asked.
    pub begun: Timestamp,
    /// When all was known.
    pub at: Timestamp,
    /// All queues of the virtual host; `None` when the management API did not answer.
    pub queues: Option<&'a [QueueLevel]>,
    /// The exchanges that lead to our own queues; `None` when that is not known.
    pub feeds: Option<&'a BTreeSet<String>>,
    /// Whether we consume from the queues of ours at this moment.
    pub is_consuming: bool,
    /// How overdue the oldest retry is that should have been published: zero when none is, `None` when that is not
    /// known.
    pub overdue: Option<Duration>,
}

/// A moment at which something was looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Look {
    pub at: Timestamp,
    /// How long was watched since the look before; `None` when that is too long ago, lies in the future, or never was.
    pub step: Option<Duration>,
}

impl Look {
    /// One that began and ended at these moments, after one that ended `before`. To ask for very many queues takes
    /// several intervals: that is watched time, too.
    pub fn new([begun, at]: [Timestamp; 2], before: Option<Timestamp>, interval: Duration) -> Self {
        let longest = interval.saturating_mul(LONGEST_STEP);
        let lasts = |from: Timestamp, to: Timestamp, most: Duration| from <= to && to.since(from) <= most;
        let is_watched = |before: &Timestamp| lasts(*before, begun, longest) && lasts(begun, at, LONGEST_LOOK);
        Self { at, step: before.filter(is_watched).map(|before| at.since(before)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(before: Option<u64>, at: u64, expected: Option<u64>) {
        check_long(before, [at, at], expected);
    }

    fn check_long(before: Option<u64>, look: [u64; 2], expected: Option<u64>) {
        let (before, moments) = (before.map(Timestamp::from_seconds), look.map(Timestamp::from_seconds));
        let found = Look::new(moments, before, Duration::from_secs(30));
        assert_eq!((found.at, found.step), (moments[1], expected.map(Duration::from_secs)), "{before:?}, {look:?}");
    }

    #[test]
    fn only_time_that_was_watched_counts() {
        check(None, 100, None);
        check(Some(70), 100, Some(30));
        check(Some(100), 100, Some(0));
        check(Some(10), 100, Some(90));
        check(Some(9), 100, None);
        check(Some(101), 100, None);
    }

    #[test]
    fn a_look_counts_however_long_it_takes_but_for_a_jump() {
        check_long(Some(10), [100, 190], Some(180));
        check_long(Some(9), [100, 101], None);
        check_long(Some(90), [100, 191], None);
        check_long(Some(90), [100, 99], None);
        check_long(None, [100, 110], None);
    }
}
