//! Every statement of the store is one that its databases understand, whether or not some test comes to it.
//!
//! The texts are taken from the sources. What is put together while it runs, of parts that end in a space or an opening
//! parenthesis, is left to the tests that run it.

use std::{fs, path::Path};

use super::database::TestDatabase;

/// A text in the sources, and the code before it on its line.
struct Literal {
    file: String,
    before: String,
    text: String,
}

async fn every_statement_can_be_prepared(database: &TestDatabase) {
    let statements: Vec<Literal> = literals().into_iter().filter(|literal| literal.is_for(database)).collect();
    assert!(statements.len() > 90, "only {} statements were found", statements.len());
    let mut refused = Vec::new();
    for Literal { file, text, .. } in statements {
        if let Err(error) = database.prepare(&text).await {
            refused.push(format!("{file}: {error}\n{text}"));
        }
    }
    assert!(refused.is_empty(), "{}", refused.join("\n\n"));
}

on_both!(every_statement_can_be_prepared);

impl Literal {
    fn is_statement(&self) -> bool {
        const VERBS: [&str; 5] = ["SELECT ", "INSERT ", "UPDATE ", "DELETE ", "WITH "];
        let is_whole = !self.text.ends_with([' ', '(']) && !self.text.contains('{');
        is_whole && VERBS.iter().any(|verb| self.text.starts_with(verb))
    }

    fn is_for(&self, database: &TestDatabase) -> bool {
        /// What only Postgres has, in functions that SQLite never comes to.
        const ONLY_POSTGRES: [&str; 8] = [
            "FOR UPDATE",
            "FOR NO KEY UPDATE",
            "FOR KEY SHARE",
            "clock_timestamp()",
            "pg_notify",
            "pg_advisory",
            "pg_attribute",
            "gin_clean_pending_list",
        ];
        let is_only = |database: &str| self.before.trim_end().ends_with(database);
        let is_postgres = is_only("postgres:") || ONLY_POSTGRES.iter().any(|word| self.text.contains(word));
        if database.is_sqlite() { !is_postgres } else { !is_only("sqlite:") }
    }
}

fn literals() -> Vec<Literal> {
    let mut found = Vec::new();
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("src/store")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let source = fs::read_to_string(&path).unwrap();
                let file = path.display().to_string();
                let texts = texts(source.split("#[cfg(test)]").next().unwrap());
                found.extend(texts.into_iter().map(|(before, text)| Literal { file: file.clone(), before, text }));
            }
        }
    }
    found.retain(Literal::is_statement);
    found
}

/// All texts between quotation marks that are no part of a comment.
fn texts(source: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut rest = source;
    while let Some(at) = rest.find(['"', '/']) {
        let (before, from) = rest.split_at(at);
        if from.starts_with("//") {
            rest = from.split_once('\n').map_or("", |(_, after)| after);
        } else if from.starts_with('/') || before.ends_with('\'') {
            rest = &from[1..];
        } else {
            let line = before.rsplit('\n').next().unwrap();
            let (text, after) = text(&from[1..]);
            found.push((line.to_owned(), text));
            rest = after;
        }
    }
    found
}

/// What stands before the closing quotation mark, and what follows it.
fn text(source: &str) -> (String, &str) {
    let mut text = String::new();
    let mut rest = source;
    loop {
        let at = rest.find(['"', '\\']).unwrap();
        text.push_str(&rest[..at]);
        if rest[at..].starts_with('"') {
            return (text, &rest[at + 1..]);
        }
        let escaped = &rest[at + 1..];
        if escaped.starts_with('\n') {
            // The line goes on in the next one.
            rest = escaped.trim_start();
        } else {
            text.extend(escaped.chars().next());
            rest = &escaped[1..];
        }
    }
}

#[test]
fn texts_are_found_as_they_are_written() {
    let source =
        "let a = \"SELECT 1\"; // no \"SELECT 2\"\n    sqlite: \"SELECT \\\"3\\\" \\\n      FROM t\", '\"', 1 / 2";
    let found = texts(source);
    let expected = [("let a = ", "SELECT 1"), ("    sqlite: ", "SELECT \"3\" FROM t")];
    assert_eq!(found, expected.map(|(before, text)| (before.to_owned(), text.to_owned())));
}
