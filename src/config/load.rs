//! Reading the file and the environment.

use std::path::{Path, PathBuf};

use ::config::{Environment, File, FileFormat, builder::DefaultState};
use thiserror::Error;

use super::{AuthMode, Config};

/// What is read where no `--config` is given, if it is there.
const DEFAULT_FILE: &str = "dlo.toml";
const PREFIX: &str = "DLO";

#[derive(Debug, Error)]
pub enum ConfigError {
    #[error("the configuration file {path} cannot be read: {source}")]
    File { path: PathBuf, source: std::io::Error },
    #[error("the configuration is not usable: {0}")]
    Value(String),
}

/// Reads `file`, or `dlo.toml` if it is there, and lays `environment` over it.
///
/// # Errors
/// Names the key and what it takes.
pub fn load(file: Option<&Path>, environment: impl Iterator<Item = (String, String)>) -> Result<Config, ConfigError> {
    let mut builder = ::config::Config::builder();
    if let Some((path, text)) = read(file)? {
        // The builder would leave out where in the file a mistake stands.
        toml_syntax(&path, &text)?;
        builder = builder.add_source(File::from_str(&text, FileFormat::Toml));
    }
    builder = builder.add_source(environment_source(environment));
    finish(builder)
}

fn finish(builder: ::config::ConfigBuilder<DefaultState>) -> Result<Config, ConfigError> {
    let merged = builder.build().map_err(|error| ConfigError::Value(error.to_string()))?;
    let value: ::config::Value =
        merged.try_deserialize::<::config::Value>().map_err(|error| ConfigError::Value(error.to_string()))?;
    let config: Config = serde_path_to_error::deserialize(value).map_err(|error| {
        let path = error.path().to_string();
        ConfigError::Value(format!("{path}: {}", error.into_inner()))
    })?;
    check(&config)?;
    Ok(config)
}

fn read(file: Option<&Path>) -> Result<Option<(PathBuf, String)>, ConfigError> {
    let path = file.unwrap_or(Path::new(DEFAULT_FILE)).to_owned();
    match std::fs::read_to_string(&path) {
        Ok(text) => Ok(Some((path, text))),
        Err(error) if file.is_none() && error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(ConfigError::File { path, source }),
    }
}

fn toml_syntax(path: &Path, text: &str) -> Result<(), ConfigError> {
    text.parse::<toml::Table>()
        .map(drop)
        .map_err(|error| ConfigError::Value(format!("{}: {}", path.display(), error.to_string().trim_end())))
}

fn environment_source(environment: impl Iterator<Item = (String, String)>) -> Environment {
    let ours = environment.filter(|(name, _)| name.starts_with("DLO_") && !is_for_clients(name)).collect();
    Environment::with_prefix(PREFIX).prefix_separator("_").separator("__").source(Some(ours))
}

/// `DLO_URL` and `DLO_TOKEN` belong to the commands that talk to a server, `DLO_TEST_*` to the tests.
fn is_for_clients(name: &str) -> bool {
    matches!(name, "DLO_URL" | "DLO_TOKEN") || name.starts_with("DLO_TEST_")
}

/// What no single value can tell.
fn check(config: &Config) -> Result<(), ConfigError> {
    let refuse = |message: &str| Err(ConfigError::Value(message.to_owned()));
    if config.auth.mode != AuthMode::None {
        return refuse("auth.mode: this version knows only \"none\", which listens on loopback");
    }
    if !config.web.listen.ip().is_loopback() {
        return refuse(
            "web.listen: auth.mode = \"none\" lets everybody do everything, so it takes a loopback address such as \
             127.0.0.1:8420",
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
    Ok(())
}
