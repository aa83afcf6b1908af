//! `[watch]`: queues that nobody looks after.

use std::time::Duration;

use serde::Deserialize;

use super::values::{duration, list, word};
use crate::domain::letter::Importance;

/// `[watch]`; in effect for each broker with a `management_url`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct WatchConfig {
    /// A queue that had consumers and has had none for so long is told.
    #[serde(deserialize_with = "duration")]
    pub no_consumers_for: Duration,
    /// A queue of dead letters or obituaries that grows for so long is told.
    #[serde(deserialize_with = "duration")]
    pub growing_for: Duration,
    /// Messages that wait for so long in one of these two although somebody ought to consume them, and retries that are
    /// overdue by so much, are told.
    #[serde(deserialize_with = "duration")]
    pub lags_for: Duration,
    /// Names of queues or globs.
    #[serde(deserialize_with = "list")]
    pub queues: Vec<String>,
    /// How important what the watch tells is.
    #[serde(deserialize_with = "word")]
    pub importance: Importance,
    /// How often the brokers are asked.
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
