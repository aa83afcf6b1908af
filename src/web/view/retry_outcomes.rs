//! Outcomes of automatic retries: how many messages succeeded, and after which retry.

use std::collections::BTreeMap;

use super::{number, tally::QueueKey};
use crate::domain::policy::RetryCounts;

/// Counts of automatic retries.
pub struct RetryFigures {
    /// By queue and number of failures, the first failure first.
    pub counts: Vec<RetryCounts>,
    /// Those of them of which it is too early to tell whether they succeeded.
    pub recent: Vec<RetryCounts>,
}

/// The outcome of the messages of one queue.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QueueOutcomes {
    /// Messages that failed at all: for the first time.
    pub failed: u64,
    /// Were retried and have not failed again for so long that they count as succeeded.
    pub succeeded: u64,
    /// Were retried and have not failed again, but it is too early to tell.
    pub pending: u64,
    /// Needed attention: their automatic retries were used up, or there were none.
    pub exhausted: u64,
    /// How many succeeded after the first, second, … retry.
    pub by_retry: Vec<u64>,
}

/// Counts of one queue by number of failures.
type ByFailures<'a> = BTreeMap<u64, &'a RetryCounts>;

impl RetryFigures {
    pub fn by_queue(&self) -> BTreeMap<QueueKey<'_>, QueueOutcomes> {
        let (all, recent) = (by_queue(&self.counts), by_queue(&self.recent));
        let none = ByFailures::new();
        let outcomes = |queue| QueueOutcomes::new(&all[&queue], recent.get(&queue).unwrap_or(&none));
        all.keys().map(|queue| (*queue, outcomes(*queue))).collect()
    }
}

fn by_queue(counts: &[RetryCounts]) -> BTreeMap<QueueKey<'_>, ByFailures<'_>> {
    let mut queues: BTreeMap<QueueKey<'_>, ByFailures<'_>> = BTreeMap::new();
    for count in counts {
        queues.entry((&count.broker, count.queue.as_deref())).or_default().insert(count.failures, count);
    }
    queues
}

/// So many were retried after the `n`th failure and have not failed again.
fn not_failed_again(counts: &ByFailures<'_>, n: u64) -> u64 {
    let failed_again = counts.get(&(n + 1)).map_or(0, |count| count.failed);
    counts.get(&n).map_or(0, |count| count.retried).saturating_sub(failed_again)
}

impl QueueOutcomes {
    fn new(counts: &ByFailures<'_>, recent: &ByFailures<'_>) -> Self {
        /// A policy has no more; what a message claims beyond is not worth a bar.
        const MOST: u64 = 100;
        let last = counts.iter().filter(|(_, count)| count.retried > 0).map(|(n, _)| *n).max().unwrap_or(0).min(MOST);
        let pending = |n| not_failed_again(recent, n).min(not_failed_again(counts, n));
        let by_retry: Vec<u64> = (1..=last).map(|n| not_failed_again(counts, n) - pending(n)).collect();
        Self {
            failed: counts.get(&1).map_or(0, |count| count.failed),
            succeeded: by_retry.iter().sum(),
            pending: (1..=last).map(pending).sum(),
            exhausted: counts.values().map(|count| count.exhausted).sum(),
            by_retry,
        }
    }

    /// `after retry 1: 120, 2: 30`, the same as the chart in words.
    pub fn describe(&self) -> String {
        let parts = (1..).zip(&self.by_retry).filter(|(_, succeeded)| **succeeded > 0);
        let parts: Vec<_> =
            parts.map(|(n, succeeded)| format!("{n}:\u{a0}{}", number::thousands(*succeeded))).collect();
        if parts.is_empty() { "none succeeded".to_owned() } else { format!("after retry {}", parts.join(", ")) }
    }

    /// Heights from 0 to 100 of one bar for each retry; what is there at all is seen.
    pub fn heights(&self) -> Vec<u64> {
        const LEAST: u64 = 8;
        let most = self.by_retry.iter().copied().max().unwrap_or(0).max(1);
        let height = |succeeded: u64| u128::from(succeeded) * u128::from(100 - LEAST) / u128::from(most);
        let height = |succeeded: u64| LEAST + u64::try_from(height(succeeded)).unwrap_or(0);
        self.by_retry.iter().map(|succeeded| if *succeeded == 0 { 0 } else { height(*succeeded) }).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(queue: &str, failures: u64, [failed, retried, exhausted]: [u64; 3]) -> RetryCounts {
        RetryCounts { broker: "main".to_owned(), queue: Some(queue.to_owned()), failures, failed, retried, exhausted }
    }

    #[test]
    fn succeeded_is_what_was_retried_and_has_not_failed_again_for_long() {
        let all = [
            counts("a", 1, [100, 100, 0]),
            counts("a", 2, [40, 38, 0]),
            counts("a", 3, [8, 0, 8]),
            counts("b", 1, [5, 0, 5]),
            counts("c", 1, [1, 1, 0]),
            counts("c", 2, [3, 0, 0]),
        ];
        let recent = [counts("a", 1, [0, 20, 0]), counts("a", 2, [5, 9, 0]), counts("b", 1, [0, 7, 0])];
        let figures = RetryFigures { counts: all.to_vec(), recent: recent.to_vec() };
        let queues = figures.by_queue();
        let of = |queue| &queues[&("main", Some(queue))];
        assert_eq!(
            *of("a"),
            QueueOutcomes { failed: 100, succeeded: 66, pending: 24, exhausted: 8, by_retry: vec![45, 21] }
        );
        assert_eq!(*of("b"), QueueOutcomes { failed: 5, exhausted: 5, ..QueueOutcomes::default() });
        assert_eq!((of("c").succeeded, &*of("c").by_retry), (0, &[0][..]), "never below nothing");
        assert_eq!(of("a").describe(), "after retry 1:\u{a0}45, 2:\u{a0}21");
        assert_eq!((of("a").heights(), of("c").heights()), (vec![100, 50], vec![0]));
        assert_eq!(of("b").describe(), "none succeeded");
    }
}
