//! The docs agree with the program: what can be made from it is, and the rest is checked against it.
//!
//! `make docs` writes what is made from the program, by running these tests with `DLO_WRITE_DOCS` set.

#![expect(clippy::unwrap_used, reason = "in helpers of tests a panic is the error handling")]

mod api;
mod configuration;
mod examples;
mod links;
mod names;
mod reference;
mod security;
mod snippets;

use std::{
    collections::BTreeSet,
    env, fs,
    path::{Path, PathBuf},
};

const WRITE: &str = "DLO_WRITE_DOCS";

/// Bytes of what somebody reads first.
const README_BYTES: usize = 8 * 1024;

#[test]
fn the_readme_is_short() {
    let bytes = read("README.md").len();
    assert!(bytes <= README_BYTES, "README.md has {bytes} bytes, and takes {README_BYTES}; the rest belongs into docs");
}

#[test]
fn every_page_of_the_book_is_in_its_summary() {
    let summary = read("docs/SUMMARY.md");
    let listed: BTreeSet<String> =
        links::targets(&summary).into_iter().map(|target| format!("docs/{target}")).collect();
    let mut there: BTreeSet<String> = pages().into_iter().filter(|page| page.starts_with("docs/")).collect();
    there.remove("docs/SUMMARY.md");
    assert_eq!(listed, there);
}

/// Every page that people read, by its path from the root.
fn pages() -> BTreeSet<String> {
    let places = ["", "docs", "docs/guide", "docs/frameworks", "docs/reference", "docs/operations", "packaging"]
        .map(PathBuf::from);
    let crates = fs::read_dir(root().join("crates")).unwrap();
    let crates = crates.map(|entry| Path::new("crates").join(entry.unwrap().file_name()));
    let files = places.into_iter().chain(crates).flat_map(|place| {
        let names = fs::read_dir(root().join(&place)).unwrap().map(|entry| entry.unwrap().file_name());
        names.map(|name| place.join(name).to_str().unwrap().to_owned()).collect::<Vec<_>>()
    });
    files.filter(|path| path.ends_with(".md")).collect()
}

/// The lines of all code blocks in `language`, by block.
fn blocks(page: &str, language: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut block: Option<String> = None;
    for line in page.lines() {
        let fence = line.trim_start().strip_prefix("```");
        match (&mut block, fence) {
            (None, Some(its)) => block = Some(if its == language { String::new() } else { "other".to_owned() }),
            (Some(_), Some(_)) => found.extend(block.take().filter(|text| text != "other")),
            (Some(text), None) if text != "other" => *text += &format!("{line}\n"),
            _ => {}
        }
    }
    found
}

/// A page without its code blocks.
fn prose(page: &str) -> String {
    let mut is_code = false;
    let mut text = String::new();
    for line in page.lines() {
        if line.trim_start().starts_with("```") {
            is_code = !is_code;
        } else if !is_code {
            text += &format!("{line}\n");
        }
    }
    text
}

/// Compares the part of a page of the reference that is made from the program, or writes it.
#[track_caller]
fn check_part(page: &str, part: &str, expected: &str) {
    let path = format!("docs/reference/{page}");
    let text = read(&path);
    let (begin, end) = (format!("<!-- generated: {part} -->\n"), format!("<!-- end of {part} -->"));
    let (before, rest) = text.split_once(&begin).unwrap_or_else(|| panic!("{path} has no part {part}"));
    let (found, after) = rest.split_once(&end).unwrap_or_else(|| panic!("{path} has no end of {part}"));
    let expected = format!("\n{}\n\n", expected.trim());
    if found == expected {
        return;
    }
    assert!(env::var_os(WRITE).is_some(), "{part} in {path} is not what the program says; run `make docs`");
    fs::write(root().join(&path), format!("{before}{begin}{expected}{end}{after}")).unwrap();
}

/// A table of Markdown.
fn table<const N: usize>(head: [&str; N], rows: impl IntoIterator<Item = [String; N]>) -> String {
    let line = |cells: [String; N]| format!("| {} |\n", cells.map(|cell| cell.replace('|', "\\|")).join(" | "));
    let rule = format!("|{}\n", " --- |".repeat(N));
    line(head.map(str::to_owned)) + &rule + &rows.into_iter().map(line).collect::<String>()
}

fn code(text: &str) -> String {
    format!("`{text}`")
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}
