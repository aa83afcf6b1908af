//! A queue and its consumers.

use std::{mem, time::Duration};

use amqp_message::time::Timestamp;

use super::{Absences, Change, Concern, Look};

/// How long consumers have to stay for a queue to count as having them again, unless `no_consumers_for` is shorter.
pub const SETTLED: Duration = Duration::from_secs(60);

/// What is remembered of a queue of which consumers were seen.
///
/// While all is well it stays as it is from look to look, so that nothing has to be written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Watched {
    /// How many there were at the last look; `None` when that was not told.
    pub consumers: Option<u64>,
    /// How many there were when last there were any: the more of the last two such looks, since a service that stops
    /// may be seen half stopped.
    pub had: u64,
    /// The last look with consumers before the one that found none; `None` while there are some.
    pub had_consumers_at: Option<Timestamp>,
    /// When it was first seen without, and the bucket began to fill; `None` while the bucket is empty.
    pub without_since: Option<Timestamp>,
    /// How full the bucket is: time watched without consumers, less time with; `no_consumers_for` at most.
    pub without_for: Duration,
    /// Consumers came and went since `without_since`.
    pub interrupted: bool,
    /// Once it is reported: how long consumers have stayed now.
    pub with_for: Duration,
    pub told: bool,
    pub absences: Absences,
}

impl Watched {
    /// One look at the queue, and what there is to report of it.
    ///
    /// `consumers` is `None` when they are not told, `before` is when it was looked at last, and `limit` is how long it
    /// may be without.
    pub fn observe(
        &mut self,
        queue: &str,
        consumers: Option<u64>,
        look: Look,
        before: Option<Timestamp>,
        limit: Duration,
    ) -> Option<Change> {
        self.absences = Absences::default();
        let last = mem::replace(&mut self.consumers, consumers);
        let now = consumers?;
        // When a step ends otherwise than it began, nobody knows how much of it was how.
        let is_alike = last.is_some_and(|last| (last > 0) == (now > 0));
        let step = look.step.filter(|_| is_alike).unwrap_or_default();
        if now > 0 {
            return self.with_consumers(queue, now, last, step, limit);
        }
        if last.is_some_and(|last| last > 0) {
            self.had_consumers_at = before;
        }
        self.without_consumers(queue, look.at, step, limit)
    }

    /// It is missing at this look. The answer is whether it is gone.
    pub(super) fn miss(&mut self) -> bool {
        self.consumers = None;
        self.absences.one_more()
    }

    /// What is reported of it and not over.
    pub fn concern(&self, queue: &str) -> Option<Concern> {
        self.told.then(|| self.no_consumers(queue))
    }

    fn with_consumers(
        &mut self,
        queue: &str,
        now: u64,
        last: Option<u64>,
        step: Duration,
        limit: Duration,
    ) -> Option<Change> {
        self.had_consumers_at = None;
        if self.told {
            self.with_for = self.with_for.saturating_add(step);
            return (self.with_for >= SETTLED.min(limit)).then(|| self.settle(queue, now));
        }
        self.had = now.max(last.unwrap_or(0));
        self.without_for = self.without_for.saturating_sub(step);
        self.interrupted = !self.without_for.is_zero();
        if self.without_for.is_zero() {
            self.without_since = None;
        }
        None
    }

    fn settle(&mut self, queue: &str, now: u64) -> Change {
        let over = self.no_consumers(queue);
        *self = Self { consumers: Some(now), had: now, ..Self::default() };
        Change::Cleared(over)
    }

    fn without_consumers(&mut self, queue: &str, at: Timestamp, step: Duration, limit: Duration) -> Option<Change> {
        self.without_since.get_or_insert(at);
        self.with_for = Duration::ZERO;
        self.without_for = self.without_for.saturating_add(step).min(limit);
        if self.told || self.without_for < limit {
            return None;
        }
        self.told = true;
        self.concern(queue).map(Change::Raised)
    }

    fn no_consumers(&self, queue: &str) -> Concern {
        Concern::NoConsumers {
            queue: queue.to_owned(),
            since: self.without_since.unwrap_or_default(),
            had: self.had,
            interrupted: self.interrupted,
        }
    }
}
