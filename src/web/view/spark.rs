//! How a group grows, as a small line.

use std::{collections::BTreeMap, fmt::Write, time::Duration};

use amqp_message::time::Timestamp;

use super::{number, time};
use crate::domain::group::Group;

/// Points of a line.
const POINTS: u32 = 24;
const HOUR: Duration = Duration::from_secs(60 * 60);
const FIVE_MINUTES: Duration = Duration::from_secs(5 * 60);
/// So many letters are counted one by one for the lines of a list.
const MOST_COUNTED: u64 = 20_000;
/// Units between two points, and from the lowest point to the highest.
const STEP: u64 = 4;
const HEIGHT: u64 = 18;
/// Left and above so that no line is cut off at an edge.
const MARGIN: u64 = 2;

/// The time that the lines of a list show: a day by hours or, where all groups in it are younger, two hours by five minutes.
/// It is the same for all of them, so that they can be compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    pub since: Timestamp,
    pub step: Duration,
}

impl Span {
    pub fn of(groups: &[Group], now: Timestamp) -> Self {
        let by = |step| Self { since: now.floor_to(step).minus(step * (POINTS - 1)), step };
        let short = by(FIVE_MINUTES);
        let is_young = groups.iter().all(|group| group.first_seen >= short.since);
        let letters = groups.iter().fold(0_u64, |sum, group| sum.saturating_add(group.letters()));
        if is_young && letters <= MOST_COUNTED { short } else { by(HOUR) }
    }

    /// Whether it shows hours, which are counted as letters come in.
    pub fn is_in_hours(&self) -> bool {
        self.step == HOUR
    }

    fn name(&self) -> &'static str {
        if self.is_in_hours() { "24 h" } else { "2 h" }
    }
}

/// Letters received step by step, drawn in a box of 96 by 22 units.
#[derive(Debug)]
pub struct Spark {
    /// For a `polyline`.
    pub points: String,
    /// The same for those who do not see it.
    pub label: String,
    /// How long the time is that it shows.
    pub span: &'static str,
}

impl Spark {
    /// Of what was received from when on, in any order; where nothing was may be left out.
    pub fn new(received: &[(Timestamp, u64)], span: Span) -> Self {
        let received: BTreeMap<Timestamp, u64> = received.iter().copied().collect();
        let starts = std::iter::successors(Some(span.since), |start| Some(start.plus(span.step)));
        let counts: Vec<(Timestamp, u64)> = starts
            .zip(0..POINTS)
            .map(|(start, _)| (start, received.get(&start).copied().unwrap_or_default()))
            .collect();
        Self { points: points(&counts), label: label(&counts, span), span: span.name() }
    }
}

fn points(counts: &[(Timestamp, u64)]) -> String {
    let most = counts.iter().map(|(_, count)| *count).max().unwrap_or(0).max(1);
    let mut points = String::new();
    for ((_, count), n) in counts.iter().zip(0..) {
        let height = u128::from(*count) * u128::from(HEIGHT) / u128::from(most);
        let y = MARGIN + HEIGHT - u64::try_from(height).unwrap_or(HEIGHT);
        // Writing to a string cannot fail.
        let _ = write!(points, "{}{},{y}", if n == 0 { "" } else { " " }, MARGIN + n * STEP);
    }
    points
}

fn label(counts: &[(Timestamp, u64)], span: Span) -> String {
    let total = counts.iter().fold(0_u64, |sum, (_, count)| sum.saturating_add(*count));
    match counts.iter().max_by_key(|(_, count)| count) {
        Some((start, most)) if *most > 0 => format!(
            "{} received in {}, most of them from {} on",
            number::thousands(total),
            span.name(),
            time::format(*start, "%H:%M")
        ),
        _ => format!("none received in {}", span.name()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 21 November 2026, 10:04.
    const NOW: Timestamp = Timestamp::from_micros(1_795_255_440_000_000);

    fn day() -> Span {
        Span { since: NOW.floor_to(HOUR).minus(HOUR * 23), step: HOUR }
    }

    fn hour(ago: u32, received: u64) -> (Timestamp, u64) {
        (NOW.floor_to(HOUR).minus(HOUR * ago), received)
    }

    #[test]
    fn the_hour_with_most_letters_is_at_the_top_and_this_one_at_the_right() {
        let spark = Spark::new(&[hour(0, 5), hour(2, 10)], day());
        let points: Vec<_> = spark.points.split(' ').collect();
        assert_eq!((points.len(), points[0]), (24, "2,20"));
        assert_eq!(points[21..], ["86,2", "90,20", "94,11"]);
        assert_eq!(spark.label, "15 received in 24 h, most of them from 08:00 on");
    }

    #[test]
    fn nothing_is_a_flat_line_whatever_was_before() {
        let spark = Spark::new(&[hour(24, 7)], day());
        assert!(spark.points.split(' ').all(|point| point.ends_with(",20")), "{}", spark.points);
        assert_eq!(spark.label, "none received in 24 h");
    }

    #[test]
    fn absurd_numbers_stay_inside() {
        let spark = Spark::new(&[hour(0, u64::MAX), hour(1, u64::MAX - 1)], day());
        assert!(spark.points.ends_with("90,3 94,2"), "{}", spark.points);
    }
}
