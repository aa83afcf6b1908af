//! How a group grew, as charts.

use std::time::Duration;

use amqp_message::time::Timestamp;

use super::chart::{Chart, Window};
use crate::{
    domain::{
        filter::HistogramBar,
        group::{Group, Hour},
        letter::Importance,
    },
    web::query::LetterQuery,
};

const HOUR: Duration = Duration::from_secs(60 * 60);

/// So many hours until now, in bars of `step` hours.
pub fn window(now: Timestamp, hours: u32, step: u32) -> Window {
    let step = HOUR * step;
    let to = now.floor_to(step).plus(step);
    Window { from: to.minus(HOUR * hours), to, step }
}

/// What came in within a window; `letters` is where it leads.
pub fn chart(group: &Group, hours: &[Hour], window: Window, now: Timestamp, letters: &LetterQuery) -> Chart {
    let mut bars: Vec<HistogramBar> = Vec::new();
    for hour in hours.iter().filter(|hour| (window.from..window.to).contains(&hour.start)) {
        let from = hour.start.floor_to(window.step);
        match bars.last_mut().filter(|bar| bar.from == from) {
            Some(bar) => bar.counts[0] += hour.received,
            None => bars.push(HistogramBar { from, counts: [hour.received, 0, 0, 0] }),
        }
    }
    let importance = group.importance().unwrap_or(Importance::Low);
    Chart::in_one_colour(window, &bars, importance, now, letters)
}
