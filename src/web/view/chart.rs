//! Letters over time as bars, drawn by the server.

use std::time::Duration;

use amqp_message::time::Timestamp;

use super::{mark::Mark, number, time};
use crate::{
    domain::{filter::HistogramBar, letter::Importance},
    web::query::{LetterQuery, Listed, When},
};

/// Bars of a full chart, about; more would be thinner than a finger or a pointer can hit.
const MAX_BARS: u32 = 97;
/// With fewer wide bars a chart shows no course of things.
const FEWEST_BARS: u32 = 12;
/// Height of the drawing area in units of its view box.
const HEIGHT: u64 = 100;
const MINUTE: u64 = 60;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;
/// What a chart shows at least: less would be a few wide bars.
const LEAST: Duration = Duration::from_secs(HOUR);

/// What a chart covers, and how wide its bars are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    pub from: Timestamp,
    pub to: Timestamp,
    pub step: Duration,
}

impl Window {
    /// Bars of a round width that cover `from` to `to`.
    pub fn covering(from: Timestamp, to: Timestamp) -> Self {
        /// The database keeps counts by five minutes, so bars are no narrower.
        const STEPS: [u64; 11] = [
            5 * MINUTE,
            10 * MINUTE,
            15 * MINUTE,
            30 * MINUTE,
            HOUR,
            3 * HOUR,
            6 * HOUR,
            12 * HOUR,
            DAY,
            7 * DAY,
            28 * DAY,
        ];
        let length = to.since(from);
        let fits = |step: &Duration| length <= *step * (MAX_BARS - 1);
        let widest = Duration::from_secs(364 * DAY);
        let step = STEPS.map(Duration::from_secs).into_iter().find(fits).unwrap_or(widest);
        let to = to.minus(Duration::from_micros(1)).floor_to(step).plus(step);
        Self { from: from.floor_to(step).max(to.minus(step * MAX_BARS)), to, step }
    }

    /// As much of `window` as there is something to see in, from the first letter on, but no less than [`LEAST`].
    pub fn since_first(first: Option<Timestamp>, window: Self, now: Timestamp) -> Self {
        match first.map(|first| first.min(now.minus(LEAST))) {
            Some(from) if from > window.from => Self::covering(from, now),
            _ => window,
        }
    }

    /// The same in bars no narrower than that, where there is still something to see in them.
    #[must_use]
    pub fn in_bars_of(self, least: Duration) -> Self {
        if self.step >= least || self.to.since(self.from) < least * FEWEST_BARS {
            return self;
        }
        let to = self.to.minus(Duration::from_micros(1)).floor_to(least).plus(least);
        Self { from: self.from.floor_to(least), to, step: least }
    }

    /// What the filter asks for; without a beginning, as much as there is since the `oldest` that it lets through, but
    /// no less than [`LEAST`].
    pub fn asked(
        since: Option<Timestamp>,
        until: Option<Timestamp>,
        oldest: Option<Timestamp>,
        now: Timestamp,
    ) -> Self {
        let to = until.map_or(now, |until| until.min(now));
        let from = since.unwrap_or_else(|| {
            let none = to.minus(Duration::from_secs(DAY));
            oldest.map_or(none, |oldest| oldest.min(to.minus(LEAST)))
        });
        Self::covering(from.min(to.minus(Duration::from_secs(5 * MINUTE))), to)
    }
}

#[derive(Debug)]
pub struct Chart {
    /// Width of the view box: ten units a bar.
    pub width: usize,
    pub bars: Vec<Bar>,
    pub axis: Vec<Tick>,
    /// Where the chart ends: `now`, or a time.
    pub end: String,
    /// How many letters the highest bar stands for; empty where there is none.
    pub peak: String,
    /// What a user sees at a glance, for those who cannot.
    pub summary: String,
    /// `15 min`: how much a bar stands for.
    pub step: String,
    /// For the brush: the list at any time; what it takes is added to that.
    pub list: String,
    /// For the brush: seconds since the epoch at the left edge, and seconds a bar.
    pub from_seconds: i64,
    pub step_seconds: u64,
    /// What happened meanwhile.
    pub marks: Vec<Mark>,
}

/// A round time on the axis.
#[derive(Debug)]
pub struct Tick {
    /// Percent of the width.
    pub x: u64,
    pub label: String,
    /// RFC 3339, for scripts that show it as local time.
    pub iso: String,
}

impl Tick {
    /// So near to the right edge that there is no room for it beside the end of a narrow chart.
    pub const fn is_late(&self) -> bool {
        self.x >= 76
    }
}

/// One bar that has letters in it.
#[derive(Debug)]
pub struct Bar {
    pub x: usize,
    /// The same list, narrowed to the time of this bar.
    pub href: String,
    pub label: String,
    pub parts: Vec<Part>,
}

#[derive(Debug, PartialEq, Eq)]
pub struct Part {
    pub class: &'static str,
    pub y: u64,
    pub height: u64,
}

impl Chart {
    /// Draws `bars`, which lie in `window`, as links to parts of the list that `query` asks for.
    pub fn new(window: Window, bars: &[HistogramBar], now: Timestamp, query: &LetterQuery) -> Self {
        let from_to = |from, to| query.with(|query| (query.since, query.until) = (from, to)).href();
        let href = |from, to| from_to(Some(When::At(from)), Some(When::At(to)));
        let most = bars.iter().map(total).max().unwrap_or(0);
        let drawn = bars.iter().filter(|bar| total(bar) > 0).map(|bar| {
            let end = bar.from.plus(window.step);
            Bar {
                x: position(window, bar.from),
                href: href(bar.from, end),
                label: label(window, bar, Tells::Importances),
                parts: stack(bar, most),
            }
        });
        Self {
            width: position(window, window.to),
            bars: drawn.collect(),
            axis: axis(window),
            end: if window.to >= now { "now".to_owned() } else { tick_label(window.to) },
            peak: if most > 0 { number::thousands(most) } else { String::new() },
            summary: summary(window, bars, Tells::Importances),
            step: time::span(window.step),
            from_seconds: window.from.as_micros().div_euclid(1_000_000),
            step_seconds: window.step.as_secs(),
            list: from_to(None, None),
            marks: Vec::new(),
        }
    }
}

impl Chart {
    /// The same in the one colour of `importance`, where nobody has counted by importance.
    pub fn in_one_colour(
        window: Window,
        bars: &[HistogramBar],
        importance: Importance,
        now: Timestamp,
        query: &LetterQuery,
    ) -> Self {
        let in_one = |bar: &HistogramBar| {
            let mut counts = [0; Importance::ALL.len()];
            counts[importance as usize] = total(bar);
            HistogramBar { from: bar.from, counts }
        };
        let bars: Vec<_> = bars.iter().map(in_one).collect();
        let mut chart = Self::new(window, &bars, now, query);
        for (drawn, bar) in chart.bars.iter_mut().zip(bars.iter().filter(|bar| total(bar) > 0)) {
            drawn.label = label(window, bar, Tells::Letters);
        }
        chart.summary = summary(window, &bars, Tells::Letters);
        chart
    }
}

fn total(bar: &HistogramBar) -> u64 {
    bar.counts.iter().sum()
}

fn position(window: Window, at: Timestamp) -> usize {
    let bars = at.since(window.from).as_secs() / window.step.as_secs().max(1);
    usize::try_from(bars).unwrap_or(usize::MAX).saturating_mul(10)
}

/// The highest importance on top, where it shows; none that is there is too flat to be seen.
fn stack(bar: &HistogramBar, most: u64) -> Vec<Part> {
    const LEAST: u64 = 3;
    let usable = HEIGHT - LEAST * Importance::ALL.len() as u64;
    let mut top = HEIGHT;
    let mut parts = Vec::new();
    for (importance, &count) in Importance::ALL.iter().zip(&bar.counts).rev().filter(|(_, count)| **count > 0) {
        let share = u128::from(count) * u128::from(usable) / u128::from(most.max(1));
        let height = LEAST + u64::try_from(share).unwrap_or(usable);
        top = top.saturating_sub(height);
        parts.push(Part { class: importance.as_str(), y: top, height });
    }
    parts
}

/// Whether a chart tells importances apart.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Tells {
    Importances,
    Letters,
}

fn label(window: Window, bar: &HistogramBar, tells: Tells) -> String {
    let end = bar.from.plus(window.step);
    let from = time::format(bar.from, "%-d %b %H:%M");
    let pattern = if window.step >= Duration::from_secs(DAY) { "%-d %b %H:%M" } else { "%H:%M" };
    let counts = Importance::ALL.iter().zip(&bar.counts).filter(|(_, count)| **count > 0);
    let counts: Vec<_> =
        counts.map(|(importance, count)| format!("{} {importance}", number::thousands(*count))).collect();
    let letters = number::plural(total(bar), "dead letter");
    let of_what = if tells == Tells::Importances { format!(" ({})", counts.join(", ")) } else { String::new() };
    format!("{from} to {} UTC: {letters}{of_what}", time::format(end, pattern))
}

/// Round times, but for those that would stand on the edges, or on what the end is called.
fn axis(window: Window) -> Vec<Tick> {
    const MOST: u32 = 7;
    const STEPS: [u64; 11] =
        [15 * MINUTE, 30 * MINUTE, HOUR, 3 * HOUR, 6 * HOUR, 12 * HOUR, DAY, 2 * DAY, 7 * DAY, 14 * DAY, 28 * DAY];
    let length = window.to.since(window.from);
    let step = STEPS.map(Duration::from_secs).into_iter().find(|step| length <= *step * MOST);
    let step = step.unwrap_or(length / MOST);
    let times = std::iter::successors(Some(window.from.floor_to(step)), |at| Some(at.plus(step)));
    let percent = |at: Timestamp| at.since(window.from).as_secs() * 100 / length.as_secs().max(1);
    let ticks = times.take_while(|at| *at < window.to).map(|at| Tick {
        x: percent(at),
        label: tick_label(at),
        iso: time::rfc3339(at),
    });
    ticks.filter(|tick| (4..86).contains(&tick.x)).collect()
}

/// The hour, or the day where one begins.
fn tick_label(at: Timestamp) -> String {
    let hour = time::format(at, "%H:%M");
    if hour == "00:00" { time::format(at, "%-d %b") } else { hour }
}

fn summary(window: Window, bars: &[HistogramBar], tells: Tells) -> String {
    let letters = number::plural(bars.iter().map(total).sum(), "dead letter");
    let length = time::span(window.to.since(window.from));
    let text = format!("{letters} received in {length}, by bars of {}", time::span(window.step));
    match bars.iter().max_by_key(|bar| total(bar)) {
        Some(most) if total(most) > 0 => format!("{text}; most of them {}", label(window, most, tells)),
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_micros(1_795_255_440_000_000);

    fn ago(seconds: u64) -> Timestamp {
        NOW.minus(Duration::from_secs(seconds))
    }

    #[test]
    fn windows_have_round_bars() {
        let check = |seconds, step| {
            let window = Window::covering(ago(seconds), NOW);
            assert_eq!(window.step.as_secs(), step);
            assert!(window.from <= ago(seconds) && window.to >= NOW);
            assert!(position(window, window.to) <= 10 * MAX_BARS as usize);
        };
        check(HOUR, 5 * MINUTE);
        check(DAY, 15 * MINUTE);
        check(7 * DAY, 3 * HOUR);
        check(90 * DAY, DAY);
        check(40 * 364 * DAY, 364 * DAY);
    }

    #[test]
    fn without_a_beginning_the_oldest_is_in_it() {
        let check = |oldest: Option<Timestamp>, days| {
            let window = Window::asked(None, None, oldest, NOW);
            assert!(window.to.since(window.from).as_secs() <= days * DAY + window.step.as_secs());
            assert!(oldest.is_none_or(|oldest| window.from <= oldest));
        };
        check(None, 1);
        check(Some(ago(10)), 1);
        check(Some(ago(2 * DAY)), 2);
        check(Some(ago(1_000 * DAY)), 1_028);
    }

    #[test]
    fn absurd_times_make_a_chart_all_the_same() {
        for (since, until) in
            [(Timestamp::from_micros(i64::MIN), NOW), (NOW, ago(DAY)), (Timestamp::MAX, Timestamp::MAX)]
        {
            let window = Window::asked(Some(since), Some(until), None, NOW);
            assert!(window.from < window.to, "{window:?}");
            assert!(position(window, window.to) <= 10 * MAX_BARS as usize);
        }
    }

    #[test]
    fn ticks_are_round() {
        let check = |seconds, expected: &[&str]| {
            let ticks = axis(Window::covering(ago(seconds), NOW));
            assert_eq!(ticks.iter().map(|tick| &*tick.label).collect::<Vec<_>>(), expected);
        };
        check(HOUR, &["09:15", "09:30", "09:45"]);
        check(DAY, &["12:00", "18:00", "21 Nov", "06:00"]);
        check(7 * DAY, &["15 Nov", "17 Nov", "19 Nov"]);
    }

    #[test]
    fn bars_stay_inside_and_show_the_smallest_part() {
        let bar = HistogramBar { from: ago(0), counts: [1, 0, u64::MAX / 4, 2] };
        let parts = stack(&bar, total(&bar));
        assert_eq!(parts.iter().map(|part| part.class).collect::<Vec<_>>(), ["low", "normal", "critical"]);
        assert!(parts.iter().all(|part| part.height >= 3));
        assert_eq!(parts.iter().map(|part| part.height).sum::<u64>(), HEIGHT - parts[2].y);
    }
}
