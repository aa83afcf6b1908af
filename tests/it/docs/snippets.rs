//! The snippets that people copy are those that `make frameworks` runs.

use std::fs;

use super::{read, root};

const PAGE: &str = "docs/frameworks/hand-over.md";
const OBITUARIES: &str = "docs/guide/obituaries.md";

#[test]
fn every_line_of_a_snippet_is_on_its_page() {
    let page = read(PAGE);
    let files: Vec<_> = fs::read_dir(root().join("tests/frameworks/snippets")).unwrap().collect();
    assert_eq!(files.len(), 8, "languages");
    for file in files {
        let path = file.unwrap().path();
        let text = fs::read_to_string(&path).unwrap();
        let mut lines = text.lines().skip_while(|line| !line.contains("docs: begin")).skip(1).peekable();
        assert!(lines.peek().is_some(), "{} has no mark", path.display());
        let missing = lines.take_while(|line| !line.contains("docs: end")).find(|line| !page.contains(line.trim()));
        assert_eq!(missing, None, "{}: tests/frameworks/tables.py --write writes {PAGE}", path.display());
    }
}

/// Both keep the properties that a message came with, but for those by which it would be lost.
#[test]
fn an_obituary_leaves_out_what_a_message_that_is_handed_over_does() {
    let (snippets, obituary) = (read(PAGE), read(OBITUARIES));
    for line in ["properties.delivery_mode = 2", "properties.expiration = properties.user_id = None"] {
        assert!(snippets.contains(line) && obituary.contains(line), "{line}");
    }
}
