//! Sections whose keys are read and checked already, and which this version does not act upon yet.
//!
//! Whoever sets one is told so at the start ([`Config::not_in_effect`](super::Config::not_in_effect)).

use std::time::Duration;

use serde::Deserialize;

use super::{
    Config,
    values::{Secret, duration, http_url, list, word, word_list},
};
use crate::domain::{letter::Importance, words::words};

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

impl Config {
    /// Sections that were set and that this version does not act upon.
    pub fn not_in_effect(&self) -> Vec<&'static str> {
        let set = [("notify", self.notify != NotifyConfig::default()), ("watch", self.watch != WatchConfig::default())];
        set.into_iter().filter(|(_, set)| *set).map(|(section, _)| section).collect()
    }
}
