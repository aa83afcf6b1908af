//! What came in within a day, from where there is something to see.

use std::time::Duration;

use amqp_message::time::Timestamp;

use crate::{
    domain::filter::{HistogramBar, LetterFilter},
    store::{StoreError, StoreReader},
    web::{
        query::LetterQuery,
        view::{
            chart::{Chart, Window},
            number,
        },
    },
};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

pub struct Recent {
    pub window: Window,
    bars: Vec<HistogramBar>,
    is_whole: bool,
}

impl Recent {
    pub async fn load(store: &StoreReader, filter: &LetterFilter, now: Timestamp) -> Result<Self, StoreError> {
        let least = store.bar_width(filter).await?;
        let day = Window::covering(now.minus(DAY), now).in_bars_of(least);
        let bars = store.histogram(filter, day.from, day.to, day.step).await?;
        let first = bars.iter().find(|bar| bar.counts.iter().any(|count| *count > 0)).map(|bar| bar.from);
        let window = Window::since_first(first, day, now).in_bars_of(least);
        if window == day {
            return Ok(Self { window, bars, is_whole: true });
        }
        let bars = store.histogram(filter, window.from, window.to, window.step).await?;
        Ok(Self { window, bars, is_whole: false })
    }

    /// `last 24 hours`
    pub fn told(&self) -> String {
        if self.is_whole {
            return "last 24 hours".to_owned();
        }
        format!("last {}, none earlier in 24 hours", number::span(self.window.to.since(self.window.from)))
    }

    /// Its bars lead to what they stand for in the list of `letters`.
    pub fn chart(&self, now: Timestamp, letters: &LetterQuery) -> Chart {
        Chart::new(self.window, &self.bars, now, letters)
    }
}
