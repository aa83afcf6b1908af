//! The configuration: a TOML file over the defaults, the environment over both.
//!
//! Pure but for [`load`], which reads the file it is given. There is one file for each concern. What each key means, and
//! what it takes, is said once, in `docs/reference/dlo.toml`; tests hold keys and defaults against it.

mod auth;
mod brokers;
mod effective;
mod environment;
mod load;
mod notify;
mod reference;
mod retry;
mod rules;
mod sections;
mod teams;
pub mod values;
mod watch;

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::domain::retry_limits::{RetryLimits, Targets};

pub use auth::{AuthConfig, AuthMode, MetricsAccess, OidcConfig, ProxyConfig, RolesConfig};
pub use brokers::{BrokerConfig, QueueType};
pub use effective::{Effective, Origin};
pub use load::{ConfigError, load, trace};
pub use notify::{
    AlertmanagerConfig, DigestConfig, NotifyConfig, PageConfig, PagerDutyConfig, QuietHoursConfig, SlackConfig,
    WebhookConfig,
};
pub use retry::RetryConfig;
pub use rules::{RulesConfig, rules_of};
pub use sections::{
    DatabaseConfig, DecodeConfig, EasynetqConfig, GroupsConfig, IntakeConfig, LogConfig, LogFormat, OutgoingConfig,
    RetentionConfig, SchemasConfig, SearchConfig, TlsConfig, WebConfig,
};
pub use teams::{TeamConfig, memberships};
pub use watch::WatchConfig;

/// The whole configuration.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    pub database: DatabaseConfig,
    pub web: WebConfig,
    /// One table for each broker or vhost; by default just `main`.
    pub brokers: BTreeMap<String, BrokerConfig>,
    pub intake: IntakeConfig,
    pub decode: DecodeConfig,
    pub search: SearchConfig,
    pub easynetq: EasynetqConfig,
    pub schemas: SchemasConfig,
    pub groups: GroupsConfig,
    pub log: LogConfig,
    pub retry: RetryConfig,
    pub rules: RulesConfig,
    pub notify: NotifyConfig,
    pub outgoing: OutgoingConfig,
    pub watch: WatchConfig,
    pub auth: AuthConfig,
    pub retention: RetentionConfig,
}

impl Config {
    /// What is never sent back, and where nothing is sent to.
    pub fn retry_limits(&self) -> RetryLimits {
        let own = self.brokers.values().flat_map(|broker| [&broker.dead_letter_queue, &broker.obituary_queue]);
        let targets = Targets::new(self.retry.target_patterns(), own.cloned().collect());
        RetryLimits { bodies: self.easynetq.inner_bodies(), targets }
    }
}

impl Default for Config {
    fn default() -> Self {
        Self {
            database: DatabaseConfig::default(),
            web: WebConfig::default(),
            brokers: BTreeMap::from([("main".to_owned(), BrokerConfig::default())]),
            intake: IntakeConfig::default(),
            decode: DecodeConfig::default(),
            search: SearchConfig::default(),
            easynetq: EasynetqConfig::default(),
            schemas: SchemasConfig::default(),
            groups: GroupsConfig::default(),
            log: LogConfig::default(),
            retry: RetryConfig::default(),
            rules: RulesConfig::default(),
            notify: NotifyConfig::default(),
            outgoing: OutgoingConfig::default(),
            watch: WatchConfig::default(),
            auth: AuthConfig::default(),
            retention: RetentionConfig::default(),
        }
    }
}
