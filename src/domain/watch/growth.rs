//! A queue that grows and is not drained.

use std::{mem, time::Duration};

use amqp_message::time::Timestamp;

use super::Look;

/// How a queue has grown since it was last as short as it was then.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Growth {
    /// Messages at the beginning: fewer than at any look since.
    pub from: u64,
    /// The most messages since.
    pub peak: u64,
    /// When it began; `None` before the first look.
    pub since: Option<Timestamp>,
    /// How much of the time since then was watched.
    pub lasted: Duration,
    /// Whether the number was reported at the last look.
    pub known: bool,
    pub told: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    /// From so many messages, since then.
    Begun {
        from: u64,
        since: Timestamp,
    },
    Over {
        from: u64,
        since: Timestamp,
    },
}

impl Growth {
    /// One look. It grows once it has had more messages than at the beginning for `limit` and is still within a tenth
    /// of its peak; below that it is being drained. It no longer grows when half of what had come is gone.
    pub(super) fn observe(&mut self, messages: Option<u64>, look: Look, limit: Duration) -> Option<Turn> {
        let known = mem::replace(&mut self.known, messages.is_some());
        let now = messages?;
        let Some(since) = self.since else { return self.begin(now, look.at) };
        self.peak = self.peak.max(now);
        if self.told {
            let half = self.from + (self.peak - self.from) / 2;
            return if now <= half { self.begin(now, look.at) } else { None };
        }
        if now <= self.from {
            return self.begin(now, look.at);
        }
        let step = look.step.filter(|_| known).unwrap_or_default();
        self.lasted = self.lasted.saturating_add(step).min(limit);
        if self.lasted < limit || now < self.peak - self.peak / 10 {
            return None;
        }
        self.told = true;
        Some(Turn::Begun { from: self.from, since })
    }

    /// Ends what was reported, if anything was.
    pub(super) fn end(&mut self) -> Option<Turn> {
        let Self { from, since, told, .. } = mem::take(self);
        told.then(|| Turn::Over { from, since: since.unwrap_or_default() })
    }

    /// Begins anew with so many messages.
    fn begin(&mut self, messages: u64, at: Timestamp) -> Option<Turn> {
        let over = self.end();
        *self = Self { from: messages, peak: messages, since: Some(at), known: true, ..Self::default() };
        over
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: Duration = Duration::from_secs(60);

    /// One look a minute, for a limit of three minutes; the answer is at which look it begins to be reported or is over.
    fn check(levels: &[Option<u64>], expected: &[(usize, bool)]) {
        let (mut growth, mut told) = (Growth::default(), Vec::new());
        for (minute, messages) in levels.iter().enumerate() {
            let at = Timestamp::from_seconds(60 * minute as u64);
            match growth.observe(*messages, Look { at, step: Some(MINUTE) }, 3 * MINUTE) {
                Some(Turn::Begun { .. }) => told.push((minute, true)),
                Some(Turn::Over { .. }) => told.push((minute, false)),
                None => {}
            }
        }
        assert_eq!(told, expected, "{levels:?}");
    }

    fn levels(levels: &[u64], expected: &[(usize, bool)]) {
        check(&levels.iter().copied().map(Some).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn a_queue_that_grows_is_reported_once() {
        levels(&[0, 10, 20, 30, 40, 50], &[(3, true)]);
        levels(&[100, 101, 101, 101], &[(3, true)]);
        // Its messages come faster than they go, though some go.
        levels(&[0, 500, 480, 900, 880, 1_200], &[(3, true)]);
    }

    #[test]
    fn a_queue_that_is_drained_is_not() {
        levels(&[0, 0, 0, 0, 0], &[]);
        levels(&[7, 7, 7, 7, 7], &[]);
        levels(&[0, 9, 0, 9, 0, 9], &[]);
        levels(&[0, 1_000, 800, 600, 400, 200], &[]);
        levels(&[50, 40, 30, 20, 10], &[]);
    }

    #[test]
    fn it_is_over_when_half_of_it_is_gone() {
        levels(&[0, 10, 20, 30, 20, 16, 15], &[(3, true), (6, false)]);
        // What came after it was reported counts, too.
        levels(&[0, 10, 20, 30, 100, 50], &[(3, true), (5, false)]);
        // And it may begin again.
        levels(&[0, 10, 20, 30, 0, 10, 20, 30], &[(3, true), (4, false), (7, true)]);
    }

    #[test]
    fn a_number_that_is_not_told_counts_nothing() {
        check(&[Some(0), None, Some(10), None, Some(20), None, Some(30)], &[]);
        check(&[Some(0), Some(10), None, Some(20), Some(30), Some(40)], &[(5, true)]);
        check(&[None; 9], &[]);
    }

    #[test]
    fn the_largest_numbers_do_no_harm() {
        levels(&[0, u64::MAX, u64::MAX, u64::MAX, 1, 0], &[(3, true), (4, false)]);
        levels(&[u64::MAX - 1, u64::MAX, u64::MAX, u64::MAX, u64::MAX - 1], &[(3, true), (4, false)]);
    }
}
