//! Reading the configuration again on SIGHUP: what can be replaced is, all of it or nothing, and the log says what needs a
//! restart.

use anyhow::Context;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;
use url::Url;

use super::{Services, logging};
use crate::{
    config::{Config, ConfigError, Effective},
    services::{
        change_feed::ChangeFeed,
        digests::{Digests, Plan},
        incidents,
        live::Live,
        notifications::channels::Channels,
        policies::Policies,
        sign_in::SignIn,
    },
};

/// How the configuration is read again.
pub struct ReadAgain {
    pub read: Box<dyn Fn() -> Result<(Config, Effective), ConfigError> + Send>,
    /// What is in effect at first.
    pub effective: Effective,
    pub filter: logging::Refilter,
}

/// What a configuration that is read again replaces.
pub struct Replaceable {
    policies: Policies,
    sign_in: SignIn,
    digests: Digests,
    channels: Live<Channels>,
    paging: Live<incidents::Settings>,
    feed: ChangeFeed,
    public_url: Url,
}

impl Replaceable {
    pub(super) fn of(services: &Services, config: &Config) -> Self {
        Self {
            policies: services.policies.clone(),
            sign_in: services.sign_in.clone(),
            digests: services.digests.clone(),
            channels: services.channels.clone(),
            paging: services.paging.clone(),
            feed: services.feed.clone(),
            public_url: config.web.public_url.clone(),
        }
    }

    /// Nothing is replaced before all of it could be made.
    fn replace(&self, config: &Config, filter: &logging::Refilter) -> anyhow::Result<()> {
        let policies = config.retry.policies().map_err(anyhow::Error::msg)?;
        let channels = Channels::new(&config.notify)?;
        let plans = Plan::all(&config.notify).map_err(anyhow::Error::msg)?;
        let paging = incidents::Settings::new(&config.notify.page, self.public_url.clone());
        let paging = paging.map_err(anyhow::Error::msg)?;
        let auth = self.sign_in.merged(&config.auth).map_err(anyhow::Error::msg)?;
        let log = logging::filter(&config.log)?;
        self.policies.configure(policies);
        self.channels.replace(channels);
        self.digests.configure(plans);
        self.paging.replace(paging);
        self.sign_in.configure(auth);
        filter(log);
        // Whoever reads settings reads them now.
        self.feed.settings_changed();
        Ok(())
    }
}

/// Waits for SIGHUP.
pub(super) struct Reload {
    again: ReadAgain,
    hangup: Signal,
}

impl Reload {
    /// From now on SIGHUP ends nothing.
    pub(super) fn listen(again: ReadAgain) -> std::io::Result<Self> {
        Ok(Self { again, hangup: signal(SignalKind::hangup())? })
    }

    pub(super) async fn run(mut self, replaceable: Replaceable, stop: CancellationToken) {
        while stop.run_until_cancelled(self.hangup.recv()).await.flatten().is_some() {
            if let Err(error) = self.reload(&replaceable) {
                tracing::error!("the configuration was not taken, what was in effect stays: {error:#}");
            }
        }
        stop.cancelled().await;
    }

    fn reload(&mut self, replaceable: &Replaceable) -> anyhow::Result<()> {
        let (config, effective) = (self.again.read)()?;
        let changed = self.again.effective.changed(&effective);
        let (taken, left): (Vec<_>, Vec<_>) = changed.into_iter().partition(|key| is_replaceable(key));
        replaceable.replace(&config, &self.again.filter).context("it makes nothing that can be used")?;
        self.again.effective = self.again.effective.with(&effective, is_replaceable);
        let in_effect = match (taken.is_empty(), left.is_empty()) {
            (true, true) => "nothing has changed".to_owned(),
            (true, false) => "nothing that can change without a restart has changed".to_owned(),
            (false, _) => format!("in effect: {}", taken.join(", ")),
        };
        tracing::info!("the configuration was read again: {in_effect}");
        if !left.is_empty() {
            tracing::warn!("some of the configuration needs a restart: {}", left.join(", "));
        }
        Ok(())
    }
}

/// Whether a key is in effect without a restart.
fn is_replaceable(key: &str) -> bool {
    const TABLES: [&str; 4] = ["retry.", "notify.", "auth.roles.", "auth.teams."];
    const KEYS: [&str; 3] = ["auth.viewers_see_payloads", "auth.metrics", "log.filter"];
    key != "retry.targets" && (KEYS.contains(&key) || TABLES.iter().any(|table| key.starts_with(table)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn some_keys_need_a_restart() {
        for key in ["retry.delays", "retry.queues.\"texts.*\".via", "notify.slack.token", "auth.teams.pay.queues"] {
            assert!(is_replaceable(key), "{key}");
        }
        for key in ["retry.targets", "auth.mode", "web.listen", "database.url", "log.format", "rules.file"] {
            assert!(!is_replaceable(key), "{key}");
        }
    }
}
