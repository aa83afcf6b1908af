//! What is named in passing is there: files, keys, metrics, targets of make.

use std::collections::BTreeSet;

use dead_letter_office::metrics::Metrics;

use super::{
    configuration::{self, accept},
    pages, prose, read, root,
};

#[test]
fn every_file_that_is_named_is_there() {
    let places =
        ["src/", "crates/", "tests/", "docs/", "packaging/", "migrations/", "benches/", "templates/", "static/"];
    check("files", |word| places.iter().any(|place| word.starts_with(place)), |word| root().join(word).exists());
}

#[test]
fn every_key_that_is_named_is_one() {
    let (tables, keys) = (configuration::tables(), configuration::keys());
    let tops: BTreeSet<&str> =
        tables.iter().filter(|name| !name.is_empty() && !name.contains('.')).map(|name| &**name).collect();
    let is_path =
        |word: &str| word.split_once('.').is_some_and(|(top, _)| tops.contains(top)) && !word.contains(['*', '<']);
    check("keys", |word| is_path(word) && !word.ends_with(".toml"), |word| keys.contains(word));
    let table = |word: &str| word.strip_prefix('[')?.strip_suffix(']').map(str::to_owned);
    let is_table =
        |word: &str| table(word).is_some_and(|path| tops.contains(path.split('.').next().unwrap_or_default()));
    let is_accepted = |path: String| accept(&configuration::example(&path, ""), &[]).is_ok();
    check("tables", is_table, |word| table(word).is_some_and(is_accepted));
}

#[test]
fn every_metric_that_is_named_is_one() {
    let names: BTreeSet<String> = Metrics::default().names().iter().cloned().collect();
    check("metrics", |word| word.starts_with("dlo_") && !word.contains(' '), |word| names.contains(word));
}

#[test]
fn every_target_of_make_that_is_named_is_one() {
    let makefile = read("Makefile");
    let is_target = |name: &str| makefile.lines().any(|line| line.starts_with(&format!("{name}:")));
    let target = |word: &str| word.strip_prefix("make ")?.split(' ').next().map(str::to_owned);
    check("targets", |word| target(word).is_some(), |word| target(word).is_some_and(|name| is_target(&name)));
}

/// All words in backticks of the kind that `is_meant` knows are there; some have to be found.
#[track_caller]
fn check(what: &str, is_meant: impl Fn(&str) -> bool, is_there: impl Fn(&str) -> bool) {
    // The changelog names what was, and the crates know nothing of dlo.
    let pages = pages().into_iter().filter(|page| page != "CHANGELOG.md" && !page.starts_with("crates/"));
    let words = pages.flat_map(|page| {
        let text = prose(&read(&page));
        let words: Vec<String> = text.split('`').skip(1).step_by(2).map(str::to_owned).collect();
        words.into_iter().map(move |word| (page.clone(), word))
    });
    let meant: Vec<_> = words.filter(|(_, word)| is_meant(word)).collect();
    let unknown: Vec<_> = meant.iter().filter(|(_, word)| !is_there(word)).collect();
    assert!(unknown.is_empty(), "{what} that are not there: {unknown:#?}");
    assert!(!meant.is_empty(), "no {what} are named");
}
