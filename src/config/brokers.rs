//! `[brokers.NAME]`: one broker or vhost.

use std::path::PathBuf;

use amqp_message::word_enum;
use serde::{Deserialize, Deserializer, de::Error};
use url::Url;

use super::values::{Secret, is_loopback, word};

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct BrokerConfig {
    #[serde(deserialize_with = "amqp_url")]
    pub url: Secret,
    pub ca_file: PathBuf,
    #[serde(deserialize_with = "management_url")]
    pub management_url: Secret,
    #[serde(deserialize_with = "name")]
    pub dead_letter_exchange: String,
    #[serde(deserialize_with = "name")]
    pub dead_letter_queue: String,
    #[serde(deserialize_with = "name")]
    pub obituary_queue: String,
    pub declare: bool,
    #[serde(deserialize_with = "word")]
    pub queue_type: QueueType,
    #[serde(deserialize_with = "prefetch")]
    pub prefetch: u16,
}

word_enum! {
    QueueType, "queue type" {
        Quorum = "quorum",
        Classic = "classic",
    }
}

impl Default for BrokerConfig {
    fn default() -> Self {
        Self {
            url: Secret::new("amqp://guest:guest@127.0.0.1:5672/%2f"),
            ca_file: PathBuf::new(),
            management_url: Secret::default(),
            dead_letter_exchange: "dlx".to_owned(),
            dead_letter_queue: "dlo.dead-letters".to_owned(),
            obituary_queue: "dlo.obituaries".to_owned(),
            declare: true,
            queue_type: QueueType::Quorum,
            prefetch: 1000,
        }
    }
}

impl BrokerConfig {
    /// Host, port and vhost, for people.
    pub fn address(&self) -> String {
        let Ok(url) = Url::parse(self.url.reveal()) else { return "an unreadable address".to_owned() };
        let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
        format!("{}{port}, vhost {}", url.host_str().unwrap_or_default(), vhost(&url))
    }

    /// Whether both are one vhost, as far as their addresses say.
    pub(super) fn is_same_vhost(&self, other: &Self) -> bool {
        let place = |broker: &Self| {
            let url = Url::parse(broker.url.reveal()).ok()?;
            let usual = if url.scheme() == "amqps" { 5671 } else { 5672 };
            let host = if is_loopback(&url) { "localhost".to_owned() } else { url.host_str()?.to_ascii_lowercase() };
            Some((host, url.port().unwrap_or(usual), vhost(&url)))
        };
        place(self).is_some_and(|here| place(other) == Some(here))
    }
}

fn vhost(url: &Url) -> String {
    let vhost = url.path().trim_start_matches('/').replace("%2f", "/").replace("%2F", "/");
    if vhost.is_empty() { "/".to_owned() } else { vhost }
}

fn amqp_url<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Secret, D::Error> {
    let text = String::deserialize(deserializer)?;
    match Url::parse(&text) {
        Ok(url) if matches!(url.scheme(), "amqp" | "amqps") && url.has_host() => Ok(Secret::new(text)),
        // The text is not repeated: it may hold a password.
        _ => Err(D::Error::custom("it takes amqp://USER:PASSWORD@HOST:PORT/VHOST or amqps://…")),
    }
}

fn management_url<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Secret, D::Error> {
    let text = String::deserialize(deserializer)?;
    match Url::parse(&text) {
        _ if text.is_empty() => Ok(Secret::default()),
        Ok(url) if matches!(url.scheme(), "http" | "https") && url.has_host() => Ok(Secret::new(text)),
        _ => Err(D::Error::custom("it takes http://USER:PASSWORD@HOST:PORT or https://…, or nothing")),
    }
}

/// AMQP's short strings have at most 255 bytes.
fn name<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let text = String::deserialize(deserializer)?;
    if (1..=255).contains(&text.len()) {
        return Ok(text);
    }
    Err(D::Error::custom(format!("{text:?} is no name; it takes 1 to 255 bytes")))
}

fn prefetch<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u16, D::Error> {
    match i64::deserialize(deserializer)? {
        n @ 1..=65_535 => u16::try_from(n).map_err(D::Error::custom),
        n => Err(D::Error::custom(format!("{n} is out of range; it takes 1 to 65535"))),
    }
}
