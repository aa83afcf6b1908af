//! The small sections: database, web, intake, decode, easynetq, schemas, groups, log, retention.

use std::{collections::BTreeMap, net::SocketAddr, time::Duration};

use amqp_message::word_enum;
use failure_conventions::inner_body::{InnerBodies, InnerBody};
use serde::{Deserialize, Deserializer, de::Error};
use url::Url;

use super::values::{Secret, duration, http_url, socket_address, word};

/// `[database]`
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct DatabaseConfig {
    /// `sqlite://FILE` or `postgres://USER@HOST/DATABASE`.
    #[serde(deserialize_with = "database_url")]
    pub url: Secret,
    /// Whether `dlo serve` brings the database to its version by itself.
    pub auto_migrate: bool,
}

impl Default for DatabaseConfig {
    fn default() -> Self {
        Self { url: Secret::new("sqlite://dlo.db"), auto_migrate: true }
    }
}

/// `[web]`
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct WebConfig {
    #[serde(deserialize_with = "socket_address")]
    pub listen: SocketAddr,
    /// Used in links that leave the house; its host is accepted beside the one listened on.
    #[serde(deserialize_with = "http_url")]
    pub public_url: Url,
}

impl Default for WebConfig {
    #[expect(clippy::expect_used, reason = "both are constants, and a test loads them")]
    fn default() -> Self {
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 8420)),
            public_url: Url::parse("http://127.0.0.1:8420").expect("a constant address"),
        }
    }
}

/// `[intake]`: how deliveries are gathered into one commit.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct IntakeConfig {
    /// Letters in one commit at most; 1 to 10000.
    #[serde(deserialize_with = "batch_size")]
    pub batch_size: usize,
    /// How long the first delivery of a batch waits for others.
    #[serde(deserialize_with = "duration")]
    pub batch_wait: Duration,
}

impl Default for IntakeConfig {
    fn default() -> Self {
        Self { batch_size: 500, batch_wait: Duration::from_millis(5) }
    }
}

/// `[decode]`
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct DecodeConfig {
    /// A larger body is kept whole and not decoded; bytes.
    pub max_bytes: u64,
    /// Fields whose values are hidden in pages and API until somebody reveals them: names, full names in a schema, or
    /// paths in the message, each with `*` and `?`. Fields that a schema marks with `debug_redact` always are.
    pub hidden_fields: Vec<String>,
    /// Headers that name the type of a message.
    pub type_headers: Vec<String>,
}

impl Default for DecodeConfig {
    fn default() -> Self {
        Self { max_bytes: 16 * 1024 * 1024, hidden_fields: Vec::new(), type_headers: Vec::new() }
    }
}

/// `[easynetq]`
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct EasynetqConfig {
    /// By queue, a name or a glob: whether the bodies inside EasyNetQ's error messages are `text` or, where the service
    /// uses `Base64ErrorMessageSerializer`, `base64`. The error messages do not tell.
    pub bodies: BTreeMap<String, Body>,
}

/// How a body stands inside an error message.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(transparent)]
pub struct Body(#[serde(deserialize_with = "word")] InnerBody);

impl EasynetqConfig {
    pub fn inner_bodies(&self) -> InnerBodies {
        InnerBodies::new(self.bodies.iter().map(|(queue, body)| (queue.clone(), body.0)))
    }
}

/// `[schemas]`
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SchemasConfig {
    /// A folder with descriptor sets and `.proto` sources, taken in as they change; empty for none.
    pub folder: String,
}

/// `[groups]`
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct GroupsConfig {
    /// A letter that was sent back and has not failed again for so long counts as succeeded.
    #[serde(deserialize_with = "duration")]
    pub healed_after: Duration,
    /// How long a group stays that no letter is in any more, and that nobody has written a note on.
    #[serde(deserialize_with = "duration")]
    pub keep: Duration,
}

impl Default for GroupsConfig {
    fn default() -> Self {
        let hour = Duration::from_secs(60 * 60);
        Self { healed_after: hour, keep: hour * 24 * 90 }
    }
}

/// `[log]`
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LogConfig {
    #[serde(deserialize_with = "word")]
    pub format: LogFormat,
    /// What to log, in the words of `tracing`'s filters: `info`, `debug`, `dead_letter_office=debug,info`. The AMQP
    /// client is left out by default: it calls a question that was answered "no" an error.
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
        Self { format: LogFormat::Text, filter: "info,lapin=off".to_owned() }
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
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RetentionConfig {
    /// How long a letter stays that a person has sent back and that has not failed since.
    #[serde(deserialize_with = "duration")]
    pub retried: Duration,
    /// How long a letter stays that was discarded.
    #[serde(deserialize_with = "duration")]
    pub discarded: Duration,
    /// How long it stays written down who did what.
    #[serde(deserialize_with = "duration")]
    pub activity: Duration,
    /// How long a message that was sent back by a policy, and has not failed since, can still be looked at; if it
    /// fails later, its letter begins anew.
    #[serde(deserialize_with = "duration")]
    pub healed: Duration,
}

impl Default for RetentionConfig {
    fn default() -> Self {
        let day = Duration::from_secs(24 * 60 * 60);
        Self { retried: 30 * day, discarded: 30 * day, activity: 365 * day, healed: Duration::from_secs(60 * 60) }
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
