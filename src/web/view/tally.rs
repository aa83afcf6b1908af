//! Counts by one property under the rest of a filter, from the counts that the database keeps.

use std::collections::BTreeMap;

use crate::domain::{
    filter::{FacetCount, LetterCounts, LetterFilter, NameMatcher},
    letter::{Importance, Status},
};

/// The kept counts, seen through a filter. They know no times: with `since` or `until` these numbers are too large.
pub struct Tally<'a> {
    counts: &'a LetterCounts,
    filter: &'a LetterFilter,
    queues: NameMatcher<'a>,
}

impl<'a> Tally<'a> {
    /// `counts` are those of this filter, or of one that asks for the same queues, brokers and reasons, or for any.
    pub fn new(counts: &'a LetterCounts, filter: &'a LetterFilter) -> Self {
        Self { counts, filter, queues: filter.queues.matcher() }
    }

    /// Letters that the filter lets through.
    pub fn total(&self) -> u64 {
        self.sum(|status, importance| self.status_fits(status) && self.importance_fits(importance))
    }

    /// Letters of `status` that all else in the filter lets through.
    pub fn of_status(&self, status: Status) -> u64 {
        self.sum(|of, importance| of == status && self.importance_fits(importance))
    }

    /// Letters of `importance` that all else in the filter lets through.
    pub fn of_importance(&self, importance: Importance) -> u64 {
        self.sum(|status, of| of == importance && self.status_fits(status))
    }

    /// Letters that the filter lets through, by the name of their queue, most first.
    pub fn by_queue(&self) -> Vec<(Option<&'a str>, u64)> {
        let mut queues: BTreeMap<Option<&str>, u64> = BTreeMap::new();
        let fits = |facet: &&FacetCount| {
            self.status_fits(facet.status) && self.importance_fits(facet.importance) && self.rest_fits(facet)
        };
        for facet in self.counts.facets.iter().filter(fits) {
            *queues.entry(facet.queue.as_deref()).or_default() += facet.count;
        }
        let mut queues: Vec<_> = queues.into_iter().collect();
        queues.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        queues
    }

    fn sum(&self, fits: impl Fn(Status, Importance) -> bool) -> u64 {
        let facets = self.counts.facets.iter();
        let facets = facets.filter(|facet| fits(facet.status, facet.importance) && self.rest_fits(facet));
        let sums = self.counts.sums.iter().filter(|(status, importance, _)| fits(*status, *importance));
        facets.map(|facet| facet.count).chain(sums.map(|(.., count)| *count)).sum()
    }

    fn status_fits(&self, status: Status) -> bool {
        any(&self.filter.statuses, &status)
    }

    fn importance_fits(&self, importance: Importance) -> bool {
        any(&self.filter.importances, &importance)
    }

    fn rest_fits(&self, facet: &FacetCount) -> bool {
        any(&self.filter.brokers, &facet.broker)
            && any(&self.filter.reasons, &facet.reason)
            && self.queues.matches(facet.queue.as_deref().unwrap_or_default())
    }
}

/// An empty list lets everything through.
fn any<T: PartialEq>(allowed: &[T], value: &T) -> bool {
    allowed.is_empty() || allowed.contains(value)
}

/// How many letters each queue has, by status and, of the open ones, by importance.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QueueCounts {
    pub by_status: BTreeMap<Status, u64>,
    pub open_by_importance: BTreeMap<Importance, u64>,
}

impl QueueCounts {
    pub fn of(&self, status: Status) -> u64 {
        self.by_status.get(&status).copied().unwrap_or_default()
    }
}

/// A queue of a broker; `None` where letters do not say in which one they failed.
pub type QueueKey<'a> = (&'a str, Option<&'a str>);

/// Every queue of which counts are kept here, by the number of its open letters, most first.
pub fn queues(counts: &LetterCounts) -> Vec<(QueueKey<'_>, QueueCounts)> {
    queues_with(&counts.facets, std::iter::empty())
}

/// The same with queues that are known otherwise, whether letters came from them or not.
pub fn queues_with<'a>(
    facets: &'a [FacetCount],
    others: impl Iterator<Item = QueueKey<'a>>,
) -> Vec<(QueueKey<'a>, QueueCounts)> {
    let mut queues: BTreeMap<QueueKey<'_>, QueueCounts> = others.map(|key| (key, QueueCounts::default())).collect();
    for facet in facets {
        let counts = queues.entry((&facet.broker, facet.queue.as_deref())).or_default();
        *counts.by_status.entry(facet.status).or_default() += facet.count;
        if facet.status == Status::Open {
            *counts.open_by_importance.entry(facet.importance).or_default() += facet.count;
        }
    }
    let mut queues: Vec<_> = queues.into_iter().collect();
    queues.sort_by_key(|(_, counts)| std::cmp::Reverse(counts.of(Status::Open)));
    queues
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::filter::Names;
    use amqp_message::death::Reason;

    fn facet(queue: Option<&str>, status: Status, importance: Importance, count: u64) -> FacetCount {
        let queue = queue.map(str::to_owned);
        FacetCount { broker: "main".to_owned(), queue, reason: Reason::Rejected, status, importance, count }
    }

    #[test]
    fn counts_under_the_rest_of_the_filter() {
        let facets = [
            facet(Some("a.x"), Status::Open, Importance::High, 1),
            facet(Some("a.y"), Status::Open, Importance::Low, 10),
            facet(Some("b"), Status::Retried, Importance::High, 100),
            facet(None, Status::Open, Importance::High, 1_000),
        ];
        let counts = LetterCounts::from(facets.to_vec());
        let check = |filter: LetterFilter, expected: [u64; 3]| {
            let tally = Tally::new(&counts, &filter);
            assert_eq!([tally.total(), tally.of_status(Status::Open), tally.of_importance(Importance::High)], expected);
        };
        check(LetterFilter::default(), [1_111, 1_011, 1_101]);
        check(LetterFilter { statuses: vec![Status::Retried], ..LetterFilter::default() }, [100, 1_011, 100]);
        check(LetterFilter { queues: Names::globs(["a.*"]), ..LetterFilter::default() }, [11, 11, 1]);
        check(LetterFilter { queues: Names::exact([""]), ..LetterFilter::default() }, [1_000, 1_000, 1_000]);
        check(LetterFilter { brokers: vec!["other".to_owned()], ..LetterFilter::default() }, [0, 0, 0]);
    }

    #[test]
    fn what_is_only_summed_up_counts_too() {
        let facets = vec![facet(Some("a"), Status::Open, Importance::High, 1)];
        let counts = LetterCounts { facets, sums: vec![(Status::Discarded, Importance::High, 5)] };
        let everything = LetterFilter::default();
        let tally = Tally::new(&counts, &everything);
        assert_eq!(
            (tally.total(), tally.of_status(Status::Discarded), tally.of_importance(Importance::High)),
            (6, 5, 6)
        );
        let open = LetterFilter { statuses: vec![Status::Open], ..everything.clone() };
        assert_eq!(Tally::new(&counts, &open).of_importance(Importance::High), 1);
    }

    #[test]
    fn queues_with_most_open_letters_come_first() {
        let facets = [
            facet(Some("a"), Status::Open, Importance::High, 1),
            facet(Some("b"), Status::Open, Importance::Low, 2),
            facet(Some("a"), Status::Open, Importance::Low, 3),
            facet(None, Status::Retried, Importance::Low, 9),
        ];
        let counts = LetterCounts::from(facets.to_vec());
        let names: Vec<_> =
            queues(&counts).iter().map(|((_, queue), counts)| (*queue, counts.of(Status::Open))).collect();
        assert_eq!(names, [(Some("a"), 4), (Some("b"), 2), (None, 0)]);
    }
}
