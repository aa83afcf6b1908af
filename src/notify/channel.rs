//! Where a delivery goes.

use std::fmt;

use thiserror::Error;
use url::Url;

use super::{
    scrub::Secrets,
    signing::{SigningKey, SigningKeyError},
};
use crate::{config::values::Secret, domain::notification};

/// A channel with all it takes to use it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Channel {
    /// <https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks>
    SlackWebhook { url: SecretUrl },
    /// <https://docs.slack.dev/reference/methods/chat.postMessage>
    SlackBot(SlackBot),
    /// <https://developer.pagerduty.com/docs/events-api-v2-overview>
    PagerDuty { url: SecretUrl, routing_key: Secret },
    /// <https://github.com/prometheus/alertmanager/blob/main/api/v2/openapi.yaml>
    Alertmanager { url: SecretUrl },
    /// <https://www.standardwebhooks.com>
    Webhook { url: SecretUrl, key: SigningKey },
}

/// A bot that posts to one channel of Slack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlackBot {
    pub(super) api: SecretUrl,
    pub(super) token: Secret,
    pub(super) channel: String,
}

/// An address that holds a secret, or may hold one. It never shows itself.
#[derive(Clone, PartialEq, Eq)]
pub struct SecretUrl(Url);

/// What is wrong with the configuration of a channel. It names the key and never shows the value.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ChannelError {
    #[error("{key} is no address; it takes https://… or http://…")]
    Url { key: &'static str },
    #[error("{key} takes {takes}")]
    Value { key: &'static str, takes: &'static str },
    #[error("notify.webhook.secret cannot sign: {0}")]
    SigningKey(#[from] SigningKeyError),
}

impl Channel {
    /// # Errors
    /// When `url` is no HTTP address.
    pub fn slack_webhook(url: &Secret) -> Result<Self, ChannelError> {
        Ok(Self::SlackWebhook { url: SecretUrl::parse("notify.slack.webhook_url", url.reveal())? })
    }

    /// `api` is Slack's Web API (<https://docs.slack.dev/apis/web-api/>), what `/chat.postMessage` is added to.
    ///
    /// # Errors
    /// When the token cannot be sent in a header, `channel` is empty, or `api` is no HTTP address.
    pub fn slack_bot(api: &str, token: &Secret, channel: &str) -> Result<Self, ChannelError> {
        let token = printable("notify.slack.token", "a bot token of Slack, which begins with xoxb-", token)?;
        if channel.trim().is_empty() {
            let takes = "the name or, better, the ID of a channel in Slack";
            return Err(ChannelError::Value { key: "notify.slack.channel", takes });
        }
        let api = SecretUrl::parse("the address of Slack's Web API", api)?;
        Ok(Self::SlackBot(SlackBot { api, token, channel: channel.trim().to_owned() }))
    }

    /// `url` is what `/v2/enqueue` is added to.
    ///
    /// # Errors
    /// When the routing key is empty or not of printable characters, or `url` is no HTTP address.
    pub fn pagerduty(url: &Url, routing_key: &Secret) -> Result<Self, ChannelError> {
        let takes = "the 32 characters of an integration key of PagerDuty's Events API v2";
        let routing_key = printable("notify.pagerduty.routing_key", takes, routing_key)?;
        Ok(Self::PagerDuty { url: SecretUrl::parse("notify.pagerduty.url", url.as_str())?, routing_key })
    }

    /// `url` is what `/api/v2/alerts` is added to; user and password in it are sent as basic authentication.
    ///
    /// # Errors
    /// When `url` is no HTTP address.
    pub fn alertmanager(url: &Url) -> Result<Self, ChannelError> {
        Ok(Self::Alertmanager { url: SecretUrl::parse("notify.alertmanager.url", url.as_str())? })
    }

    /// # Errors
    /// When `url` is no HTTP address or `secret` no signing key.
    pub fn webhook(url: &Secret, secret: &Secret) -> Result<Self, ChannelError> {
        let url = SecretUrl::parse("notify.webhook.url", url.reveal())?;
        Ok(Self::Webhook { url, key: SigningKey::parse(secret.reveal())? })
    }

    /// What the database calls it.
    pub const fn kind(&self) -> notification::Channel {
        match self {
            Self::SlackWebhook { .. } | Self::SlackBot(_) => notification::Channel::Slack,
            Self::PagerDuty { .. } => notification::Channel::PagerDuty,
            Self::Alertmanager { .. } => notification::Channel::Alertmanager,
            Self::Webhook { .. } => notification::Channel::Webhook,
        }
    }

    /// How it is called in a sentence. The host of a webhook is left out, for it can be all that keeps it secret.
    pub(super) fn addressee(&self) -> String {
        match self {
            Self::SlackWebhook { .. } | Self::SlackBot(_) => "Slack".to_owned(),
            Self::PagerDuty { url, .. } => format!("PagerDuty at {}", url.host()),
            Self::Alertmanager { url } => format!("Alertmanager at {}", url.host()),
            Self::Webhook { .. } => "the webhook".to_owned(),
        }
    }

    /// `text`, which somebody else wrote, without any secret of the channel.
    pub(super) fn without_secrets(&self, text: &str) -> String {
        self.secrets().taken_out_of(text)
    }

    /// All that must not be seen of it.
    fn secrets(&self) -> Secrets {
        let mut secrets = Secrets::default();
        match self {
            Self::SlackWebhook { url } => url.add_all_to(&mut secrets),
            Self::SlackBot(bot) => {
                bot.api.add_login_to(&mut secrets);
                secrets.add(bot.token.reveal());
            }
            Self::PagerDuty { url, routing_key } => {
                url.add_login_to(&mut secrets);
                secrets.add(routing_key.reveal());
            }
            Self::Alertmanager { url } => url.add_login_to(&mut secrets),
            Self::Webhook { url, key } => {
                url.add_all_to(&mut secrets);
                secrets.add(&key.encoded());
            }
        }
        secrets
    }
}

impl SecretUrl {
    fn parse(key: &'static str, text: &str) -> Result<Self, ChannelError> {
        match Url::parse(text.trim()) {
            Ok(url) if matches!(url.scheme(), "http" | "https") && url.has_host() => Ok(Self(url)),
            _ => Err(ChannelError::Url { key }),
        }
    }

    pub(super) const fn reveal(&self) -> &Url {
        &self.0
    }

    /// With `path` after its own.
    pub(super) fn join(&self, path: &[&str]) -> Url {
        let mut url = self.0.clone();
        // Only addresses like mailto: have no path to add to.
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.pop_if_empty().extend(path);
        }
        url
    }

    /// Its host alone, where nothing secret is.
    pub(super) fn root(&self) -> Url {
        let mut url = self.0.clone();
        url.set_path("/");
        url.set_query(None);
        url.set_fragment(None);
        // Both fail only without a host.
        let _ = (url.set_username(""), url.set_password(None));
        url
    }

    fn host(&self) -> String {
        let host = self.0.host_str().unwrap_or_default();
        self.0.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
    }

    fn add_all_to(&self, secrets: &mut Secrets) {
        self.add_login_to(secrets);
        let path = self.0.path();
        secrets.add(self.0.as_str());
        secrets.add(self.0.host_str().unwrap_or_default());
        secrets.add(path);
        let query = self.0.query().unwrap_or_default();
        secrets.add(query);
        let parts = path.split('/').chain(query.split(['&', '=']));
        parts.filter(|part| may_be_secret(part)).for_each(|part| secrets.add(part));
        self.0.query_pairs().filter(|(_, value)| may_be_secret(value)).for_each(|(_, value)| secrets.add(&value));
    }

    fn add_login_to(&self, secrets: &mut Secrets) {
        secrets.add(self.0.password().unwrap_or_default());
    }
}

impl fmt::Debug for SecretUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretUrl(…)")
    }
}

/// Shorter parts of an address are words, and protect nothing.
const fn may_be_secret(part: &str) -> bool {
    part.len() >= 6
}

/// Trims what was pasted, and refuses what no header can carry.
fn printable(key: &'static str, takes: &'static str, secret: &Secret) -> Result<Secret, ChannelError> {
    let text = secret.reveal().trim();
    let fits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic());
    if fits { Ok(Secret::new(text)) } else { Err(ChannelError::Value { key, takes }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIGNING: &str = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD";

    fn url(text: &str) -> SecretUrl {
        SecretUrl::parse("url", text).unwrap()
    }

    #[test]
    fn an_address_must_be_of_http_and_is_not_shown() {
        fn check(text: &str) {
            let error = Channel::slack_webhook(&Secret::new(text)).unwrap_err();
            assert_eq!(error.to_string(), "notify.slack.webhook_url is no address; it takes https://… or http://…");
        }
        check("");
        check("hooks.slack.com/services/secret");
        check("file:///etc/passwd");
        check("mailto:secret@example.org");
    }

    #[test]
    fn what_is_missing_is_said() {
        fn check(channel: Result<Channel, ChannelError>, expected: &str) {
            assert!(channel.unwrap_err().to_string().starts_with(expected), "{expected}");
        }
        let api = "https://slack.com/api";
        check(Channel::slack_bot(api, &Secret::new(""), "C1"), "notify.slack.token takes a bot token");
        check(Channel::slack_bot(api, &Secret::new("a\r\nb"), "C1"), "notify.slack.token takes a bot token");
        check(Channel::slack_bot(api, &Secret::new("xoxb-1"), " "), "notify.slack.channel takes the name");
        let pagerduty = Url::parse("https://events.pagerduty.com").unwrap();
        check(Channel::pagerduty(&pagerduty, &Secret::new(" ")), "notify.pagerduty.routing_key takes the 32");
        let address = Secret::new("https://example.org/hook");
        check(
            Channel::webhook(&address, &Secret::new("hunter2")),
            "notify.webhook.secret cannot sign: it takes whsec_",
        );
    }

    #[test]
    fn paths_are_added_to_whatever_is_there() {
        fn check(base: &str, expected: &str) {
            assert_eq!(url(base).join(&["v2", "enqueue"]).as_str(), expected);
        }
        check("http://h", "http://h/v2/enqueue");
        check("http://h/", "http://h/v2/enqueue");
        check("http://h/a", "http://h/a/v2/enqueue");
        check("http://h/a/", "http://h/a/v2/enqueue");
        check("http://h/a?b=c", "http://h/a/v2/enqueue?b=c");
    }

    #[test]
    fn the_root_keeps_no_secret() {
        assert_eq!(url("https://u:p@h:81/services/x?token=y#z").root().as_str(), "https://h:81/");
    }

    #[test]
    fn every_part_of_a_webhooks_address_is_hidden() {
        let secret = Secret::new("https://u:pw1@in.example.org/hooks/T0/B0/abcdef?sig=sig%26ned");
        let channel = Channel::webhook(&secret, &Secret::new(SIGNING)).unwrap();
        for part in [secret.reveal(), "pw1", "in.example.org", "abcdef", "sig%26ned", "sig&ned", &SIGNING[6..]] {
            let text = channel.without_secrets(&format!("<{part}>"));
            assert!(!text.contains(part), "{text}");
        }
        assert!(!format!("{channel:?}").contains("example"), "{channel:?}");
    }

    #[test]
    fn what_it_is_called_tells_no_login() {
        let address = Url::parse("http://u:pw1@alerts:9093/am").unwrap();
        assert_eq!(Channel::alertmanager(&address).unwrap().addressee(), "Alertmanager at alerts:9093");
        let slack = Channel::slack_webhook(&Secret::new("https://hooks.slack.com/services/x")).unwrap();
        assert_eq!(slack.addressee(), "Slack");
    }
}
