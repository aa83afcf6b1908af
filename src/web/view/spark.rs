//! How a group grows, as a small line.

use std::{collections::BTreeMap, fmt::Write, time::Duration};

use amqp_message::time::Timestamp;

use super::{number, time};
use crate::domain::group::Hour;

/// Hours that the line shows.
pub const HOURS: u64 = 24;
const HOUR: Duration = Duration::from_secs(60 * 60);
/// Units between two points, and from the lowest point to the highest.
const STEP: u64 = 4;
const HEIGHT: u64 = 18;
/// Left and above so that no line is cut off at an edge.
const MARGIN: u64 = 2;

/// Letters received hour by hour, drawn in a box of 96 by 22 units.
#[derive(Debug)]
pub struct Spark {
    /// For a `polyline`.
    pub points: String,
    /// The same for those who do not see it.
    pub label: String,
}

impl Spark {
    /// Since when `hours` have to be known.
    pub fn since(now: Timestamp) -> Timestamp {
        now.floor_to(HOUR).minus(HOUR * u32::try_from(HOURS - 1).unwrap_or(0))
    }

    /// Of hours in any order, of which those without letters may be left out.
    pub fn new(hours: &[Hour], now: Timestamp) -> Self {
        let first = Self::since(now);
        let received: BTreeMap<Timestamp, u64> = hours.iter().map(|hour| (hour.start, hour.received)).collect();
        let starts = std::iter::successors(Some(first), |start| Some(start.plus(HOUR)));
        let counts: Vec<(Timestamp, u64)> =
            starts.zip(0..HOURS).map(|(start, _)| (start, received.get(&start).copied().unwrap_or_default())).collect();
        Self { points: points(&counts), label: label(&counts) }
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

fn label(counts: &[(Timestamp, u64)]) -> String {
    let total = counts.iter().fold(0_u64, |sum, (_, count)| sum.saturating_add(*count));
    match counts.iter().max_by_key(|(_, count)| count) {
        Some((start, most)) if *most > 0 => format!(
            "{} received in {HOURS} h, most of them from {} on",
            number::thousands(total),
            time::format(*start, "%H:%M")
        ),
        _ => format!("none received in {HOURS} h"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 21 November 2026, 10:04.
    const NOW: Timestamp = Timestamp::from_micros(1_795_255_440_000_000);

    fn hour(ago: u32, received: u64) -> Hour {
        Hour { start: NOW.floor_to(HOUR).minus(HOUR * ago), received, sent: 0, failed_again: 0 }
    }

    #[test]
    fn the_hour_with_most_letters_is_at_the_top_and_this_one_at_the_right() {
        let spark = Spark::new(&[hour(0, 5), hour(2, 10)], NOW);
        let points: Vec<_> = spark.points.split(' ').collect();
        assert_eq!((points.len(), points[0]), (24, "2,20"));
        assert_eq!(points[21..], ["86,2", "90,20", "94,11"]);
        assert_eq!(spark.label, "15 received in 24 h, most of them from 08:00 on");
    }

    #[test]
    fn nothing_is_a_flat_line_whatever_was_before() {
        let spark = Spark::new(&[hour(24, 7)], NOW);
        assert!(spark.points.split(' ').all(|point| point.ends_with(",20")), "{}", spark.points);
        assert_eq!(spark.label, "none received in 24 h");
    }

    #[test]
    fn absurd_numbers_stay_inside() {
        let spark = Spark::new(&[hour(0, u64::MAX), hour(1, u64::MAX - 1)], NOW);
        assert!(spark.points.ends_with("90,3 94,2"), "{}", spark.points);
    }
}
