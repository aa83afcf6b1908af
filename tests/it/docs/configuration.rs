//! The reference of the configuration: `docs/reference/dlo.toml`, and the page that is made from it.

use std::{collections::BTreeSet, io::Write};

use dead_letter_office::config::{Config, load};

use super::{check_part, code, read, table};

const REFERENCE: &str = "docs/reference/dlo.toml";

/// A table of the file.
#[derive(Default)]
struct Section {
    /// As between the brackets.
    path: String,
    about: String,
    /// It is commented out: an example of a table that may be there.
    is_example: bool,
    keys: Vec<Key>,
}

struct Key {
    name: String,
    about: String,
    /// As it is written.
    value: String,
    /// It is not commented out, so that the value is the default.
    is_default: bool,
}

/// The configuration that a file and the environment make, or why there is none.
pub fn accept(toml: &str, environment: &[(String, String)]) -> Result<Config, String> {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(toml.as_bytes()).unwrap();
    load(Some(file.path()), environment.iter().cloned()).map_err(|error| error.to_string())
}

/// The names of the tables, from the root on.
pub fn tables() -> BTreeSet<String> {
    sections().iter().flat_map(Section::tables).collect()
}

/// Every key, as `retry.delays`.
pub fn keys() -> BTreeSet<String> {
    let path = |section: &Section, key: &Key| format!("{}.{}", section.path, key.name);
    sections().iter().flat_map(|section| section.keys.iter().map(|key| path(section, key))).collect()
}

/// A table with the keys that are given as an example of it, but for one.
pub fn example(path: &str, but: &str) -> String {
    let sections = sections();
    let keys =
        sections.iter().filter(|section| section.path == path && section.is_example).flat_map(|found| &found.keys);
    let lines = keys.filter(|key| key.name != but).map(|key| format!("{} = {}\n", key.name, key.value));
    format!("[{path}]\n{}", lines.collect::<String>())
}

#[test]
fn the_defaults_are_as_written() {
    let mut written = accept(&read(REFERENCE), &[]).unwrap();
    let default = Config::default();
    assert_eq!(written.retry.policies(), default.retry.policies());
    // Its keys stand for defaults, but for whoever asks whether somebody has set them.
    written.retry = default.retry.clone();
    assert_eq!(written, default);
}

#[test]
fn every_key_is_there() {
    let sections = sections();
    for path in tables() {
        let beside: BTreeSet<String> = (sections.iter())
            .filter_map(|section| within(&section.path, &path))
            .chain(sections.iter().filter(|section| section.path == path).flat_map(Section::names))
            .collect();
        if let Some(known) = known_in(&path) {
            assert_eq!(beside, known, "in [{path}]");
        }
    }
}

#[test]
fn what_is_commented_out_is_accepted() {
    for section in sections() {
        let keys = section.keys.iter().filter(|key| !key.is_default);
        let lines: String = keys.map(|key| format!("{} = {}\n", key.name, key.value)).collect();
        let toml = format!("[{}]\n{lines}", section.path);
        assert_eq!(accept(&toml, &[]).err(), None, "{toml}");
    }
}

#[test]
fn every_key_has_its_name_in_the_environment() {
    for section in sections().iter().filter(|section| !section.path.contains('"')) {
        for key in section.keys.iter().filter(|key| key.is_default) {
            let name = environment_name(&section.path, &key.name);
            let value = key.value.trim_matches(['[', ']']).replace("\", \"", ",").replace('"', "");
            let from_file = accept(&format!("[{}]\n{} = {}", section.path, key.name, key.value), &[]);
            assert_eq!(accept("", &[(name.clone(), value.clone())]), from_file, "{name}={value}");
        }
    }
}

#[test]
fn lists_in_the_environment_have_commas_and_may_be_empty() {
    let mut n_lists = 0;
    for section in sections().iter().filter(|section| !section.path.contains('"')) {
        for key in section.keys.iter().filter(|key| key.value.starts_with('[')) {
            let name = environment_name(&section.path, &key.name);
            let others = example(&section.path, &key.name);
            let from_file = |list: &str| accept(&format!("{others}{} = {list}", key.name), &[]);
            let from_environment = |text: &str| accept(&others, &[(name.clone(), text.to_owned())]);
            let lists = [
                ("5s,10s", r#"["5s", "10s"]"#),
                ("high,low", r#"["high", "low"]"#),
                ("10.0.0.5,10.1.0.0/16", r#"["10.0.0.5", "10.1.0.0/16"]"#),
            ];
            let (text, list) = lists.into_iter().find(|(_, list)| from_file(list).is_ok()).unwrap();
            assert_eq!(from_environment(text), from_file(list), "{name}={text}");
            assert_eq!(from_environment(""), from_file("[]"), "{name}=");
            n_lists += 1;
        }
    }
    assert!(n_lists > 5, "{n_lists}");
}

#[test]
fn the_page_of_the_configuration() {
    let page: Vec<String> = sections().iter().map(Section::render).collect();
    check_part("configuration.md", "keys", &page.join("\n"));
}

impl Section {
    fn names(&self) -> impl Iterator<Item = String> + use<'_> {
        self.keys.iter().map(|key| key.name.clone())
    }

    /// Itself and the tables around it, from the root on; what is commented out is only an example of one.
    fn tables(&self) -> impl Iterator<Item = String> + use<'_> {
        // Names in quotes are examples, too.
        let bare = self.path.split(".\"").next().unwrap_or_default();
        let ends = bare.char_indices().filter(|(_, c)| *c == '.').map(|(at, _)| bare[..at].to_owned());
        let itself = if self.is_example { None } else { Some(self.path.clone()) };
        ends.chain([String::new()]).chain(itself)
    }

    fn render(&self) -> String {
        let rows = self.keys.iter().map(|key| {
            let default = if key.is_default { code(&key.value) } else { String::new() };
            let environment = match key.name.contains('"') {
                true => "file only".to_owned(),
                false => code(&environment_name(&self.path, &key.name)),
            };
            [code(&key.name), key.about.clone(), default, environment]
        });
        let table = table(["key", "meaning", "default", "environment"], rows);
        let keys = if self.keys.is_empty() { String::new() } else { format!("\n{table}") };
        format!("### `[{}]`\n\n{}\n{keys}", self.path, self.about)
    }
}

/// Reads the file: comments belong to the key or table after them, and a blank line ends them.
fn sections() -> Vec<Section> {
    let mut sections: Vec<Section> = Vec::new();
    let mut about = Vec::new();
    for line in read(REFERENCE).lines() {
        let (is_default, line) = match line.strip_prefix('#') {
            Some(comment) if comment.starts_with(' ') => {
                about.push(comment.trim().to_owned());
                continue;
            }
            Some(example) => (false, example.to_owned()),
            None => (true, line.to_owned()),
        };
        let about = std::mem::take(&mut about).join(" ");
        if let Some(path) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            sections.push(Section { path: path.to_owned(), about, is_example: !is_default, keys: Vec::new() });
        } else if let (Some((name, value)), Some(section)) = (line.split_once(" = "), sections.last_mut()) {
            section.keys.push(Key { name: name.to_owned(), about, value: value.to_owned(), is_default });
        }
    }
    sections
}

/// The name in `outer` under which the table `inner` is within it.
fn within(inner: &str, outer: &str) -> Option<String> {
    let rest = if outer.is_empty() { inner } else { inner.strip_prefix(outer)?.strip_prefix('.')? };
    Some(rest.split('.').next().unwrap_or_default().to_owned())
}

/// The keys that a table has; `None` where it takes any.
fn known_in(path: &str) -> Option<BTreeSet<String>> {
    let toml = if path.is_empty() { "nope = 1".to_owned() } else { format!("[{path}]\nnope = 1") };
    let error = accept(&toml, &[]).unwrap_err();
    let (_, known) = error.split_once("unknown field `nope`")?;
    // The path of the table comes last.
    let known = known.split(" for key ").next().unwrap_or_default();
    Some(known.split('`').skip(1).step_by(2).map(str::to_owned).collect())
}

fn environment_name(path: &str, key: &str) -> String {
    format!("DLO_{}__{}", path.replace('.', "__"), key).to_uppercase()
}
