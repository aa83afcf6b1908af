//! Letters counted over time, for one facet or for many at once: in slices of five minutes, and in days with their hours.
//!
//! Whoever looks at a month gets days, whoever looks at an hour five minutes. A queue that few letters fail in has nearly as
//! many slices as letters; its days are few, and each tells all of its hours. What is looked at most, all letters of a
//! status, is kept summed up over the facets.

use std::time::Duration;

use amqp_message::time::Timestamp;

use super::facets::{FacetId, Matching};
use crate::domain::{
    filter::LetterFilter,
    letter::{Importance, Status},
};

/// Width of slices. The bars of a histogram are multiples of it.
pub const SLICE: Duration = Duration::from_secs(5 * 60);
pub(crate) const HOUR: Duration = Duration::from_secs(60 * 60);
pub(crate) const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// The columns of a day's hours.
pub(crate) const HOURS: [&str; 24] = [
    "h00", "h01", "h02", "h03", "h04", "h05", "h06", "h07", "h08", "h09", "h10", "h11", "h12", "h13", "h14", "h15",
    "h16", "h17", "h18", "h19", "h20", "h21", "h22", "h23",
];

/// The same three by three.
pub(crate) const THREE_HOURS: [&str; 8] = ["t00", "t03", "t06", "t09", "t12", "t15", "t18", "t21"];

/// What is counted: the letters of one facet, or those of all facets of one status and importance.
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

/// A stretch of time, and in what it is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) unit: Unit,
    pub(crate) from: Timestamp,
    pub(crate) to: Timestamp,
}

/// In what a stretch of time is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    Slice,
    /// So many hours of a day, a divisor of 24.
    Hours(u8),
}

impl Unit {
    pub(crate) const DAY: Self = Self::Hours(24);

    /// The widest of which bars of `bar` are made.
    pub(crate) fn within(bar: Duration) -> Self {
        let divides = |hours: &u8| bar.as_secs().is_multiple_of((HOUR * u32::from(*hours)).as_secs());
        [24, 12, 8, 6, 4, 3, 2, 1].into_iter().find(divides).map_or(Self::Slice, Self::Hours)
    }

    const fn narrower(self) -> Self {
        match self {
            Self::Slice | Self::Hours(1) => Self::Slice,
            Self::Hours(_) => Self::Hours(1),
        }
    }

    fn width(self) -> Duration {
        match self {
            Self::Slice => SLICE,
            Self::Hours(hours) => HOUR * u32::from(hours),
        }
    }
}

/// Covers the time `from` to `to`, both edges of slices, in units of which none is wider than `widest`: wide ones in the
/// middle, narrower ones towards the ends.
pub(crate) fn cover(from: Timestamp, to: Timestamp, widest: Unit) -> Vec<Span> {
    if from >= to {
        return Vec::new();
    }
    if widest == Unit::Slice {
        return vec![Span { unit: widest, from, to }];
    }
    let (first, last) = (ceil_to(from, widest.width()), to.floor_to(widest.width()));
    if first >= last {
        return cover(from, to, widest.narrower());
    }
    let mut spans = cover(from, first, widest.narrower());
    spans.push(Span { unit: widest, from: first, to: last });
    spans.extend(cover(last, to, widest.narrower()));
    spans
}

pub(crate) fn ceil_to(at: Timestamp, width: Duration) -> Timestamp {
    at.plus(width.saturating_sub(Duration::from_micros(1))).floor_to(width)
}

/// A width as it is stored.
pub(crate) fn micros(width: Duration) -> i64 {
    Timestamp::default().plus(width).as_micros()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: u64 = 60;
    const HOUR: u64 = 60 * MINUTE;
    const DAY: u64 = 24 * HOUR;

    fn spans(from: u64, to: u64, widest: Unit) -> Vec<(u64, u64, u64)> {
        let seconds = |at: Timestamp| at.since(Timestamp::from_seconds(0)).as_secs();
        let spans = cover(Timestamp::from_seconds(from), Timestamp::from_seconds(to), widest);
        spans.iter().map(|span| (span.unit.width().as_secs(), seconds(span.from), seconds(span.to))).collect()
    }

    #[test]
    fn wide_units_are_in_the_middle() {
        let (from, to) = (DAY - HOUR - 5 * MINUTE, 3 * DAY + 2 * HOUR + 10 * MINUTE);
        let expected = [
            (5 * MINUTE, from, DAY - HOUR),
            (HOUR, DAY - HOUR, DAY),
            (DAY, DAY, 3 * DAY),
            (HOUR, 3 * DAY, 3 * DAY + 2 * HOUR),
            (5 * MINUTE, 3 * DAY + 2 * HOUR, to),
        ];
        assert_eq!(spans(from, to, Unit::DAY), expected);
    }

    #[test]
    fn none_is_wider_than_asked() {
        assert_eq!(spans(0, DAY, Unit::Hours(6)), [(6 * HOUR, 0, DAY)]);
        assert_eq!(spans(0, DAY, Unit::Slice), [(5 * MINUTE, 0, DAY)]);
        assert_eq!(spans(HOUR, HOUR, Unit::Slice), []);
        assert_eq!(spans(DAY, HOUR, Unit::DAY), []);
    }

    #[test]
    fn what_crosses_an_edge_without_filling_a_unit_takes_narrower_ones() {
        let (from, to) = (DAY - 5 * MINUTE, DAY + 5 * MINUTE);
        assert_eq!(spans(from, to, Unit::DAY), [(5 * MINUTE, from, to)]);
    }

    #[test]
    fn bars_are_made_of_the_widest_units_that_fit() {
        let within = |seconds| Unit::within(Duration::from_secs(seconds));
        let expected = [Unit::Slice, Unit::Hours(3), Unit::Hours(1), Unit::DAY, Unit::DAY];
        assert_eq!([30 * MINUTE, 3 * HOUR, 5 * HOUR, DAY, 28 * DAY].map(within), expected);
    }

    #[test]
    fn every_scope_is_one_of_its_own() {
        let all = Status::ALL.iter().flat_map(|status| Importance::ALL.iter().map(|of| Scope::all(*status, *of)));
        let mut numbers: Vec<_> = all.map(|scope| scope.0).collect();
        numbers.sort_unstable();
        assert_eq!(numbers, (-16..0).collect::<Vec<_>>());
    }
}
