//! Markers as charts and pages show them.

use std::{collections::BTreeMap, ops::Range, time::Duration};

use amqp_message::time::Timestamp;

use super::{
    text,
    time::{self, Moment, span},
};
use crate::domain::marker::Marker;

/// Characters of a name beside a line.
const NAME: usize = 40;
/// Percent of a chart that a name takes, about; what stands nearer to the next one shows none.
const ROOM: f64 = 18.0;

/// A line in a chart: one marker, or several that stand in the same bar.
#[derive(Debug, PartialEq, Eq)]
pub struct Mark {
    /// Percent of the width, as it is written.
    pub x: String,
    /// `deploy 4711 of billing`; `deploy 4711 of billing + 2` where there are more.
    pub name: String,
    /// With its time, and all that stand there.
    pub told: String,
    /// Where there is more about it.
    pub href: String,
    /// There is room for its name.
    pub is_named: bool,
    /// Its name stands before the line.
    pub is_late: bool,
}

impl Mark {
    /// Those of `markers` that lie in the time of a chart, whose bars stand for `step` each, from left to right.
    pub fn all(shown: &Range<Timestamp>, step: Duration, markers: &[&Marker]) -> Vec<Self> {
        let mut by_bar: BTreeMap<u64, Vec<&Marker>> = BTreeMap::new();
        for marker in markers.iter().filter(|marker| (shown.start..=shown.end).contains(&marker.at)) {
            let bar = marker.at.since(shown.start).as_micros() / step.as_micros().max(1);
            by_bar.entry(u64::try_from(bar).unwrap_or(u64::MAX)).or_default().push(marker);
        }
        let mut marks = Vec::new();
        let mut next = None;
        for at_once in by_bar.into_values().rev() {
            let Some(first) = at_once.last() else { continue };
            let x = percent(shown, first.at);
            // Of two that stand close to each other the later one has its name.
            let is_named = next.is_none_or(|next: f64| next - x >= ROOM);
            marks.push(Self::new(x, &at_once, is_named));
            next = if is_named { Some(x) } else { next };
        }
        marks.reverse();
        marks
    }

    /// `at_once` has the newest first.
    fn new(x: f64, at_once: &[&Marker], is_named: bool) -> Self {
        let name = at_once.last().map(|marker| text::name(&marker.name(), NAME)).unwrap_or_default();
        let more = if at_once.len() > 1 { format!(" + {}", at_once.len() - 1) } else { String::new() };
        let told = at_once.iter().rev().map(|marker| {
            format!("{}, {}", text::one_line(&marker.name()), time::format(marker.at, "%-d %b %H:%M UTC"))
        });
        let link = if let [one] = at_once { one.link.clone() } else { None };
        Self {
            x: format!("{x:.1}"),
            name: format!("{name}{more}"),
            told: told.collect::<Vec<_>>().join("; "),
            href: link.unwrap_or_else(|| "/markers".to_owned()),
            is_named,
            is_late: x >= 60.0,
        }
    }
}

fn percent(shown: &Range<Timestamp>, at: Timestamp) -> f64 {
    let length = shown.end.since(shown.start).as_secs_f64().max(1.0);
    at.since(shown.start).as_secs_f64() * 100.0 / length
}

/// What happened shortly before something began.
#[derive(Debug)]
pub struct Began {
    /// `Began 2 min after`
    pub when: String,
    /// `deploy 4711 of billing`
    pub name: String,
    pub href: String,
    pub at: String,
}

impl Began {
    pub fn new(what: &str, at: Timestamp, marker: &Marker) -> Self {
        Self {
            when: format!("{what} {} after", span(at.since(marker.at))),
            name: text::name(&marker.name(), 2 * NAME),
            href: marker.link.clone().unwrap_or_else(|| "/markers".to_owned()),
            at: Moment::new(marker.at, at).absolute,
        }
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;
    use crate::domain::{actor::Actor, marker::MarkerKind, rights::QueueScope};

    const NOW: Timestamp = Timestamp::from_micros(1_795_255_440_000_000);

    fn marker(title: &str, minutes_ago: u64) -> Marker {
        Marker {
            id: Uuid::nil(),
            kind: MarkerKind::Deploy,
            title: title.to_owned(),
            at: NOW.minus(Duration::from_secs(60 * minutes_ago)),
            service: None,
            queues: Vec::new(),
            link: None,
            within: QueueScope::everything(),
            by: Actor::local(),
            set_at: NOW,
        }
    }

    #[test]
    fn markers_of_one_bar_are_one_line_and_names_have_room() {
        let (day, step) = (Duration::from_secs(24 * 60 * 60), Duration::from_secs(15 * 60));
        let (a, b, c, d) = (marker("a", 3_000), marker("b", 1_000), marker("c", 60), marker("d", 59));
        let e = marker("e", 20);
        let marks = Mark::all(&(NOW.minus(day)..NOW), step, &[&e, &d, &c, &b, &a]);
        let shown: Vec<_> = marks.iter().map(|mark| (&*mark.name, mark.is_named)).collect();
        assert_eq!(shown, [("deploy b", true), ("deploy c + 1", false), ("deploy e", true)]);
        assert!(marks[1].told.contains("deploy c, ") && marks[1].told.contains("; deploy d, "), "{marks:?}");
    }
}
