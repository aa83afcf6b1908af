//! Reading the file and the environment.

use std::{
    collections::BTreeMap,
    fmt::Display,
    path::{Path, PathBuf},
    time::Duration,
};

use ::config::{File, FileFormat, builder::DefaultState};
use thiserror::Error;

use super::{AuthMode, BrokerConfig, Config, effective::Effective, environment::Variables};

/// What is read where no `--config` is given, if it is there.
const DEFAULT_FILE: &str = "dlo.toml";
/// As serde begins to say it.
const UNKNOWN: &str = "unknown field";

#[derive(Debug, Error)]
pub enum ConfigError {
    #[error("the configuration file {path} cannot be read: {source}")]
    File { path: PathBuf, source: std::io::Error },
    #[error("the file {path} that {variable} names cannot be read: {source}")]
    SecretFile { variable: String, path: PathBuf, source: std::io::Error },
    #[error("the configuration is not usable: {0}")]
    Value(String),
}

/// Reads `file`, or `dlo.toml` if it is there, and lays `environment` over it.
///
/// # Errors
/// Names the key and what it takes.
pub fn load(file: Option<&Path>, environment: impl Iterator<Item = (String, String)>) -> Result<Config, ConfigError> {
    trace(file, environment).map(|(config, _)| config)
}

/// The same, with what each value is and from where it comes.
///
/// # Errors
/// Names the key and what it takes.
pub fn trace(
    file: Option<&Path>,
    environment: impl Iterator<Item = (String, String)>,
) -> Result<(Config, Effective), ConfigError> {
    let environment = Variables::read(environment)?;
    let mut builder = ::config::Config::builder();
    let mut in_file = None;
    if let Some((path, text)) = read(file)? {
        // The builder would leave out where in the file a mistake stands.
        let table = toml_syntax(&path, &text)?;
        strict(&table).map_err(|mistake| ConfigError::Value(mistake.text))?;
        builder = builder.add_source(File::from_str(&text, FileFormat::Toml));
        in_file = Some((path, table));
    }
    builder = builder.add_source(environment.source());
    let config = finish(builder).map_err(|mistake| ConfigError::Value(mistake.describe(&environment)))?;
    let in_file = in_file.as_ref().map(|(path, table)| (path.as_path(), table));
    let effective = Effective::new(&config, in_file, &environment);
    Ok((config, effective))
}

fn finish(builder: ::config::ConfigBuilder<DefaultState>) -> Result<Config, Mistake> {
    let unnamed = |error: ::config::ConfigError| Mistake { key: String::new(), text: error.to_string() };
    let value = builder.build().and_then(::config::Config::try_deserialize::<::config::Value>).map_err(unnamed)?;
    let says_public_url = says(&value, &["web", "public_url"]);
    let mut config: Config = serde_path_to_error::deserialize(value)
        .map_err(|error| Mistake::at(error.path().to_string(), &reason(error.inner())))?;
    if !says_public_url {
        config.web.public_url = config.web.listened_on();
    }
    check(&config).map_err(Mistake::of)?;
    Ok(config)
}

/// Whether a value stands at that path.
fn says(value: &::config::Value, path: &[&str]) -> bool {
    match (path, &value.kind) {
        ([], _) => true,
        ([name, rest @ ..], ::config::ValueKind::Table(table)) => {
            table.get(*name).is_some_and(|value| says(value, rest))
        }
        _ => false,
    }
}

/// What is wrong, without where: the path to it names the key.
fn reason(error: &::config::ConfigError) -> String {
    match error {
        ::config::ConfigError::At { error, .. } => reason(error),
        ::config::ConfigError::Type { unexpected, expected, .. } => {
            format!("invalid type: {}, expected {expected}", kind(unexpected))
        }
        other => without_value(other.to_string()),
    }
}

/// The same as serde says it.
fn without_value(text: String) -> String {
    for start in ["invalid type: string", "invalid value: string"] {
        let expected = text.strip_prefix(start).and_then(|rest| rest.rsplit_once("\", expected "));
        if let Some((_, expected)) = expected {
            return format!("{start}, expected {expected}");
        }
    }
    text
}

/// What was given, without its text: it may be a secret that stands in the wrong place.
fn kind(unexpected: &impl Display) -> String {
    unexpected.to_string().split(['"', '`']).next().unwrap_or_default().trim_end().to_owned()
}

struct Mistake {
    key: String,
    text: String,
}

impl Mistake {
    /// Of an unknown key the text names its last part itself.
    fn at(key: String, reason: &str) -> Self {
        let (table, _) = key.rsplit_once('.').unwrap_or_default();
        let place = if reason.starts_with(UNKNOWN) { table } else { &key };
        let text = if place.is_empty() { reason.to_owned() } else { format!("{place}: {reason}") };
        Self { key, text }
    }

    /// Of a text that begins with the key.
    fn of(text: String) -> Self {
        Self { key: text.split(": ").next().unwrap_or_default().to_owned(), text }
    }

    /// With the variable that it comes from, where it does.
    fn describe(&self, environment: &Variables) -> String {
        match environment.that_sets(&self.key, self.text.contains(UNKNOWN)) {
            Some(variable) => format!("{} (from the environment variable {variable})", self.text),
            None => self.text.clone(),
        }
    }
}

fn read(file: Option<&Path>) -> Result<Option<(PathBuf, String)>, ConfigError> {
    let path = file.unwrap_or(Path::new(DEFAULT_FILE)).to_owned();
    match std::fs::read_to_string(&path) {
        Ok(text) => Ok(Some((path, text))),
        Err(error) if file.is_none() && error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(ConfigError::File { path, source }),
    }
}

fn toml_syntax(path: &Path, text: &str) -> Result<toml::Table, ConfigError> {
    // The error itself repeats the line, which may hold a secret.
    let refused = |error: toml::de::Error| {
        let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
        let (line, column) =
            (before.matches('\n').count() + 1, before.chars().rev().take_while(|c| *c != '\n').count() + 1);
        ConfigError::Value(format!("{}, line {line}, column {column}: {}", path.display(), error.message()))
    };
    text.parse::<toml::Table>().map_err(refused)
}

/// The builder would take a number or a switch as text as well, as the environment has nothing else.
fn strict(file: &toml::Table) -> Result<(), Mistake> {
    let read: Result<Config, _> = serde_path_to_error::deserialize(file.clone());
    let mistake = |error: serde_path_to_error::Error<toml::de::Error>| {
        Mistake::at(error.path().to_string(), &without_found(error.inner().message()))
    };
    read.map(drop).map_err(mistake)
}

/// What was expected, without what was found, which may be a secret in the wrong place.
fn without_found(text: &str) -> String {
    match text.strip_prefix("invalid type: ").and_then(|rest| rest.rsplit_once(", expected ")) {
        Some((found, expected)) => format!("invalid type: {}, expected {}", kind(&found), in_words(expected)),
        None => without_value(text.to_owned()),
    }
}

/// Where serde names a type of Rust.
fn in_words(expected: &str) -> &str {
    match expected {
        "i64" | "u8" | "u16" | "u32" | "u64" | "usize" => "an integer",
        "f64" => "a floating point number",
        other => other,
    }
}

/// How often queues are looked at, at most.
const SOONEST_LOOK: Duration = Duration::from_secs(1);

/// What no single value shows.
fn check(config: &Config) -> Result<(), String> {
    let refuse = |message: &str| Err(message.to_owned());
    config.auth.check()?;
    config.web.tls.check()?;
    if config.auth.mode == AuthMode::None && !config.web.listen.ip().is_loopback() {
        return refuse(
            "web.listen: auth.mode = \"none\" lets everybody do everything, so it takes a loopback address such as \
             127.0.0.1:8420; any other auth.mode lets it listen anywhere",
        );
    }
    if let Err(message) = config.retry.policies() {
        return refuse(&message);
    }
    if let Err(message) = config.notify.check() {
        return refuse(&message);
    }
    if config.brokers.is_empty() {
        return refuse("brokers: it takes at least one table, such as [brokers.main]");
    }
    if let Some((name, _)) = config.brokers.iter().find(|(_, broker)| broker.dead_letter_queue == broker.obituary_queue)
    {
        return Err(format!(
            "brokers.{name}.obituary_queue: it is the dead_letter_queue, too; each takes a name of its own, as what comes into one is \
             retried and what comes into the other is not"
        ));
    }
    check_vhosts(&config.brokers)?;
    if config.watch.every < SOONEST_LOOK {
        return refuse(
            "watch.every: it takes at least 1s; more often than the broker collects its statistics says nothing new",
        );
    }
    Ok(())
}

/// Each would take what is the other's: the queues in which retries wait have one name in every vhost.
fn check_vhosts(brokers: &BTreeMap<String, BrokerConfig>) -> Result<(), String> {
    for (n, (name, broker)) in brokers.iter().enumerate() {
        if let Some((first, _)) = brokers.iter().take(n).find(|(_, other)| other.is_same_vhost(broker)) {
            return Err(format!(
                "brokers.{name}.url: it leads to the vhost of brokers.{first} ({}); one table is enough for each vhost",
                broker.address()
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With this in the environment, and in no file.
    fn mistake(name: &str, value: &str) -> String {
        let file = Path::new("/dev/null");
        load(Some(file), [(name.to_owned(), value.to_owned())].into_iter()).unwrap_err().to_string()
    }

    #[test]
    fn what_no_single_value_shows_is_told_by_its_key() {
        let same = mistake("DLO_BROKERS__MAIN__OBITUARY_QUEUE", "dlo.dead-letters");
        assert!(same.contains("brokers.main.obituary_queue: it is the dead_letter_queue, too"), "{same}");
        let often = mistake("DLO_WATCH__EVERY", "500ms");
        assert!(often.contains("watch.every: it takes at least 1s"), "{often}");
    }

    #[test]
    fn two_brokers_are_not_one_vhost() {
        let load_both = |other: &str| {
            let main = ("DLO_BROKERS__MAIN__URL".to_owned(), "amqp://a:b@RabbitMQ.example".to_owned());
            let other = ("DLO_BROKERS__OTHER__URL".to_owned(), other.to_owned());
            load(Some(Path::new("/dev/null")), [main, other].into_iter())
        };
        for other in ["amqp://c:d@rabbitmq.example:5672/%2f", "amqp://c:d@rabbitmq.example?heartbeat=5"] {
            let refused = load_both(other).unwrap_err().to_string();
            assert!(refused.contains("brokers.other.url: it leads to the vhost of brokers.main"), "{refused}");
            assert!(!refused.contains("c:d"), "{refused}");
        }
        let loopback = ["amqp://c:d@127.0.0.1", "amqp://c:d@[::1]", "amqp://c:d@LocalHost"].map(|url| {
            let url = serde_json::from_value(serde_json::json!({ "url": url }));
            url.expect("a table of a broker")
        });
        let [first, others @ ..]: &[BrokerConfig; 3] = &loopback;
        assert!(others.iter().all(|other| first.is_same_vhost(other)));
        for other in ["amqp://c:d@rabbitmq.example/eu", "amqps://c:d@rabbitmq.example", "amqp://c:d@rabbitmq2.example"]
        {
            load_both(other).unwrap();
        }
    }
}
