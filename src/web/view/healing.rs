//! What automatic retries come to: how many messages succeed, and after which retry.

use std::collections::BTreeMap;

use super::{number, tally::QueueKey};
use crate::domain::policy::RetryCounts;

/// The outcome of the messages of one queue.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Healing {
    /// Messages that failed at all: for the first time.
    pub failed: u64,
    /// Went back by themselves and have not failed again, as far as one knows by now.
    pub succeeded: u64,
    /// Needed attention because their retries were used up.
    pub exhausted: u64,
    /// How many succeeded after the first, second, … retry.
    pub by_retry: Vec<u64>,
}

/// By queue. The counts are those of all failures, the first one first.
pub fn by_queue(counts: &[RetryCounts]) -> BTreeMap<QueueKey<'_>, Healing> {
    let mut queues: BTreeMap<QueueKey<'_>, BTreeMap<u64, &RetryCounts>> = BTreeMap::new();
    for count in counts {
        queues.entry((&count.broker, count.queue.as_deref())).or_default().insert(count.failures, count);
    }
    queues.into_iter().map(|(queue, counts)| (queue, Healing::new(&counts))).collect()
}

impl Healing {
    fn new(counts: &BTreeMap<u64, &RetryCounts>) -> Self {
        /// A policy has no more; what a message claims beyond is not worth a bar.
        const MOST: u64 = 100;
        let last = counts.iter().filter(|(_, count)| count.retried > 0).map(|(n, _)| *n).max().unwrap_or(0).min(MOST);
        let failed = |failures: u64| counts.get(&failures).map_or(0, |count| count.failed);
        let retried = |failures: u64| counts.get(&failures).map_or(0, |count| count.retried);
        let by_retry: Vec<u64> = (1..=last).map(|n| retried(n).saturating_sub(failed(n + 1))).collect();
        Self {
            failed: failed(1),
            succeeded: by_retry.iter().sum(),
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
    fn succeeded_is_what_went_back_and_did_not_fail_again() {
        let counts = [
            counts("a", 1, [100, 100, 0]),
            counts("a", 2, [40, 38, 0]),
            counts("a", 3, [8, 0, 8]),
            counts("b", 1, [5, 0, 5]),
            counts("c", 1, [1, 1, 0]),
            counts("c", 2, [3, 0, 0]),
        ];
        let queues = by_queue(&counts);
        let of = |queue| &queues[&("main", Some(queue))];
        assert_eq!(*of("a"), Healing { failed: 100, succeeded: 90, exhausted: 8, by_retry: vec![60, 30] });
        assert_eq!(*of("b"), Healing { failed: 5, succeeded: 0, exhausted: 5, by_retry: vec![] });
        assert_eq!((of("c").succeeded, &*of("c").by_retry), (0, &[0][..]), "never below nothing");
        assert_eq!(of("a").describe(), "after retry 1:\u{a0}60, 2:\u{a0}30");
        assert_eq!((of("a").heights(), of("c").heights()), (vec![100, 54], vec![0]));
        assert_eq!(of("b").describe(), "none succeeded");
    }
}
