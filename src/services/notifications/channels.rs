//! The channels of the configuration, ready to be used.

use std::collections::BTreeMap;

use crate::{
    config::{DigestConfig, NotifyConfig, SlackConfig, values::Secret},
    domain::{letter::Importance, notification::Channel as ChannelKind},
    notify::{Channel, ChannelError},
    store::IncidentRecord,
};

/// A channel that incidents are reported in, and which.
#[derive(Clone, Debug)]
pub struct PageChannel {
    pub kind: ChannelKind,
    pub importance: Vec<Importance>,
}

impl PageChannel {
    pub fn wants(&self, importance: Importance) -> bool {
        self.importance.contains(&importance)
    }

    /// Whether it was notified of an incident that is of `importance` now. To Alertmanager it is another alert then.
    pub(crate) fn knows(&self, record: &IncidentRecord, importance: Importance) -> bool {
        let told = record.told.get(&self.kind);
        told.is_some_and(|told| self.kind != ChannelKind::Alertmanager || *told == importance)
    }

    /// Under which importance it knows an incident; `None` where it has not heard of it. Alertmanager hears of what it
    /// wants again and again, though it was configured only after the incident was reported.
    pub(crate) fn knows_as(&self, record: &IncidentRecord) -> Option<Importance> {
        let told = record.told.get(&self.kind).copied();
        let wanted = Some(record.incident.importance).filter(|importance| self.wants(*importance));
        match self.kind {
            ChannelKind::Alertmanager => told.or(wanted),
            _ => told.map(|told| wanted.unwrap_or(told)),
        }
    }
}

/// Every channel there is.
#[derive(Clone, Debug, Default)]
pub struct Channels {
    by_kind: BTreeMap<ChannelKind, Channel>,
    /// Where each digest goes, by its name.
    digests: BTreeMap<String, Channel>,
    pages: Vec<PageChannel>,
    /// Notifications that each may be sent within a minute.
    limits: BTreeMap<ChannelKind, u64>,
}

impl Channels {
    /// # Errors
    /// Names the key that makes no channel, and never its value.
    pub fn new(config: &NotifyConfig) -> Result<Self, ChannelError> {
        let mut channels = Self::default();
        for (kind, limit) in [
            (ChannelKind::Slack, config.slack.per_minute),
            (ChannelKind::PagerDuty, config.pagerduty.per_minute),
            (ChannelKind::Alertmanager, config.alertmanager.per_minute),
            (ChannelKind::Webhook, config.webhook.per_minute),
        ] {
            channels.limits.extend((limit > 0).then_some((kind, limit)));
        }
        let default = &config.page.importance;
        if let Some(slack) = slack(&config.slack, &config.slack.webhook_url, &config.slack.channel)? {
            channels.add(slack, config.slack.importance.as_ref().unwrap_or(default));
        }
        let pagerduty = &config.pagerduty;
        if !pagerduty.routing_key.is_empty() {
            let channel = Channel::pagerduty(&pagerduty.url, &pagerduty.routing_key)?;
            channels.add(channel, pagerduty.importance.as_ref().unwrap_or(default));
        }
        if let Some(url) = &config.alertmanager.url {
            channels.add(Channel::alertmanager(url)?, config.alertmanager.importance.as_ref().unwrap_or(default));
        }
        let webhook = &config.webhook;
        if !webhook.url.is_empty() {
            let channel = Channel::webhook(&webhook.url, &webhook.secret)?;
            channels.add(channel, webhook.importance.as_ref().unwrap_or(default));
        }
        for (name, digest) in config.all_digests() {
            channels.digests.extend(of_digest(&config.slack, digest)?.map(|channel| (name.to_owned(), channel)));
        }
        Ok(channels)
    }

    fn add(&mut self, channel: Channel, importance: &[Importance]) {
        self.pages.push(PageChannel { kind: channel.kind(), importance: importance.to_vec() });
        self.by_kind.insert(channel.kind(), channel);
    }

    /// Where a digest goes; `None` where nothing is configured for it.
    pub fn of_digest(&self, name: &str) -> Option<&Channel> {
        self.digests.get(name)
    }

    pub fn get(&self, kind: ChannelKind) -> Option<&Channel> {
        self.by_kind.get(&kind)
    }

    /// Whether anything is sent there, incidents or a digest.
    pub fn has(&self, kind: ChannelKind) -> bool {
        self.by_kind.contains_key(&kind) || self.digests.values().any(|channel| channel.kind() == kind)
    }

    /// How many notifications it may be sent within a minute; `None`: any number.
    pub fn limit(&self, kind: ChannelKind) -> Option<u64> {
        self.limits.get(&kind).copied()
    }

    /// All that incidents are reported in.
    pub fn pages(&self) -> &[PageChannel] {
        &self.pages
    }

    /// Each of them once, with its name in a sentence; for whoever checks them.
    pub fn all(&self) -> impl Iterator<Item = (String, &Channel)> {
        let own = |(name, channel): (&String, &Channel)| self.get(channel.kind()) != Some(channel) && !name.is_empty();
        let kinds = self.by_kind.iter().map(|(kind, channel)| (kind.to_string(), channel));
        let digests = self.digests.iter().filter(move |digest| own(*digest));
        kinds.chain(digests.map(|(name, channel)| (format!("slack, of the digest {name}"), channel)))
    }
}

fn of_digest(slack_config: &SlackConfig, digest: &DigestConfig) -> Result<Option<Channel>, ChannelError> {
    let webhook = if digest.webhook_url.is_empty() { &slack_config.webhook_url } else { &digest.webhook_url };
    let channel = if digest.channel.is_empty() { &slack_config.channel } else { &digest.channel };
    slack(slack_config, webhook, channel)
}

fn slack(config: &SlackConfig, webhook: &Secret, channel: &str) -> Result<Option<Channel>, ChannelError> {
    if !webhook.is_empty() {
        return Channel::slack_webhook(webhook).map(Some);
    }
    if config.token.is_empty() {
        return Ok(None);
    }
    Channel::slack_bot(config.api_url.as_str(), &config.token, channel).map(Some)
}
