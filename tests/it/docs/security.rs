//! The walk through OWASP ASVS: each test that it names is there.

use std::{collections::BTreeSet, path::Path};

use super::read;

#[test]
fn the_tests_that_the_table_names_are_there() {
    let page = read("docs/operations/security.md");
    let table = page.split("## OWASP ASVS").nth(1).unwrap();
    let rows = table.lines().filter(|line| line.starts_with("| ")).skip(1);
    let named: BTreeSet<&str> = rows.flat_map(|row| row.rsplit(" | ").next().unwrap().split('`')).collect();
    let named: Vec<&str> = named.into_iter().filter(|name| name.contains("::") || name.ends_with(".rs")).collect();
    assert!(named.len() > 40, "{named:?}");
    for name in named {
        assert!(is_there(name), "{name}");
    }
}

/// A module of `tests/it`, or a function in one.
fn is_there(name: &str) -> bool {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    if name.ends_with(".rs") {
        return name.starts_with("src/") && root.join(name).is_file() || name == "passwords.rs";
    }
    let module = |path: &str| {
        let path = root.join("tests/it").join(path.replace("::", "/"));
        [path.with_extension("rs"), path.join("mod.rs")].into_iter().find(|file| file.is_file())
    };
    if module(name).is_some() {
        return true;
    }
    let Some((parent, function)) = name.rsplit_once("::") else { return false };
    module(parent).is_some_and(|file| std::fs::read_to_string(file).unwrap().contains(&format!("fn {function}(")))
}

/// Each point stands in one row.
#[test]
fn no_point_is_there_twice() {
    let page = read("docs/operations/security.md");
    let table = page.split("## OWASP ASVS").nth(1).unwrap();
    let points = table.lines().filter_map(|line| line.strip_prefix("| ")?.split(" | ").next());
    let points: Vec<&str> = points.flat_map(|points| points.split(", ")).filter(|point| point.contains('.')).collect();
    let distinct: BTreeSet<&&str> = points.iter().collect();
    assert_eq!(distinct.len(), points.len());
    // All of the levels 1 and 2 but those that stand as a range.
    assert_eq!(points.len(), 253 - 10);
}
