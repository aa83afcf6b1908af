//! Samples of letters, spread evenly over all that a filter lets through in the order of their coming in.

use amqp_message::time::Timestamp;
use futures_util::{StreamExt, TryStreamExt, stream};
use uuid::Uuid;

use crate::{
    domain::{
        filter::{Cursor, HistogramBar, LetterFilter, PageRequest, Sort},
        letter::{LetterId, LetterSummary},
    },
    store::{StoreError, StoreReader},
};

/// Letters of a sample at most.
pub(super) const SAMPLE: usize = 400;
/// Bytes of a body that is read.
pub const LARGEST: u64 = 64 * 1024;
/// They are taken from so many places.
const PLACES: usize = 25;
/// Places that are read at the same time.
const AT_ONCE: usize = 4;
/// Bars that the time is cut in to find the places.
const BARS: u32 = 60;

/// Letters to compare others with, by what they are.
#[derive(Default)]
pub(super) struct Others {
    pub other_groups: Vec<LetterSummary>,
    pub succeeded: Vec<LetterSummary>,
    pub same_type: Vec<LetterSummary>,
    pub is_same_time: bool,
}

impl Others {
    pub(super) fn len(&self) -> usize {
        self.other_groups.len() + self.succeeded.len() + self.same_type.len()
    }

    pub(super) fn within_budget(self) -> Self {
        let kinds = within_budget([self.other_groups, self.succeeded, self.same_type]);
        let [other_groups, succeeded, same_type] = kinds;
        Self { other_groups, succeeded, same_type, ..self }
    }
}

/// `limit` letters at most, none of which is too large to be read. The same letters give the same sample.
pub(super) async fn sample(
    store: &StoreReader,
    filter: &LetterFilter,
    limit: usize,
) -> Result<Vec<LetterSummary>, StoreError> {
    let page = |after, limit| PageRequest { sort: Sort::Newest, after, limit };
    let newest = store.letters(filter, &page(None, limit)).await?;
    let all_of_them = newest.next.is_none();
    let Some(last) = newest.items.first().filter(|_| !all_of_them).map(|letter| letter.received_at) else {
        return Ok(readable(newest.items));
    };
    let first = store.first_received(filter).await?.unwrap_or(last);
    let end = last.plus(std::time::Duration::from_micros(1));
    let bars = store.histogram(filter, first, end, end.since(first) / BARS).await?;
    let places = places(&bars, first, end);
    let of_place = limit.div_ceil(PLACES);
    let read = stream::iter(places).map(|at| {
        let before = Some(Cursor::at(at, LetterId::from_uuid(Uuid::max())));
        async move { store.letters(filter, &page(before, of_place)).await }
    });
    let pages: Vec<_> = read.buffered(AT_ONCE).try_collect().await?;
    let mut letters: Vec<LetterSummary> = pages.into_iter().flat_map(|page| page.items).collect();
    letters.sort_by_key(|letter| letter.id);
    letters.dedup_by_key(|letter| letter.id);
    Ok(evenly(readable(letters).into_iter(), limit).collect())
}

/// Moments before which the same number of letters came in each, as far as the bars tell.
fn places(bars: &[HistogramBar], first: Timestamp, end: Timestamp) -> Vec<Timestamp> {
    let count = |bar: &HistogramBar| bar.counts.iter().sum::<u64>();
    let total: u64 = bars.iter().map(count).sum();
    if total == 0 {
        // They are too many to be counted: then places are spread over the time.
        let at = |number: u32| first.plus(end.since(first) * (number + 1) / PLACES as u32);
        return (0..PLACES as u32).map(at).collect();
    }
    let until = |place: usize| bars.get(place + 1).map_or(end, |next| next.from);
    let at = |number: usize| {
        let mut rest = total as f64 * (number + 1) as f64 / PLACES as f64;
        let mut found = end;
        for (place, bar) in bars.iter().enumerate().filter(|(_, bar)| count(bar) > 0) {
            let share = rest / count(bar) as f64;
            if share <= 1.0 {
                let from = bar.from.max(first);
                found = from.plus(until(place).since(from).mul_f64(share));
                break;
            }
            rest -= count(bar) as f64;
        }
        found
    };
    (0..PLACES).map(at).collect()
}

/// Without those that are too large to be read.
fn readable(mut letters: Vec<LetterSummary>) -> Vec<LetterSummary> {
    letters.retain(|letter| letter.size <= LARGEST);
    letters
}

/// As many of each kind as together are not too much to read: the same share of each, so that they stay what they are.
pub(super) fn within_budget<const N: usize>(kinds: [Vec<LetterSummary>; N]) -> [Vec<LetterSummary>; N] {
    /// Bytes of all bodies.
    const BUDGET: u64 = 4 * 1024 * 1024;
    let longest = kinds.iter().map(Vec::len).max().unwrap_or_default().max(1);
    let share = |len: usize, part: usize| (len * part).div_ceil(longest);
    let bytes = |part: usize| {
        let kept = kinds.iter().flat_map(|kind| evenly(kind.iter(), share(kind.len(), part)));
        kept.map(|letter| letter.size).sum::<u64>()
    };
    let part = (0..=longest).rev().find(|part| bytes(*part) <= BUDGET).unwrap_or_default();
    kinds.map(|kind| {
        let n = share(kind.len(), part);
        evenly(kind.into_iter(), n).collect()
    })
}

/// `n` of them at most, spread as they are.
pub(super) fn evenly<I: ExactSizeIterator>(all: I, n: usize) -> impl Iterator<Item = I::Item> {
    let of = all.len();
    all.enumerate().filter(move |(at, _)| at * n % of < n).map(|(_, one)| one)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_spread_evenly() {
        let check = |of: usize, n: usize, expected: &[usize]| {
            assert_eq!(evenly(0..of, n).collect::<Vec<_>>(), expected, "{n} of {of}");
        };
        check(10, 4, &[0, 3, 5, 8]);
        check(6, 3, &[0, 2, 4]);
        check(3, 3, &[0, 1, 2]);
        check(3, 7, &[0, 1, 2]);
        check(3, 0, &[]);
        check(0, 3, &[]);
    }
}
