//! Whether a channel can be reached, found out without telling anybody anything.

use reqwest::StatusCode;
use thiserror::Error;

use super::{
    Channel, SecretUrl, Sender, SlackBot,
    slack::channel::{Reply, advice, error_name},
};

/// Why a channel cannot be reached: a clause for users.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct Unreachable(String);

impl Sender {
    /// Slack is asked whether the token is valid, Alertmanager for its status. PagerDuty and webhooks have nothing
    /// that could be asked without effect, so there it is enough that the host answers.
    ///
    /// # Errors
    /// When it cannot be reached, or would refuse us.
    pub async fn check(&self, channel: &Channel) -> Result<(), Unreachable> {
        match channel {
            Channel::SlackBot(bot) => self.check_token(channel, bot).await,
            Channel::Alertmanager { url } => self.check_status(channel, url).await,
            Channel::SlackWebhook { url } | Channel::PagerDuty { url, .. } | Channel::Webhook { url, .. } => {
                self.check_host(channel, url).await
            }
        }
        .map_err(Unreachable)
    }

    async fn check_host(&self, channel: &Channel, url: &SecretUrl) -> Result<(), String> {
        let answer = self.ask(channel, self.client.head(url.root())).await?;
        // Whatever else it answers comes from the host itself; these come from a proxy that does not find it.
        match answer.status {
            StatusCode::BAD_GATEWAY | StatusCode::SERVICE_UNAVAILABLE | StatusCode::GATEWAY_TIMEOUT => {
                Err(format!("{} answered {}", channel.addressee(), answer.status.as_u16()))
            }
            _ => Ok(()),
        }
    }

    /// <https://docs.slack.dev/reference/methods/auth.test>
    async fn check_token(&self, channel: &Channel, bot: &SlackBot) -> Result<(), String> {
        let request = self.client.post(bot.api.join(&["auth.test"])).bearer_auth(bot.token.reveal());
        let answer = self.ask(channel, request).await?;
        let reply = Reply::read(&answer.body);
        match (reply.ok, reply.error.as_deref().and_then(error_name)) {
            (Some(true), _) => Ok(()),
            (_, Some(error)) => Err(format!("Slack answered {}{}", channel.without_secrets(error), advice(error))),
            _ => Err(format!("Slack answered {} with something that cannot be read", answer.status.as_u16())),
        }
    }

    async fn check_status(&self, channel: &Channel, url: &SecretUrl) -> Result<(), String> {
        let answer = self.ask(channel, self.client.get(url.join(&["api", "v2", "status"]))).await?;
        let (addressee, status) = (channel.addressee(), answer.status.as_u16());
        if !answer.status.is_success() {
            return Err(format!("{addressee} answered {status}"));
        }
        // The whole configuration is in the answer, so that its end may be missing.
        if answer.body.trim_ascii_start().starts_with(b"{") {
            Ok(())
        } else {
            Err(format!("{addressee} answered {status}, but not as an Alertmanager does"))
        }
    }
}
