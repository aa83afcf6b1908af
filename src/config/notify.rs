//! `[notify]`: whom to tell what, and when.

use std::{collections::BTreeMap, time::Duration};

use serde::Deserialize;
use url::Url;

use super::values::{Secret, duration, http_url, list, perhaps_http_url, perhaps_word_list, word_list};
use crate::domain::{
    letter::Importance,
    schedule::{QuietHours, Schedule},
};

/// `[notify]`
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct NotifyConfig {
    pub slack: SlackConfig,
    /// The one digest there is where no other is named.
    pub digest: DigestConfig,
    /// Several digests, by name; then `digest` is not sent.
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
    /// Where the methods of Slack's Web API are.
    #[serde(deserialize_with = "http_url")]
    pub api_url: Url,
    /// Which incidents are told in Slack; without it, those of `notify.page.importance`.
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
            importance: None,
        }
    }
}

/// `[notify.digest]`, and each of `[notify.digests.*]`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct DigestConfig {
    /// When it is sent, in cron's five fields.
    pub schedule: String,
    /// The zone of the schedule and of the times it names, as in `Europe/London`.
    pub timezone: String,
    #[serde(deserialize_with = "word_list")]
    pub importance: Vec<Importance>,
    /// Names of queues or globs; none: all.
    #[serde(deserialize_with = "list")]
    pub queues: Vec<String>,
    /// Another incoming webhook, or with a token another channel, than those of `[notify.slack]`.
    pub webhook_url: Secret,
    pub channel: String,
    /// A letter that has been open for longer, in a group that nothing happens to, is called stuck.
    #[serde(deserialize_with = "duration")]
    pub stuck_after: Duration,
    /// Whether it is sent when there is nothing to tell, too.
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
    /// Without it, `notify.page.importance`.
    #[serde(deserialize_with = "perhaps_word_list")]
    pub importance: Option<Vec<Importance>>,
}

impl Default for PagerDutyConfig {
    #[expect(clippy::expect_used, reason = "a constant")]
    fn default() -> Self {
        let url = Url::parse("https://events.pagerduty.com").expect("a constant address");
        Self { routing_key: Secret::default(), url, importance: None }
    }
}

/// `[notify.alertmanager]`: API v2.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct AlertmanagerConfig {
    /// As in `http://alertmanager:9093`; empty: none.
    #[serde(deserialize_with = "perhaps_http_url")]
    pub url: Option<Url>,
    /// Without it, `notify.page.importance`.
    #[serde(deserialize_with = "perhaps_word_list")]
    pub importance: Option<Vec<Importance>>,
}

/// `[notify.webhook]`: JSON, signed as Standard Webhooks are (<https://www.standardwebhooks.com>).
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct WebhookConfig {
    pub url: Secret,
    /// `whsec_` and at least 24 bytes in base64.
    pub secret: Secret,
    /// Without it, `notify.page.importance`.
    #[serde(deserialize_with = "perhaps_word_list")]
    pub importance: Option<Vec<Importance>>,
}

/// `[notify.page]`: what concerns a person now.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PageConfig {
    #[serde(deserialize_with = "word_list")]
    pub importance: Vec<Importance>,
    /// An incident that goes on for so long is told again, and then every so often; `0s`: never.
    #[serde(deserialize_with = "duration")]
    pub remind_every: Duration,
    pub quiet_hours: QuietHoursConfig,
}

impl Default for PageConfig {
    fn default() -> Self {
        Self {
            importance: vec![Importance::Critical],
            remind_every: Duration::ZERO,
            quiet_hours: QuietHoursConfig::default(),
        }
    }
}

/// `[notify.page.quiet_hours]`: what may wait until they are over.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct QuietHoursConfig {
    /// `22:00`; empty: no quiet hours.
    pub from: String,
    /// `07:00`
    pub to: String,
    pub timezone: String,
    /// The days on which they begin, as `MON`, `SAT-SUN`; none: every day.
    #[serde(deserialize_with = "list")]
    pub days: Vec<String>,
    /// Incidents of these wait; all others are told at any hour.
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
            _ => Ok(()),
        }
    }
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
            digest.schedule().map_err(|why| format!("notify.digests.{name}: {why}"))?;
        }
        self.digest.schedule().map_err(|why| format!("notify.digest: {why}"))?;
        self.page.quiet_hours.hours().map_err(|why| format!("notify.page.quiet_hours: {why}"))?;
        if self.webhook.url.is_empty() != self.webhook.secret.is_empty() {
            return Err("notify.webhook: it takes url and secret, both or neither".to_owned());
        }
        Ok(())
    }
}
