//! Slices: letters counted over time, in several widths, and for many facets at once.
//!
//! Whoever looks at a year gets days, whoever looks at an hour five minutes: what has to be added up stays some
//! hundreds of numbers a facet. What is looked at most, all letters of a status, is kept summed up over the facets.

use std::time::Duration;

use amqp_message::time::Timestamp;

use super::facets::{FacetId, Matching};
use crate::domain::{
    filter::LetterFilter,
    letter::{Importance, Status},
};

/// Width of the narrowest slices. The bars of a histogram are multiples of it.
pub const SLICE: Duration = Duration::from_secs(5 * 60);

/// The widths that are kept, each a multiple of the one before.
pub(crate) const WIDTHS: [Duration; 3] = [SLICE, Duration::from_secs(60 * 60), Duration::from_secs(24 * 60 * 60)];

/// What a slice counts: the letters of one facet, or those of all facets of one status and importance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Scope(pub(crate) i64);

impl Scope {
    pub(crate) const fn facet(id: FacetId) -> Self {
        Self(id.0)
    }

    pub(crate) const fn all(status: Status, importance: Importance) -> Self {
        // They are stored, so they never change.
        let status = match status {
            Status::Open => 0,
            Status::Scheduled => 1,
            Status::Retried => 2,
            Status::Discarded => 3,
        };
        let importance = match importance {
            Importance::Critical => 0,
            Importance::High => 1,
            Importance::Normal => 2,
            Importance::Low => 3,
        };
        Self(-1 - 4 * status - importance)
    }

    /// Those that together hold the letters of `importance` that `filter` lets through: of the facets that it matched or,
    /// where it tells none apart, of all.
    pub(crate) fn of(filter: &LetterFilter, matching: Option<&Matching>, importance: Importance) -> Vec<Self> {
        if let Some(matching) = matching {
            let facets = matching.facets.iter().filter(|(_, key, _)| key.importance == importance);
            return facets.map(|(id, ..)| Self::facet(*id)).collect();
        }
        if !filter.importances.is_empty() && !filter.importances.contains(&importance) {
            return Vec::new();
        }
        let statuses = if filter.statuses.is_empty() { Status::ALL } else { &filter.statuses };
        statuses.iter().map(|status| Self::all(*status, importance)).collect()
    }
}

/// A stretch of time in slices of one width.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) width: Duration,
    pub(crate) from: Timestamp,
    pub(crate) to: Timestamp,
}

/// Covers the time `from` to `to`, both edges of narrow slices, by the fewest slices of which none is wider than
/// `widest`: wide ones in the middle, narrower ones towards the ends.
pub(crate) fn cover(from: Timestamp, to: Timestamp, widest: Duration) -> Vec<Span> {
    let Some(width) = WIDTHS.into_iter().rev().find(|width| *width <= widest) else { return Vec::new() };
    let (first, last) = (ceil_to(from, width), to.floor_to(width));
    let narrower = width.saturating_sub(Duration::from_micros(1));
    if first >= last {
        return if from < to { cover(from, to, narrower) } else { Vec::new() };
    }
    let mut spans = cover(from, first, narrower);
    spans.push(Span { width, from: first, to: last });
    spans.extend(cover(last, to, narrower));
    spans
}

pub(crate) fn ceil_to(at: Timestamp, width: Duration) -> Timestamp {
    at.plus(width.saturating_sub(Duration::from_micros(1))).floor_to(width)
}

/// A width as it is stored.
pub(crate) fn micros(width: Duration) -> i64 {
    Timestamp::default().plus(width).as_micros()
}

/// The widest slices of which bars of `bar` are made.
pub(crate) fn widest_within(bar: Duration) -> Duration {
    let divides = |width: &Duration| bar.as_micros().is_multiple_of(width.as_micros());
    WIDTHS.into_iter().rev().find(divides).unwrap_or(SLICE)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: u64 = 60;
    const HOUR: u64 = 60 * MINUTE;
    const DAY: u64 = 24 * HOUR;

    fn spans(from: u64, to: u64, widest: Duration) -> Vec<(u64, u64, u64)> {
        let seconds = |at: Timestamp| at.since(Timestamp::from_seconds(0)).as_secs();
        let spans = cover(Timestamp::from_seconds(from), Timestamp::from_seconds(to), widest);
        spans.iter().map(|span| (span.width.as_secs(), seconds(span.from), seconds(span.to))).collect()
    }

    #[test]
    fn wide_slices_are_in_the_middle() {
        let (from, to) = (DAY - HOUR - 5 * MINUTE, 3 * DAY + 2 * HOUR + 10 * MINUTE);
        let expected = [
            (5 * MINUTE, from, DAY - HOUR),
            (HOUR, DAY - HOUR, DAY),
            (DAY, DAY, 3 * DAY),
            (HOUR, 3 * DAY, 3 * DAY + 2 * HOUR),
            (5 * MINUTE, 3 * DAY + 2 * HOUR, to),
        ];
        assert_eq!(spans(from, to, WIDTHS[2]), expected);
    }

    #[test]
    fn none_is_wider_than_asked() {
        assert_eq!(spans(0, DAY, WIDTHS[1]), [(HOUR, 0, DAY)]);
        assert_eq!(spans(0, DAY, SLICE), [(5 * MINUTE, 0, DAY)]);
        assert_eq!(spans(HOUR, HOUR, SLICE), []);
        assert_eq!(spans(DAY, HOUR, WIDTHS[2]), []);
    }

    #[test]
    fn what_crosses_an_edge_without_filling_a_slice_takes_narrower_ones() {
        assert_eq!(
            spans(DAY - 5 * MINUTE, DAY + 5 * MINUTE, WIDTHS[2]),
            [(5 * MINUTE, DAY - 5 * MINUTE, DAY + 5 * MINUTE)]
        );
    }

    #[test]
    fn bars_are_made_of_the_widest_slices_that_fit() {
        let widest = |seconds| widest_within(Duration::from_secs(seconds)).as_secs();
        assert_eq!([30 * MINUTE, 3 * HOUR, DAY, 28 * DAY].map(widest), [5 * MINUTE, HOUR, DAY, DAY]);
    }

    #[test]
    fn every_scope_is_one_of_its_own() {
        let all = Status::ALL.iter().flat_map(|status| Importance::ALL.iter().map(|of| Scope::all(*status, *of)));
        let mut numbers: Vec<_> = all.map(|scope| scope.0).collect();
        numbers.sort_unstable();
        assert_eq!(numbers, (-16..0).collect::<Vec<_>>());
    }
}
