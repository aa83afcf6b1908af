//! `[notify]`: whom to tell what, and when.

use std::{collections::BTreeMap, time::Duration};

use serde::Deserialize;
use url::Url;

use super::values::{Secret, duration, http_url, list, perhaps_http_url, perhaps_word_list, word_list};
use crate::domain::{
    letter::Importance,
    schedule::{QuietHours, Schedule},
};

/// Notifications that a channel is sent within a minute at most, by default.
const PER_MINUTE: u64 = 30;

/// `[notify]`
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct NotifyConfig {
    pub slack: SlackConfig,
    pub digest: DigestConfig,
    pub digests: BTreeMap<String, DigestConfig>,
    pub pagerduty: PagerDutyConfig,
    pub alertmanager: AlertmanagerConfig,
    pub webhook: WebhookConfig,
    pub page: PageConfig,
}

/// `[notify.slack]`: an incoming webhook, or a bot's token and a channel.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SlackConfig {
    pub webhook_url: Secret,
    pub token: Secret,
    pub channel: String,
    #[serde(deserialize_with = "http_url")]
    pub api_url: Url,
    pub per_minute: u64,
    /// Which incidents are reported in Slack; without it, those of `notify.page.importance`.
    #[serde(deserialize_with = "perhaps_word_list")]
    pub importance: Option<Vec<Importance>>,
}

impl Default for SlackConfig {
    #[expect(clippy::expect_used, reason = "a constant")]
    fn default() -> Self {
        Self {
            webhook_url: Secret::default(),
            token: Secret::default(),
            channel: String::new(),
            api_url: Url::parse("https://slack.com/api/").expect("a constant address"),
            per_minute: PER_MINUTE,
            importance: None,
        }
    }
}

/// `[notify.digest]`, and each of `[notify.digests.*]`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct DigestConfig {
    pub schedule: String,
    pub timezone: String,
    #[serde(deserialize_with = "word_list")]
    pub importance: Vec<Importance>,
    #[serde(deserialize_with = "list")]
    pub queues: Vec<String>,
    pub webhook_url: Secret,
    pub channel: String,
    #[serde(deserialize_with = "duration")]
    pub stuck_after: Duration,
    pub all_quiet: bool,
}

impl Default for DigestConfig {
    fn default() -> Self {
        Self {
            schedule: "0 9 * * MON-FRI".to_owned(),
            timezone: "UTC".to_owned(),
            importance: vec![Importance::Low, Importance::Normal],
            queues: Vec::new(),
            webhook_url: Secret::default(),
            channel: String::new(),
            stuck_after: Duration::from_secs(24 * 60 * 60),
            all_quiet: false,
        }
    }
}

/// `[notify.pagerduty]`: Events API v2.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PagerDutyConfig {
    pub routing_key: Secret,
    #[serde(deserialize_with = "http_url")]
    pub url: Url,
    pub per_minute: u64,
    /// Without it, `notify.page.importance`.
    #[serde(deserialize_with = "perhaps_word_list")]
    pub importance: Option<Vec<Importance>>,
}

impl Default for PagerDutyConfig {
    #[expect(clippy::expect_used, reason = "a constant")]
    fn default() -> Self {
        let url = Url::parse("https://events.pagerduty.com").expect("a constant address");
        Self { routing_key: Secret::default(), url, per_minute: PER_MINUTE, importance: None }
    }
}

/// `[notify.alertmanager]`: API v2.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct AlertmanagerConfig {
    #[serde(deserialize_with = "perhaps_http_url")]
    pub url: Option<Url>,
    pub per_minute: u64,
    /// Without it, `notify.page.importance`.
    #[serde(deserialize_with = "perhaps_word_list")]
    pub importance: Option<Vec<Importance>>,
}

impl Default for AlertmanagerConfig {
    fn default() -> Self {
        Self { url: None, per_minute: PER_MINUTE, importance: None }
    }
}

/// `[notify.webhook]`: JSON, signed as Standard Webhooks are (<https://www.standardwebhooks.com>).
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct WebhookConfig {
    pub url: Secret,
    pub secret: Secret,
    pub per_minute: u64,
    /// Without it, `notify.page.importance`.
    #[serde(deserialize_with = "perhaps_word_list")]
    pub importance: Option<Vec<Importance>>,
}

impl Default for WebhookConfig {
    fn default() -> Self {
        Self { url: Secret::default(), secret: Secret::default(), per_minute: PER_MINUTE, importance: None }
    }
}

/// `[notify.page]`: what somebody has to be notified of now.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PageConfig {
    #[serde(deserialize_with = "word_list")]
    pub importance: Vec<Importance>,
    #[serde(deserialize_with = "duration")]
    pub remind_every: Duration,
    pub collect_above: usize,
    pub quiet_hours: QuietHoursConfig,
}

impl Default for PageConfig {
    fn default() -> Self {
        Self {
            importance: vec![Importance::Critical],
            remind_every: Duration::ZERO,
            collect_above: 10,
            quiet_hours: QuietHoursConfig::default(),
        }
    }
}

/// `[notify.page.quiet_hours]`: what may wait until they are over.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct QuietHoursConfig {
    pub from: String,
    pub to: String,
    pub timezone: String,
    #[serde(deserialize_with = "list")]
    pub days: Vec<String>,
    #[serde(deserialize_with = "word_list")]
    pub importance: Vec<Importance>,
}

impl Default for QuietHoursConfig {
    fn default() -> Self {
        Self {
            from: String::new(),
            to: String::new(),
            timezone: "UTC".to_owned(),
            days: Vec::new(),
            importance: vec![Importance::High, Importance::Normal, Importance::Low],
        }
    }
}

impl SlackConfig {
    pub fn is_set(&self) -> bool {
        !self.webhook_url.is_empty() || !self.token.is_empty()
    }

    fn check(&self) -> Result<(), String> {
        match (self.webhook_url.is_empty(), self.token.is_empty(), self.channel.is_empty()) {
            (false, false, _) => Err("notify.slack: it takes webhook_url or token, not both".to_owned()),
            (true, false, true) => Err("notify.slack.channel: a token takes a channel".to_owned()),
            (_, true, false) => Err(without_token("notify.slack")),
            _ => Ok(()),
        }
    }

    fn check_digest(&self, table: &str, digest: &DigestConfig) -> Result<(), String> {
        digest.schedule().map_err(|why| format!("{table}: {why}"))?;
        if self.token.is_empty() && !digest.channel.is_empty() { Err(without_token(table)) } else { Ok(()) }
    }
}

fn without_token(table: &str) -> String {
    format!(
        "{table}.channel: a channel takes notify.slack.token; a webhook always posts to the channel it was made for"
    )
}

impl DigestConfig {
    pub fn schedule(&self) -> Result<Schedule, String> {
        Schedule::parse(&self.schedule, &self.timezone)
    }
}

impl QuietHoursConfig {
    /// `None` where there are none.
    pub fn hours(&self) -> Result<Option<QuietHours>, String> {
        if self.from.is_empty() && self.to.is_empty() {
            return Ok(None);
        }
        QuietHours::parse(&self.from, &self.to, &self.timezone, &self.days).map(Some)
    }
}

impl NotifyConfig {
    /// The digests there are, by name.
    pub fn all_digests(&self) -> Vec<(&str, &DigestConfig)> {
        if self.digests.is_empty() {
            return vec![("digest", &self.digest)];
        }
        self.digests.iter().map(|(name, digest)| (&**name, digest)).collect()
    }

    /// What no single value can tell.
    pub(super) fn check(&self) -> Result<(), String> {
        self.slack.check()?;
        for (name, digest) in &self.digests {
            self.slack.check_digest(&format!("notify.digests.{name}"), digest)?;
        }
        self.slack.check_digest("notify.digest", &self.digest)?;
        self.page.quiet_hours.hours().map_err(|why| format!("notify.page.quiet_hours: {why}"))?;
        if self.webhook.url.is_empty() != self.webhook.secret.is_empty() {
            return Err("notify.webhook: it takes url and secret, both or neither".to_owned());
        }
        Ok(())
    }
}
