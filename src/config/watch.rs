//! `[watch]`: queues that nobody looks after.

use std::time::Duration;

use serde::Deserialize;

use super::values::{duration, list, word};
use crate::domain::letter::Importance;

/// `[watch]`; in effect for each broker with a `management_url`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct WatchConfig {
    #[serde(deserialize_with = "duration")]
    pub no_consumers_for: Duration,
    #[serde(deserialize_with = "duration")]
    pub growing_for: Duration,
    #[serde(deserialize_with = "duration")]
    pub lags_for: Duration,
    #[serde(deserialize_with = "list")]
    pub queues: Vec<String>,
    #[serde(deserialize_with = "word")]
    pub importance: Importance,
    #[serde(deserialize_with = "duration")]
    pub every: Duration,
}

impl Default for WatchConfig {
    fn default() -> Self {
        Self {
            no_consumers_for: Duration::from_secs(15 * 60),
            growing_for: Duration::from_secs(10 * 60),
            lags_for: Duration::from_secs(2 * 60),
            queues: vec!["*".to_owned()],
            importance: Importance::Critical,
            every: Duration::from_secs(10),
        }
    }
}
