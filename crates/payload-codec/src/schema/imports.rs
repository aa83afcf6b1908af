//! The paths by which sources import each other.
//!
//! What is uploaded has lost them in part: a browser sends `billing.proto` without its folders, an archive adds some
//! (`project-main/proto/…`). The imports themselves say what is meant.

use std::collections::{BTreeMap, BTreeSet};

use super::source::Source;

/// The sources under the paths by which they are imported, as far as imports tell.
pub fn rooted(sources: Vec<Source>) -> Vec<Source> {
    let paths: BTreeSet<String> = sources.iter().map(|source| source.path.clone()).collect();
    let imports: BTreeSet<&str> = sources.iter().flat_map(|source| imports_of(&source.text)).collect();
    let unmet: Vec<&str> = imports.into_iter().filter(|import| !paths.contains(*import)).collect();
    let roots = roots(&paths, &unmet);
    let flat = flattened(&paths, &unmet);
    let renamed = |path: &str| {
        let root = roots.iter().find_map(|root| path.strip_prefix(root.as_str()));
        root.map(str::to_owned).or_else(|| flat.get(path).cloned()).unwrap_or_else(|| path.to_owned())
    };
    let new: Vec<String> = sources.iter().map(|source| renamed(&source.path)).collect();
    // Two files must not become one.
    let is_clear = new.iter().collect::<BTreeSet<_>>().len() == sources.len();
    let rename = |(source, path): (Source, String)| if is_clear { Source { path, ..source } } else { source };
    sources.into_iter().zip(new).map(rename).collect()
}

/// What stands before imported paths, `project-main/proto/`, the longest first.
fn roots(paths: &BTreeSet<String>, unmet: &[&str]) -> Vec<String> {
    let mut roots = BTreeSet::new();
    for import in unmet {
        let mut around = paths.iter().filter_map(|path| path.strip_suffix(import)).filter(|root| root.ends_with('/'));
        if let (Some(root), None) = (around.next(), around.next()) {
            roots.insert(root.to_owned());
        }
    }
    let mut roots: Vec<String> = roots.into_iter().collect();
    roots.sort_by_key(|root| std::cmp::Reverse(root.len()));
    roots
}

/// Files that are imported by a longer path than they have, where only one import can mean them.
fn flattened(paths: &BTreeSet<String>, unmet: &[&str]) -> BTreeMap<String, String> {
    let mut meant: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for import in unmet {
        let is_end = |path: &&String| import.strip_suffix(&***path).is_some_and(|folders| folders.ends_with('/'));
        if let Some(path) = paths.iter().find(is_end) {
            meant.entry(path).or_default().push(import);
        }
    }
    let only = |(path, imports): (&str, Vec<&str>)| match imports[..] {
        [import] => Some((path.to_owned(), import.to_owned())),
        _ => None,
    };
    meant.into_iter().filter_map(only).collect()
}

/// What stands in quotes after `import` at the start of a line; a guess, which the compiler checks.
fn imports_of(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter_map(|line| {
        let rest = line.trim_start().strip_prefix("import")?.trim_start();
        let rest = rest.strip_prefix("public").or_else(|| rest.strip_prefix("weak")).unwrap_or(rest).trim_start();
        let quote = rest.chars().next().filter(|c| matches!(c, '"' | '\''))?;
        rest.get(1..)?.split(quote).next()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Paths, the imports of the first of them, and what the paths become.
    fn check(paths: &[&str], imports: &[&str], expected: &[&str]) {
        let text: String = imports.iter().map(|import| format!("import \"{import}\";\n")).collect();
        let source = |(index, path): (usize, &&str)| Source {
            path: (*path).to_owned(),
            text: if index == 0 { text.clone() } else { String::new() },
        };
        let found = rooted(paths.iter().enumerate().map(source).collect());
        assert_eq!(found.iter().map(|source| &*source.path).collect::<Vec<_>>(), expected, "{paths:?}");
    }

    #[test]
    fn paths_follow_the_imports() {
        check(&["a.proto", "b.proto"], &["b.proto"], &["a.proto", "b.proto"]);
        check(&["a.proto", "b.proto"], &["acme/v1/b.proto"], &["a.proto", "acme/v1/b.proto"]);
        check(&["x/acme/a.proto", "x/acme/b.proto"], &["acme/b.proto"], &["acme/a.proto", "acme/b.proto"]);
        check(&["x/y/a.proto", "x/b.proto"], &["b.proto"], &["y/a.proto", "b.proto"]);
    }

    #[test]
    fn where_imports_leave_it_open_paths_stay() {
        check(&["a.proto", "b.proto"], &["v1/b.proto", "v2/b.proto"], &["a.proto", "b.proto"]);
        check(&["a.proto", "x/b.proto", "y/b.proto"], &["b.proto"], &["a.proto", "x/b.proto", "y/b.proto"]);
        check(&["a.proto"], &["google/protobuf/any.proto"], &["a.proto"]);
        check(&["x/a.proto", "a.proto", "x/b.proto"], &["b.proto"], &["x/a.proto", "a.proto", "x/b.proto"]);
    }

    #[test]
    fn imports_are_found_line_by_line() {
        let text =
            "syntax = \"proto3\";\nimport \"a.proto\";\n  import public 'b.proto'; // c\n// import \"d\";\nimport x;";
        assert_eq!(imports_of(text).collect::<Vec<_>>(), ["a.proto", "b.proto"]);
    }
}
