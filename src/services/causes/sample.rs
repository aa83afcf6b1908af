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
/// They are taken from so many places.
const PLACES: usize = 25;
/// Places that are read at the same time.
const AT_ONCE: usize = 4;
/// Bars that the time is cut in to find the places.
const BARS: u32 = 60;

/// `limit` letters at most. The same letters give the same sample.
pub(super) async fn sample(
    store: &StoreReader,
    filter: &LetterFilter,
    limit: usize,
) -> Result<Vec<LetterSummary>, StoreError> {
    let page = |sort, after, limit| PageRequest { sort, after, limit };
    let newest = store.letters(filter, &page(Sort::Newest, None, limit)).await?;
    let all_of_them = newest.next.is_none();
    let Some(last) = newest.items.first().filter(|_| !all_of_them).map(|letter| letter.received_at) else {
        return Ok(newest.items);
    };
    let oldest = store.letters(filter, &page(Sort::Oldest, None, 1)).await?;
    let first = oldest.items.first().map_or(last, |letter| letter.received_at);
    let end = last.plus(std::time::Duration::from_micros(1));
    let bars = store.histogram(filter, first, end, end.since(first) / BARS).await?;
    let places = places(&bars, first, end);
    let of_place = limit.div_ceil(PLACES);
    let read = stream::iter(places).map(|at| {
        let before = Some(Cursor::at(at, LetterId::from_uuid(Uuid::max())));
        async move { store.letters(filter, &page(Sort::Newest, before, of_place)).await }
    });
    let pages: Vec<_> = read.buffered(AT_ONCE).try_collect().await?;
    let mut letters: Vec<LetterSummary> = pages.into_iter().flat_map(|page| page.items).collect();
    letters.sort_by_key(|letter| letter.id);
    letters.dedup_by_key(|letter| letter.id);
    letters.truncate(limit);
    Ok(letters)
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

/// As many of them as together are not too much to read.
pub(super) fn within_budget(letters: Vec<LetterSummary>) -> Vec<LetterSummary> {
    /// Bytes of a body that is read.
    const LARGEST: u64 = 64 * 1024;
    /// Bytes of all of them.
    const BUDGET: u64 = 4 * 1024 * 1024;
    let mut bytes = 0;
    let fits = |letter: &LetterSummary| {
        let size = letter.size.min(LARGEST + 1);
        let fits = size <= LARGEST && bytes + size <= BUDGET;
        bytes += if fits { size } else { 0 };
        fits
    };
    letters.into_iter().filter(fits).collect()
}
