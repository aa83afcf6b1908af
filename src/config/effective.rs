//! What is in effect, and from where each value comes.

use std::{
    collections::BTreeMap,
    fmt::{self, Write},
    path::{Path, PathBuf},
};

use toml::Value;
use url::Url;

use super::{
    Config,
    environment::{SECRETS, Variables},
    reference::{self, Template},
};

/// What stands for a secret.
const MASK: &str = "•••";

/// From where a value comes.
#[derive(Clone, PartialEq, Eq)]
pub enum Origin {
    Default,
    File,
    /// A variable of the environment, also one that names a file.
    Variable(String),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File => f.write_str("file"),
            Self::Variable(name) => f.write_str(name),
        }
    }
}

/// The name of a value: its tables and its key.
type KeyPath = Vec<String>;

/// Every value of a configuration, in the order of its reference. It holds secrets and shows none.
#[derive(Clone, Default)]
pub struct Effective {
    file: Option<PathBuf>,
    entries: Vec<Entry>,
}

#[derive(Clone)]
struct Entry {
    path: KeyPath,
    value: Value,
    origin: Origin,
}

impl Effective {
    /// `config` is what became of all of it.
    pub(super) fn new(config: &Config, file: Option<(&Path, &toml::Table)>, environment: &Variables) -> Self {
        let mut set = BTreeMap::new();
        if let Some((_, table)) = file {
            flatten(&mut Vec::new(), table, &mut set);
        }
        for (path, text, variable) in environment.settings() {
            let kind = path.last().and_then(|key| reference::example(key));
            set.insert(path, (typed(text, kind), Origin::Variable(variable.to_owned())));
        }
        let mut entries = Vec::new();
        for template in reference::templates() {
            for table in template.tables(config) {
                add_table(&template, table, config, &mut set, &mut entries);
            }
        }
        // Tables that have no defaults of their own; each in one piece.
        let mut others: Vec<_> = set.into_iter().map(|(path, (value, origin))| Entry { path, value, origin }).collect();
        others.sort_by(|a, b| a.path.split_last().map(reversed).cmp(&b.path.split_last().map(reversed)));
        entries.extend(others);
        Self { file: file.map(|(path, _)| path.to_owned()), entries }
    }

    /// As TOML, with the origins as comments; `only_set`: without what is as it is by default.
    pub fn text(&self, only_set: bool) -> String {
        let mut text = match &self.file {
            Some(file) => format!("# The file is {}.\n", file.display()),
            None => "# There is no file.\n".to_owned(),
        };
        let mut last: Option<&[String]> = None;
        for entry in self.entries.iter().filter(|entry| !only_set || entry.origin != Origin::Default) {
            let Some((key, table)) = entry.path.split_last() else { continue };
            if last != Some(table) {
                let _ = writeln!(text, "\n[{}]", dotted(table));
                last = Some(table);
            }
            let line = format!("{} = {}", quoted(key), shown(&entry.path, &entry.value));
            let _ = writeln!(text, "{line:<50}  # {}", entry.origin);
        }
        text
    }

    /// The keys whose values are other ones in `new`, or that are set in one of both only.
    pub fn changed(&self, new: &Self) -> Vec<String> {
        let (was, is) = (self.by_path(), new.by_path());
        let keys: std::collections::BTreeSet<_> = was.keys().chain(is.keys()).collect();
        keys.into_iter().filter(|path| was.get(**path) != is.get(**path)).map(|path| dotted(path)).collect()
    }

    /// The same, where `is_taken` says which keys are as in `new` from now on.
    pub fn with(&self, new: &Self, is_taken: impl Fn(&str) -> bool) -> Self {
        let entries = self.entries.iter().filter(|entry| !is_taken(&dotted(&entry.path)));
        let taken = new.entries.iter().filter(|entry| is_taken(&dotted(&entry.path)));
        Self { file: self.file.clone(), entries: entries.chain(taken).cloned().collect() }
    }

    fn by_path(&self) -> BTreeMap<&[String], &Value> {
        self.entries.iter().map(|entry| (entry.path.as_slice(), &entry.value)).collect()
    }
}

/// The values of one table: those that are set, and the defaults of the others.
fn add_table(
    template: &Template,
    table: KeyPath,
    config: &Config,
    set: &mut BTreeMap<KeyPath, (Value, Origin)>,
    entries: &mut Vec<Entry>,
) {
    for key in template.keys() {
        let path: KeyPath = table.iter().cloned().chain([key.name.clone()]).collect();
        let is_default = key.is_default && !template.is_example() && !is_replaced(&path, set);
        let default = || is_default.then(|| (default_of(&path, key.value.clone(), config), Origin::Default));
        if let Some((value, origin)) = set.remove(&path).or_else(default) {
            entries.push(Entry { path, value, origin });
        }
    }
}

/// Delays that grow stand for those that are listed.
fn is_replaced(path: &[String], set: &BTreeMap<KeyPath, (Value, Origin)>) -> bool {
    let initial = ["retry", "initial"].map(str::to_owned);
    *path == ["retry", "delays"].map(str::to_owned) && set.contains_key(initial.as_slice())
}

/// One of the defaults follows another value.
fn default_of(path: &[String], value: Value, config: &Config) -> Value {
    let public_url = ["web", "public_url"].map(str::to_owned);
    if *path == public_url { Value::String(config.web.public_url.to_string()) } else { value }
}

fn flatten(path: &mut KeyPath, table: &toml::Table, set: &mut BTreeMap<KeyPath, (Value, Origin)>) {
    for (key, value) in table {
        path.push(key.clone());
        match value {
            Value::Table(table) => flatten(path, table, set),
            value => _ = set.insert(path.clone(), (value.clone(), Origin::File)),
        }
        path.pop();
    }
}

/// The text of a variable, as the value that it stands for.
fn typed(text: &str, example: Option<Value>) -> Value {
    let items = || text.split(',').map(str::trim).filter(|item| !item.is_empty());
    let value = match example {
        Some(Value::Array(_)) => Some(Value::Array(items().map(|item| Value::String(item.to_owned())).collect())),
        Some(Value::Boolean(_)) => text.to_lowercase().parse().ok().map(Value::Boolean),
        Some(Value::Integer(_)) => text.parse().ok().map(Value::Integer),
        Some(Value::Float(_)) => text.parse().ok().map(Value::Float),
        _ => None,
    };
    value.unwrap_or_else(|| Value::String(text.to_owned()))
}

/// A value without what is secret in it.
fn shown(path: &[String], value: &Value) -> String {
    let masked = match value {
        Value::String(text) if text.is_empty() => text.clone(),
        Value::String(_) if is_secret(path) => MASK.to_owned(),
        Value::String(text) => without_password(text),
        value => return value.to_string(),
    };
    Value::String(masked).to_string()
}

/// Whether all of it is. Of other addresses it is the password.
fn is_secret(path: &[String]) -> bool {
    let Some((key, table)) = path.split_last() else { return false };
    let is_address = matches!(&**key, "url" | "management_url");
    let is_webhook = *table == ["notify", "webhook"].map(str::to_owned);
    SECRETS.contains(&&*key.to_uppercase()) && (!is_address || is_webhook)
}

fn without_password(text: &str) -> String {
    let Ok(mut url) = Url::parse(text) else {
        // An address that cannot be read has a password somewhere.
        return if text.contains("://") && text.contains('@') { MASK.to_owned() } else { text.to_owned() };
    };
    let is_secret = |name: &str| name.to_lowercase().contains("pass");
    let has_secrets = url.password().is_some() || url.query_pairs().any(|(name, _)| is_secret(&name));
    if !has_secrets {
        return text.to_owned();
    }
    let pairs: Vec<String> = url
        .query_pairs()
        .map(|(name, value)| if is_secret(&name) { format!("{name}={MASK}") } else { format!("{name}={value}") })
        .collect();
    if url.password().is_some() {
        let _ = url.set_password(Some("MASK"));
    }
    url.set_query(None);
    let query = if pairs.is_empty() { String::new() } else { format!("?{}", pairs.join("&")) };
    format!("{}{query}", url.as_str().replacen(":MASK@", &format!(":{MASK}@"), 1))
}

fn reversed<'a>((key, table): (&'a String, &'a [String])) -> (&'a [String], &'a String) {
    (table, key)
}

fn dotted(path: &[String]) -> String {
    path.iter().map(|part| quoted(part)).collect::<Vec<_>>().join(".")
}

fn quoted(part: &str) -> String {
    let is_bare = !part.is_empty() && part.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
    if is_bare { part.to_owned() } else { Value::String(part.to_owned()).to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        assert_eq!(without_password(text), expected);
    }

    #[test]
    fn passwords_of_addresses_are_masked() {
        check("amqp://dlo:hunter2@rabbit:5672/%2f", "amqp://dlo:•••@rabbit:5672/%2f");
        check("postgres://db/dlo?user=dlo&password=hunter2", "postgres://db/dlo?user=dlo&password=•••");
        check("sqlite://dlo.db", "sqlite://dlo.db");
        check("https://id.example.com/realms/acme", "https://id.example.com/realms/acme");
        check("postgres://dlo:hunter2@[db/dlo", MASK);
        check("user:ada@example.com", "user:ada@example.com");
        check("info,lapin=off", "info,lapin=off");
    }
}
