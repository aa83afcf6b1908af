//! Links between files lead somewhere.

use std::path::{Component, Path, PathBuf};

use super::{pages, prose, read, root};

#[test]
fn every_link_leads_somewhere() {
    let broken: Vec<String> = pages()
        .iter()
        .flat_map(|page| targets(&read(page)).into_iter().map(move |target| (page.clone(), target)))
        .filter_map(|(page, target)| Some(format!("{page}: {target}: {}", trouble(&page, &target)?)))
        .collect();
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

#[test]
fn trouble_is_found() {
    for (page, target, why) in [
        ("README.md", "docs/nowhere.md", "there is no such file"),
        ("README.md", "CONTRIBUTING.md#nowhere", "there is no such heading"),
        ("docs/README.md", "../README.md", "it leads out of the book"),
    ] {
        assert_eq!(trouble(page, target), Some(why), "{page}: {target}");
    }
    assert_eq!(trouble("docs/README.md", "#words"), None);
    assert_eq!(targets("[a](b.md) `[c](d.md)` ![e](f.png)\n```\n[g](h.md)\n```\n[i](https://x)"), ["b.md", "f.png"]);
    assert_eq!(anchor("`[notify.page]` \"x-death\", and _more_"), "notifypage-x-death-and-_more_");
}

/// Where the links of a page lead, those to other sites left out.
pub fn targets(page: &str) -> Vec<String> {
    let text = prose(page);
    // What is between backticks is no link.
    let outside: String = text.split('`').step_by(2).collect();
    let ends = outside.split("](").skip(1).filter_map(|rest| rest.split_once(')'));
    ends.map(|(target, _)| target.to_owned()).filter(|target| !target.contains("://")).collect()
}

fn trouble(page: &str, target: &str) -> Option<&'static str> {
    let (path, heading) = target.split_once('#').map_or((target, None), |(path, heading)| (path, Some(heading)));
    let path = if path.is_empty() { PathBuf::from(page) } else { Path::new(page).with_file_name("").join(path) };
    let path = without_dots(&path);
    if page.starts_with("docs/") && !path.starts_with("docs") {
        return Some("it leads out of the book");
    }
    if !root().join(&path).exists() {
        return Some("there is no such file");
    }
    let has = |heading: &str| headings(&read(path.to_str().unwrap_or_default())).contains(&heading.to_owned());
    heading.filter(|heading| !has(heading)).map(|_| "there is no such heading")
}

fn without_dots(path: &Path) -> PathBuf {
    path.components().fold(PathBuf::new(), |mut path, part| {
        match part {
            Component::ParentDir => drop(path.pop()),
            part => path.push(part),
        }
        path
    })
}

fn headings(page: &str) -> Vec<String> {
    let text = prose(page);
    let lines = text.lines().filter(|line| line.starts_with('#'));
    lines.map(|line| anchor(line.trim_start_matches('#').trim())).collect()
}

/// What code hosts and mdBook make of a heading.
fn anchor(heading: &str) -> String {
    let kept = heading.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.map(|c| if c == ' ' { '-' } else { c.to_ascii_lowercase() }).collect()
}
