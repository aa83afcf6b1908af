//! How a retry is held back, as it is stored.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::domain::pacing::{Canary, Pace, Pacing};

/// Times are microseconds.
#[derive(Serialize, Deserialize)]
pub(super) struct StoredPacing {
    per_second: Option<u32>,
    over: Option<u64>,
    canary: Option<StoredCanary>,
}

#[derive(Serialize, Deserialize)]
struct StoredCanary {
    first: u64,
    wait: u64,
    at_most_failed_percent: u8,
}

impl StoredPacing {
    pub(super) fn new(pacing: Pacing) -> Self {
        let (per_second, over) = match pacing.pace {
            Pace::AtOnce => (None, None),
            Pace::PerSecond(rate) => (Some(rate), None),
            Pace::Over(time) => (None, Some(micros(time))),
        };
        let canary = pacing.canary.map(|Canary { first, wait, at_most_failed_percent }| StoredCanary {
            first,
            wait: micros(wait),
            at_most_failed_percent,
        });
        Self { per_second, over, canary }
    }

    pub(super) fn read(self) -> Pacing {
        let pace = match (self.per_second, self.over) {
            (Some(rate), _) => Pace::PerSecond(rate),
            (None, Some(time)) => Pace::Over(Duration::from_micros(time)),
            (None, None) => Pace::AtOnce,
        };
        let canary = self.canary.map(|StoredCanary { first, wait, at_most_failed_percent }| Canary {
            first,
            wait: Duration::from_micros(wait),
            at_most_failed_percent,
        });
        Pacing { pace, canary }
    }
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}
