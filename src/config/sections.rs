//! The small sections: database, web, outgoing, intake, decode, search, easynetq, schemas, groups, log, retention.

use std::{
    collections::BTreeMap,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    path::PathBuf,
    time::Duration,
};

use amqp_message::word_enum;
use failure_conventions::inner_body::{InnerBodies, InnerBody};
use ipnet::IpNet;
use serde::{Deserialize, Deserializer, de::Error};
use url::Url;

use super::{
    auth::networks,
    values::{Secret, duration, http_url, list, perhaps_socket_address, socket_address, word},
};

/// `[database]`
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct DatabaseConfig {
    #[serde(deserialize_with = "database_url")]
    pub url: Secret,
    pub auto_migrate: bool,
    #[serde(deserialize_with = "duration")]
    pub slow_statement: Duration,
}

impl Default for DatabaseConfig {
    fn default() -> Self {
        let slow_statement = Duration::from_secs(1);
        Self { url: Secret::new("sqlite://dlo.db"), auto_migrate: true, slow_statement }
    }
}

/// `[web]`
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct WebConfig {
    #[serde(deserialize_with = "socket_address")]
    pub listen: SocketAddr,
    #[serde(deserialize_with = "http_url")]
    pub public_url: Url,
    #[serde(deserialize_with = "networks")]
    pub trusted_proxies: Vec<IpNet>,
    /// Where probes and metrics are open to whoever reaches it.
    #[serde(deserialize_with = "perhaps_socket_address")]
    pub probes_listen: Option<SocketAddr>,
    pub tls: TlsConfig,
    /// Where the services of the demo are mended; set by the demo itself.
    #[serde(skip)]
    pub demo: Option<Url>,
}

impl Default for WebConfig {
    #[expect(clippy::expect_used, reason = "both are constants, and a test loads them")]
    fn default() -> Self {
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 8420)),
            public_url: Url::parse("http://127.0.0.1:8420").expect("a constant address"),
            trusted_proxies: Vec::new(),
            probes_listen: None,
            tls: TlsConfig::default(),
            demo: None,
        }
    }
}

/// `[web.tls]`: both files, or none.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TlsConfig {
    pub cert_file: PathBuf,
    pub key_file: PathBuf,
}

impl TlsConfig {
    pub fn is_set(&self) -> bool {
        !self.cert_file.as_os_str().is_empty() && !self.key_file.as_os_str().is_empty()
    }

    pub(super) fn check(&self) -> Result<(), &'static str> {
        match self.cert_file.as_os_str().is_empty() == self.key_file.as_os_str().is_empty() {
            true => Ok(()),
            false => Err("web.tls: it takes cert_file and key_file, both or neither"),
        }
    }
}

/// `[outgoing]`
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct OutgoingConfig {
    /// Networks, addresses, and names or globs of hosts.
    #[serde(deserialize_with = "list")]
    pub private: Vec<String>,
}

impl WebConfig {
    /// The address at which this machine reaches what it listens on. A free port, which 0 stands for, is not known here.
    pub(super) fn listened_on(&self) -> Url {
        let ip = match self.listen.ip() {
            IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
            IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
            ip => ip,
        };
        let mut url = Self::default().public_url;
        if self.tls.is_set() {
            // Both are of the schemes that have hosts.
            let _ = url.set_scheme("https");
        }
        // An address of an interface is a host, and what is of the scheme http takes a port.
        let _ = url.set_ip_host(ip);
        let _ = url.set_port(Some(self.listen.port()));
        url
    }

    /// Where it listens on a free port, that is known by now.
    pub fn name_port(&mut self, port: u16) {
        if self.public_url.port() == Some(0) {
            let _ = self.public_url.set_port(Some(port));
        }
    }
}

/// `[intake]`: how deliveries are gathered into one commit.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct IntakeConfig {
    #[serde(deserialize_with = "batch_size")]
    pub batch_size: usize,
    #[serde(deserialize_with = "duration")]
    pub batch_wait: Duration,
}

impl Default for IntakeConfig {
    fn default() -> Self {
        Self { batch_size: 500, batch_wait: Duration::from_millis(5) }
    }
}

/// `[decode]`
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct DecodeConfig {
    pub max_bytes: u64,
    #[serde(deserialize_with = "list")]
    pub hidden_fields: Vec<String>,
    #[serde(deserialize_with = "list")]
    pub type_headers: Vec<String>,
}

impl Default for DecodeConfig {
    fn default() -> Self {
        Self { max_bytes: 16 * 1024 * 1024, hidden_fields: Vec::new(), type_headers: Vec::new() }
    }
}

/// `[search]`
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SearchConfig {
    pub enabled: bool,
    pub text_bytes: usize,
    pub payload_fields: usize,
}

impl Default for SearchConfig {
    fn default() -> Self {
        Self { enabled: true, text_bytes: 16 * 1024, payload_fields: 100 }
    }
}

/// `[easynetq]`
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct EasynetqConfig {
    pub bodies: BTreeMap<String, Body>,
}

/// How a body stands inside an error message.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(transparent)]
pub struct Body(#[serde(deserialize_with = "word")] InnerBody);

impl EasynetqConfig {
    pub fn inner_bodies(&self) -> InnerBodies {
        InnerBodies::new(self.bodies.iter().map(|(queue, body)| (queue.clone(), body.0)))
    }
}

/// `[schemas]`
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SchemasConfig {
    pub folder: String,
}

/// `[groups]`
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct GroupsConfig {
    #[serde(deserialize_with = "duration")]
    pub succeeded_after: Duration,
    #[serde(deserialize_with = "duration")]
    pub keep: Duration,
}

impl Default for GroupsConfig {
    fn default() -> Self {
        let hour = Duration::from_secs(60 * 60);
        Self { succeeded_after: hour, keep: hour * 24 * 90 }
    }
}

/// `[log]`
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LogConfig {
    #[serde(deserialize_with = "word")]
    pub format: LogFormat,
    pub filter: String,
}

word_enum! {
    LogFormat, "log format" {
        Text = "text",
        Json = "json",
    }
}

impl Default for LogConfig {
    fn default() -> Self {
        Self { format: LogFormat::Text, filter: "info,lapin=off,sqlx::postgres::notice=warn".to_owned() }
    }
}

fn database_url<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Secret, D::Error> {
    let text = String::deserialize(deserializer)?;
    if ["sqlite:", "postgres://", "postgresql://"].iter().any(|scheme| text.starts_with(scheme)) {
        return Ok(Secret::new(text));
    }
    Err(D::Error::custom("it takes sqlite://FILE or postgres://USER@HOST/DATABASE"))
}

fn batch_size<'de, D: Deserializer<'de>>(deserializer: D) -> Result<usize, D::Error> {
    match i64::deserialize(deserializer)? {
        n @ 1..=10_000 => usize::try_from(n).map_err(D::Error::custom),
        n => Err(D::Error::custom(format!("{n} is out of range; it takes 1 to 10000"))),
    }
}

/// `[retention]`
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RetentionConfig {
    #[serde(deserialize_with = "duration")]
    pub retried: Duration,
    #[serde(deserialize_with = "duration")]
    pub discarded: Duration,
    #[serde(deserialize_with = "duration")]
    pub activity: Duration,
    #[serde(deserialize_with = "duration")]
    pub markers: Duration,
    #[serde(deserialize_with = "duration")]
    pub succeeded: Duration,
}

impl Default for RetentionConfig {
    fn default() -> Self {
        let day = Duration::from_secs(24 * 60 * 60);
        Self {
            retried: 30 * day,
            discarded: 30 * day,
            activity: 365 * day,
            markers: 365 * day,
            succeeded: Duration::from_secs(60 * 60),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;
    use crate::config::load;

    fn bodies(toml: &str) -> Result<InnerBodies, String> {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(toml.as_bytes()).unwrap();
        let config = load(Some(file.path()), std::iter::empty()).map_err(|error| error.to_string())?;
        Ok(config.easynetq.inner_bodies())
    }

    #[test]
    fn bodies_inside_error_messages_are_told_by_queue() {
        let found = bodies("[easynetq.bodies]\n\"bin.*\" = \"base64\"\n\"Acme.Order, Acme_x\" = \"text\"").unwrap();
        assert_eq!(found.of("bin.worker"), Some(InnerBody::Base64));
        assert_eq!(found.of("Acme.Order, Acme_x"), Some(InnerBody::Text));
        assert_eq!(found.of("orders"), None);
        let refused = bodies("[easynetq.bodies]\n\"*\" = \"hex\"").unwrap_err();
        assert!(refused.contains("easynetq.bodies") && refused.contains("base64"), "{refused}");
    }
}
