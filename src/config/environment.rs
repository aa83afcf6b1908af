//! What the environment says: `DLO_TABLE__KEY`, and for secrets `DLO_TABLE__KEY_FILE`, a file that holds the value.

use std::{collections::BTreeMap, path::PathBuf};

use ::config::Environment;

use super::ConfigError;

const PREFIX: &str = "DLO";
const SEPARATOR: &str = "__";
const FILE: &str = "_FILE";
/// Keys that hold secrets, as the last part of a variable.
pub(super) const SECRETS: [&str; 7] =
    ["CLIENT_SECRET", "MANAGEMENT_URL", "ROUTING_KEY", "SECRET", "TOKEN", "URL", "WEBHOOK_URL"];

/// Our own variables.
pub(super) struct Variables {
    values: BTreeMap<String, String>,
    /// Which of them stand in a file, under another name.
    from_files: BTreeMap<String, String>,
}

impl Variables {
    /// # Errors
    /// Names the variable whose file cannot be read, or that is set twice.
    pub(super) fn read(environment: impl Iterator<Item = (String, String)>) -> Result<Self, ConfigError> {
        let ours = environment.filter(|(name, _)| name.starts_with("DLO_") && !is_for_clients(name));
        let (files, mut values): (BTreeMap<_, _>, BTreeMap<_, _>) =
            ours.partition(|(name, _)| secret_in_file(name).is_some());
        let mut from_files = BTreeMap::new();
        for (variable, path) in files {
            let Some(secret) = secret_in_file(&variable).map(str::to_owned) else { continue };
            if values.contains_key(&secret) {
                return Err(ConfigError::Value(format!("{secret} and {variable} are both set; one of them is enough")));
            }
            let text = std::fs::read_to_string(&path).map_err(|source| ConfigError::SecretFile {
                variable: variable.clone(),
                path: PathBuf::from(path),
                source,
            })?;
            values.insert(secret.clone(), text.trim_end_matches(['\n', '\r']).to_owned());
            from_files.insert(secret, variable);
        }
        Ok(Self { values, from_files })
    }

    pub(super) fn source(&self) -> Environment {
        let values = self.values.clone().into_iter().collect();
        Environment::with_prefix(PREFIX).prefix_separator("_").separator(SEPARATOR).source(Some(values))
    }

    /// What is set, by its path, with the variable that says it.
    pub(super) fn settings(&self) -> impl Iterator<Item = (Vec<String>, &str, &str)> {
        self.values.iter().map(|(variable, text)| {
            let path = key_of(variable).split('.').map(str::to_owned).collect();
            (path, &**text, &**self.from_files.get(variable).unwrap_or(variable))
        })
    }

    /// The variable that sets a key; of one that is unknown, also one below it.
    pub(super) fn that_sets(&self, key: &str, is_unknown: bool) -> Option<&str> {
        let is_it = |variable: &&String| {
            let rest = key_of(variable).strip_prefix(key).map(str::to_owned);
            rest.is_some_and(|rest| rest.is_empty() || is_unknown && rest.starts_with('.'))
        };
        let variable = self.values.keys().find(is_it)?;
        Some(self.from_files.get(variable).unwrap_or(variable))
    }
}

/// The variable whose value stands in the file that this one names.
fn secret_in_file(variable: &str) -> Option<&str> {
    let secret = variable.strip_suffix(FILE)?;
    let (_, key) = secret.rsplit_once(SEPARATOR)?;
    SECRETS.contains(&key).then_some(secret)
}

/// The key that a variable of ours sets.
fn key_of(variable: &str) -> String {
    variable.get("DLO_".len()..).unwrap_or_default().to_lowercase().replace(SEPARATOR, ".")
}

/// `DLO_URL`, `DLO_TOKEN` and `DLO_CA_FILE` belong to the commands that talk to a server, `DLO_TEST_*` to the tests.
fn is_for_clients(name: &str) -> bool {
    matches!(name, "DLO_URL" | "DLO_TOKEN" | "DLO_CA_FILE") || name.starts_with("DLO_TEST_")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variables(pairs: &[(&str, &str)]) -> Result<Variables, ConfigError> {
        Variables::read(pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())))
    }

    #[test]
    fn a_secret_may_stand_in_a_file() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(&file, "amqp://user:secret@rabbit/%2f\n").unwrap();
        let path = file.path().to_str().unwrap();
        let read = variables(&[("DLO_BROKERS__MAIN__URL_FILE", path), ("DLO_BROKERS__MAIN__CA_FILE", "/ca.pem")]);
        let read = read.unwrap();
        assert_eq!(read.values["DLO_BROKERS__MAIN__URL"], "amqp://user:secret@rabbit/%2f");
        assert_eq!(read.values["DLO_BROKERS__MAIN__CA_FILE"], "/ca.pem", "that key is a file itself");
        assert_eq!(read.that_sets("brokers.main.url", false), Some("DLO_BROKERS__MAIN__URL_FILE"));
        assert_eq!(read.that_sets("brokers.main.ca_file", false), Some("DLO_BROKERS__MAIN__CA_FILE"));
        assert_eq!(read.that_sets("database.url", false), None);
    }

    #[test]
    fn a_file_that_is_not_there_and_a_secret_given_twice_are_refused() {
        let missing = variables(&[("DLO_DATABASE__URL_FILE", "/nowhere/secret")]).err().unwrap().to_string();
        assert!(missing.contains("DLO_DATABASE__URL_FILE") && missing.contains("/nowhere/secret"), "{missing}");
        let twice = variables(&[("DLO_DATABASE__URL", "sqlite://a"), ("DLO_DATABASE__URL_FILE", "/dev/null")]);
        assert!(twice.err().unwrap().to_string().contains("both set"));
    }

    /// Whoever adds a secret to the configuration is reminded.
    #[test]
    fn every_secret_is_named() {
        let sources = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/src/config")).unwrap();
        let texts = sources.map(|file| std::fs::read_to_string(file.unwrap().path()).unwrap());
        let lines: Vec<String> = texts.flat_map(|text| text.lines().map(str::to_owned).collect::<Vec<_>>()).collect();
        let keys = lines.iter().filter_map(|line| line.trim().strip_prefix("pub ")?.strip_suffix(": Secret,"));
        let keys: Vec<String> = keys.map(str::to_uppercase).collect();
        assert!(keys.len() > 8, "{keys:?}");
        for key in keys {
            assert!(SECRETS.contains(&&*key), "{key}");
        }
    }
}
