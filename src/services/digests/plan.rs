//! What the configuration says of a digest.

use std::fmt;

use amqp_message::time::Timestamp;

use crate::{
    config::{DigestConfig, NotifyConfig, SlackConfig},
    domain::{digest::DigestOptions, letter::Importance, schedule::Schedule},
};

/// One digest: when, about what, to where.
#[derive(Clone, Debug)]
pub struct Plan {
    pub name: String,
    pub schedule: Schedule,
    pub importances: Vec<Importance>,
    /// Names or globs; none: all.
    pub queues: Vec<String>,
    pub options: DigestOptions,
    /// `None` while no Slack is configured. It is not sent then.
    pub destination: Option<Destination>,
}

/// Where a digest goes, without what is secret of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Destination {
    /// An incoming webhook, which knows its channel; nobody else does.
    Webhook,
    Channel(String),
}

impl fmt::Display for Destination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Webhook => f.write_str("Slack, by a webhook"),
            Self::Channel(channel) => write!(f, "Slack, {channel}"),
        }
    }
}

impl Plan {
    /// The name of the one digest that has none.
    pub const UNNAMED: &str = "digest";

    /// All of the configuration, by name.
    ///
    /// # Errors
    /// Names the digest and what its schedule takes.
    pub fn all(config: &NotifyConfig) -> Result<Vec<Self>, String> {
        let plan = |(name, digest): (&str, &DigestConfig)| {
            Ok(Self {
                name: name.to_owned(),
                schedule: digest.schedule().map_err(|why| format!("the schedule of the digest {name}: {why}"))?,
                importances: digest.importance.clone(),
                queues: digest.queues.clone(),
                options: DigestOptions { stuck_after: digest.stuck_after, all_quiet: digest.all_quiet },
                destination: Destination::of(digest, &config.slack),
            })
        };
        config.all_digests().into_iter().map(plan).collect()
    }

    /// What people read above it.
    pub fn title(&self) -> String {
        if self.name == Self::UNNAMED { "Dead letters".to_owned() } else { format!("Dead letters: {}", self.name) }
    }

    /// The time it is about, as its readers' clock shows it.
    pub fn label(&self, from: Option<Timestamp>, until: Timestamp) -> String {
        let until = self.schedule.zone().show(until);
        from.map_or(until.clone(), |from| format!("{} to {until}", self.schedule.zone().show(from)))
    }
}

impl Destination {
    fn of(digest: &DigestConfig, slack: &SlackConfig) -> Option<Self> {
        let hook = !digest.webhook_url.is_empty() || !slack.webhook_url.is_empty();
        let channel = [&digest.channel, &slack.channel].into_iter().find(|channel| !channel.is_empty());
        match channel {
            _ if hook => Some(Self::Webhook),
            Some(channel) if !slack.token.is_empty() => Some(Self::Channel(channel.clone())),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::values::Secret;

    fn check(change: impl FnOnce(&mut NotifyConfig), expected: Option<&str>) {
        let mut config = NotifyConfig::default();
        change(&mut config);
        let plans = Plan::all(&config).unwrap();
        assert_eq!(plans[0].destination.as_ref().map(ToString::to_string).as_deref(), expected);
    }

    #[test]
    fn says_where_it_goes_and_nothing_secret() {
        check(|_| {}, None);
        let hook = || Secret::new("https://hooks.slack.com/services/T/B/secret");
        check(|config| config.slack.webhook_url = hook(), Some("Slack, by a webhook"));
        check(|config| config.digest.webhook_url = hook(), Some("Slack, by a webhook"));
        let bot = |config: &mut NotifyConfig| {
            config.slack.token = Secret::new("xoxb-secret");
            config.slack.channel = "#ops".to_owned();
        };
        check(bot, Some("Slack, #ops"));
        let elsewhere = |config: &mut NotifyConfig| {
            bot(config);
            config.digest.channel = "#mail".to_owned();
        };
        check(elsewhere, Some("Slack, #mail"));
    }

    #[test]
    fn a_named_one_has_its_name_in_the_title() {
        let mut config = NotifyConfig::default();
        assert_eq!(Plan::all(&config).unwrap()[0].title(), "Dead letters");
        config.digests.insert("orders".to_owned(), DigestConfig::default());
        let plans = Plan::all(&config).unwrap();
        assert_eq!((plans.len(), plans[0].title().as_str()), (1, "Dead letters: orders"));
    }
}
