//! Charts of one number over time that are small enough to stand side by side.

use amqp_message::time::Timestamp;

use super::{number, time};
use crate::domain::queue_sample::{QueueSample, SAMPLE, kept_at};

/// What became of one day's failures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DayOutcomes {
    pub day: Timestamp,
    /// Messages that failed for the first time.
    pub failed: u64,
    /// Retries after which the message has not failed again; those of today may yet.
    pub succeeded: u64,
    pub exhausted: u64,
}

/// Of a hundred, so that it is seen.
const LEAST: u64 = 4;
const HEIGHT: u64 = 100;
/// How wide a bar is with the gap behind it.
const STEP: usize = 10;

#[derive(Debug)]
pub struct SmallChart {
    pub title: &'static str,
    /// Of which colour it is.
    pub class: &'static str,
    /// What stands beside the title.
    pub figure: String,
    pub width: usize,
    pub bars: Vec<SmallBar>,
    /// The same for those who do not see it.
    pub label: String,
}

#[derive(Debug, PartialEq, Eq)]
pub struct SmallBar {
    pub x: usize,
    pub y: u64,
    pub height: u64,
    pub told: String,
    /// It stands for none, which is not the same as nothing told.
    pub is_none: bool,
}

impl SmallChart {
    /// Of one outcome of each day.
    pub fn of_days(
        (title, class): (&'static str, &'static str),
        days: &[DayOutcomes],
        of: fn(&DayOutcomes) -> u64,
    ) -> Self {
        let told = |day: &DayOutcomes| format!("{}: {}", time::format(day.day, "%a %d %b"), number::thousands(of(day)));
        let values: Vec<_> = days.iter().map(|day| (of(day) > 0).then(|| (of(day), told(day)))).collect();
        let all: Vec<_> = values.iter().flatten().map(|(_, told)| &**told).collect();
        let all = if all.is_empty() { "none".to_owned() } else { all.join("; ") };
        Self {
            title,
            class,
            figure: number::thousands(days.iter().map(of).sum()),
            label: format!("{} in the last {} days: {all}", title.to_lowercase(), days.len()),
            width: days.len() * STEP,
            bars: bars(values),
        }
    }

    /// How many messages were in a queue over the last day, and how many consumers it had. Nothing of what was never told.
    pub fn of_samples(samples: &[QueueSample], now: Timestamp) -> Vec<Self> {
        let depth = Self::over_a_day(("Depth", "accent"), samples, now, |sample| sample.messages);
        let consumers = Self::over_a_day(("Consumers", "ok"), samples, now, |sample| sample.consumers);
        let worst =
            |values: &dyn Fn(&QueueSample) -> Option<u64>| samples.iter().filter_map(values).collect::<Vec<_>>();
        let most = worst(&|sample| sample.messages).into_iter().max();
        let fewest = worst(&|sample| sample.consumers).into_iter().min();
        let told = |chart: Self, word, figure: Option<u64>| {
            let figure = format!("{word} {}", number::thousands(figure?));
            let label = format!("{} in the last 24 hours: {figure}", chart.title.to_lowercase());
            Some(Self { figure, label, ..chart })
        };
        [told(depth, "at most", most), told(consumers, "at least", fewest)].into_iter().flatten().collect()
    }

    fn over_a_day(
        (title, class): (&'static str, &'static str),
        samples: &[QueueSample],
        now: Timestamp,
        of: impl Fn(&QueueSample) -> Option<u64>,
    ) -> Self {
        let told = |at: Timestamp, value| {
            let clock = |at| time::format(at, "%H:%M");
            format!("{} to {} UTC: {}", clock(at), clock(at.plus(SAMPLE)), number::thousands(value))
        };
        let value = |at| {
            let value = of(samples.iter().find(|sample| sample.at == at)?)?;
            Some((value, told(at, value)))
        };
        let values: Vec<_> = kept_at(now).map(value).collect();
        let width = values.len() * STEP;
        Self { title, class, figure: String::new(), width, bars: bars(values), label: String::new() }
    }
}

/// One bar for each value that is known, in its place.
fn bars(values: Vec<Option<(u64, String)>>) -> Vec<SmallBar> {
    let most = values.iter().flatten().map(|(value, _)| *value).max().unwrap_or(0).max(1);
    let bar = |(n, value): (usize, Option<(u64, String)>)| {
        let (value, told) = value?;
        let height = u128::from(value) * u128::from(HEIGHT - LEAST) / u128::from(most);
        let height = LEAST + u64::try_from(height).unwrap_or(HEIGHT - LEAST);
        Some(SmallBar { x: n * STEP, y: HEIGHT - height, height, told, is_none: value == 0 })
    };
    values.into_iter().enumerate().filter_map(bar).collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const NOW: Timestamp = Timestamp::from_micros(1_790_000_123_456_789);

    fn sample(ago: u32, messages: Option<u64>, consumers: Option<u64>) -> QueueSample {
        QueueSample { at: NOW.floor_to(SAMPLE).minus(SAMPLE * ago), messages, consumers }
    }

    #[test]
    fn each_quarter_of_an_hour_has_its_place_and_what_is_not_told_has_none() {
        let charts = SmallChart::of_samples(&[sample(2, Some(100), Some(0)), sample(0, Some(50), None)], NOW);
        let [depth, consumers] = charts.as_slice() else { panic!("{charts:?}") };
        assert_eq!((depth.label.as_str(), depth.width), ("depth in the last 24 hours: at most 100", 960));
        let places: Vec<_> = depth.bars.iter().map(|bar| (bar.x, bar.y, bar.is_none)).collect();
        assert_eq!(places, [(930, 0, false), (950, 48, false)]);
        assert_eq!(consumers.figure, "at least 0");
        assert_eq!((consumers.bars.len(), consumers.bars[0].is_none, consumers.bars[0].height), (1, true, LEAST));
        assert!(consumers.bars[0].told.ends_with(" UTC: 0"), "{consumers:?}");
    }

    #[test]
    fn what_was_never_told_is_no_chart() {
        assert!(SmallChart::of_samples(&[], NOW).is_empty());
        let charts = SmallChart::of_samples(&[sample(0, Some(u64::MAX), None)], NOW);
        assert_eq!(charts.iter().map(|chart| chart.title).collect::<Vec<_>>(), ["Depth"]);
    }

    #[test]
    fn days_without_anything_have_no_bar() {
        let day = |n, failed| DayOutcomes {
            day: NOW.plus(Duration::from_secs(86_400) * n),
            failed,
            succeeded: 0,
            exhausted: 0,
        };
        let chart = SmallChart::of_days(("Failed", "alarm"), &[day(0, 1), day(1, 0), day(2, 2_000)], |day| day.failed);
        assert_eq!((chart.figure.as_str(), chart.bars.len(), chart.width), ("2,001", 2, 30));
        assert!(
            chart.label.starts_with("failed in the last 3 days: ") && chart.label.ends_with(": 2,000"),
            "{chart:?}"
        );
    }
}
