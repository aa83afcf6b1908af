//! Sections whose keys are read and checked already, and which this version does not act upon yet.
//!
//! Whoever sets one is told so at the start ([`Config::not_in_effect`](super::Config::not_in_effect)).

use std::{collections::BTreeMap, time::Duration};

use serde::{Deserialize, Deserializer, de::Error};

use super::{
    Config,
    values::{Secret, duration, durations, http_url, list, word, word_list},
};
use crate::domain::{letter::Importance, words::words};

/// `[retry]`
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RetryConfig {
    #[serde(deserialize_with = "durations")]
    pub delays: Vec<Duration>,
    #[serde(deserialize_with = "optional_duration")]
    pub initial: Option<Duration>,
    pub factor: Option<f64>,
    #[serde(deserialize_with = "optional_duration")]
    pub max: Option<Duration>,
    pub attempts: Option<u32>,
    #[serde(deserialize_with = "share")]
    pub jitter: f64,
    #[serde(deserialize_with = "word")]
    pub via: RetryVia,
    pub keep_routing_key: bool,
    pub queues: BTreeMap<String, QueueRetryConfig>,
}

words! {
    RetryVia, "place to wait" {
        Ledger = "ledger",
        Broker = "broker",
    }
}

impl Default for RetryConfig {
    fn default() -> Self {
        Self {
            delays: [10, 100, 1000].map(Duration::from_secs).to_vec(),
            initial: None,
            factor: None,
            max: None,
            attempts: None,
            jitter: 0.1,
            via: RetryVia::Ledger,
            keep_routing_key: false,
            queues: BTreeMap::new(),
        }
    }
}

/// `[retry.queues."GLOB"]`
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct QueueRetryConfig {
    #[serde(deserialize_with = "optional_durations")]
    pub delays: Option<Vec<Duration>>,
    #[serde(deserialize_with = "optional_duration")]
    pub initial: Option<Duration>,
    pub factor: Option<f64>,
    #[serde(deserialize_with = "optional_duration")]
    pub max: Option<Duration>,
    pub attempts: Option<u32>,
    pub jitter: Option<f64>,
    #[serde(deserialize_with = "optional_word")]
    pub via: Option<RetryVia>,
    pub keep_routing_key: Option<bool>,
}

/// `[notify]`
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct NotifyConfig {
    pub slack: SlackConfig,
    pub digest: DigestConfig,
    pub pagerduty: PagerDutyConfig,
    pub webhook: WebhookConfig,
    pub page: PageConfig,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SlackConfig {
    pub webhook_url: Secret,
    pub token: Secret,
    pub channel: String,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct DigestConfig {
    pub schedule: String,
    pub timezone: String,
    #[serde(deserialize_with = "word_list")]
    pub importance: Vec<Importance>,
}

impl Default for DigestConfig {
    fn default() -> Self {
        Self {
            schedule: "0 9 * * MON-FRI".to_owned(),
            timezone: "UTC".to_owned(),
            importance: vec![Importance::Low, Importance::Normal],
        }
    }
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PagerDutyConfig {
    pub routing_key: Secret,
    #[serde(deserialize_with = "http_url")]
    pub url: url::Url,
}

impl Default for PagerDutyConfig {
    #[expect(clippy::expect_used, reason = "a constant")]
    fn default() -> Self {
        let url = url::Url::parse("https://events.pagerduty.com").expect("a constant address");
        Self { routing_key: Secret::default(), url }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct WebhookConfig {
    pub url: Secret,
    pub secret: Secret,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PageConfig {
    #[serde(deserialize_with = "word_list")]
    pub importance: Vec<Importance>,
}

impl Default for PageConfig {
    fn default() -> Self {
        Self { importance: vec![Importance::Critical] }
    }
}

/// `[watch]`
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct WatchConfig {
    #[serde(deserialize_with = "duration")]
    pub no_consumers_for: Duration,
    #[serde(deserialize_with = "list")]
    pub queues: Vec<String>,
}

impl Default for WatchConfig {
    fn default() -> Self {
        Self { no_consumers_for: Duration::from_secs(15 * 60), queues: vec!["*".to_owned()] }
    }
}

/// `[auth]`
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct AuthConfig {
    #[serde(deserialize_with = "word")]
    pub mode: AuthMode,
}

words! {
    #[derive(Default)]
    AuthMode, "way to sign in" {
        /// Everybody may do everything; on loopback only.
        #[default]
        None = "none",
        Password = "password",
        Oidc = "oidc",
        Proxy = "proxy",
    }
}

/// `[retention]`
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RetentionConfig {
    #[serde(deserialize_with = "duration")]
    pub retried: Duration,
    #[serde(deserialize_with = "duration")]
    pub discarded: Duration,
}

impl Default for RetentionConfig {
    fn default() -> Self {
        let month = Duration::from_secs(30 * 24 * 60 * 60);
        Self { retried: month, discarded: month }
    }
}

impl Config {
    /// Sections that were set and that this version does not act upon.
    pub fn not_in_effect(&self) -> Vec<&'static str> {
        let set = [
            ("retry", self.retry != RetryConfig::default()),
            ("notify", self.notify != NotifyConfig::default()),
            ("watch", self.watch != WatchConfig::default()),
            ("retention", self.retention != RetentionConfig::default()),
        ];
        set.into_iter().filter(|(_, set)| *set).map(|(section, _)| section).collect()
    }
}

fn optional_duration<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Duration>, D::Error> {
    duration(deserializer).map(Some)
}

fn optional_word<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<RetryVia>, D::Error> {
    word(deserializer).map(Some)
}

fn optional_durations<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Vec<Duration>>, D::Error> {
    durations(deserializer).map(Some)
}

fn share<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    let share = f64::deserialize(deserializer)?;
    if (0.0..=1.0).contains(&share) {
        return Ok(share);
    }
    Err(D::Error::custom(format!("{share} is out of range; it takes 0 to 1")))
}
