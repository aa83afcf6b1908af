//! Which keys there are, in which order, and their defaults: read from the reference, which tests hold against the code.

use toml::Value;

use super::Config;

const REFERENCE: &str = include_str!("../../docs/reference/dlo.toml");
/// Keys that are examples are commented out, without a space.
const EXAMPLE: char = '#';

/// A table of the reference.
#[derive(Default)]
pub(super) struct Template {
    path: Vec<String>,
    is_example: bool,
    keys: Vec<Key>,
}

pub(super) struct Key {
    pub(super) name: String,
    pub(super) value: Value,
    /// It is not commented out, so that the value is the default.
    pub(super) is_default: bool,
}

impl Template {
    pub(super) fn keys(&self) -> &[Key] {
        &self.keys
    }

    pub(super) const fn is_example(&self) -> bool {
        self.is_example
    }

    /// The tables of a configuration that have these keys.
    pub(super) fn tables(&self, config: &Config) -> Vec<Vec<String>> {
        let parts: Vec<&str> = self.path.iter().map(String::as_str).collect();
        let named = |table: &[&str], name: &str| table.iter().chain([&name]).map(|part| (*part).to_owned()).collect();
        match parts[..] {
            ["brokers", _] => config.brokers.keys().map(|name| named(&["brokers"], name)).collect(),
            // The one that has no name is not sent where there are others.
            ["notify", "digest"] if !config.notify.digests.is_empty() => {
                config.notify.digests.keys().map(|name| named(&["notify", "digests"], name)).collect()
            }
            _ => vec![self.path.clone()],
        }
    }
}

pub(super) fn templates() -> Vec<Template> {
    let mut templates: Vec<Template> = Vec::new();
    for line in REFERENCE.lines() {
        let is_example = line.starts_with(EXAMPLE);
        let line = line.strip_prefix(EXAMPLE).unwrap_or(line);
        if let Some(path) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            templates.push(Template { path: parts(path), is_example, keys: Vec::new() });
        } else if let (Some((name, value)), Some(template)) = (pair(line), templates.last_mut()) {
            template.keys.push(Key { name, value, is_default: !is_example });
        }
    }
    templates
}

/// A value of the kind that a key takes, wherever it stands.
pub(super) fn example(key: &str) -> Option<Value> {
    let keys = templates().into_iter().flat_map(|template| template.keys);
    keys.into_iter().find(|known| known.name == key).map(|known| known.value)
}

/// A key with its value; none where the line is words.
fn pair(line: &str) -> Option<(String, Value)> {
    let table: toml::Table = line.parse().ok()?;
    table.into_iter().next()
}

fn parts(path: &str) -> Vec<String> {
    let mut parts = Vec::new();
    let mut table: Option<toml::Table> = format!("[{path}]").parse().ok();
    while let Some((name, value)) = table.and_then(|table| table.into_iter().next()) {
        parts.push(name);
        table = if let Value::Table(inner) = value { Some(inner) } else { None };
    }
    parts
}
