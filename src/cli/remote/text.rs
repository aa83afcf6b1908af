//! What the API answers, for a terminal.

use std::{
    io::{self, IsTerminal, Write},
    process::ExitCode,
};

use serde_json::Value;

use super::Outcome;
use crate::{
    cli::print,
    domain::digest::line::{overrides_direction, single_spaced},
};

/// Columns of a terminal that does not say how many it has.
const WIDTH: usize = 100;

/// A value in one line, without what would steer the terminal.
pub fn shown(value: &Value) -> String {
    let text = match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    single_spaced(text.chars().map(|c| if overrides_direction(c) { ' ' } else { c })).collect()
}

/// A text of several lines, likewise.
pub fn lines(text: &str) -> String {
    let plain = |c: char| if overrides_direction(c) || c.is_control() && c != '\n' { ' ' } else { c };
    text.replace("\r\n", "\n").chars().map(plain).collect()
}

/// Rows below their heads, in columns as wide as what is in them. In a terminal no line is longer than it is wide; elsewhere
/// nothing is cut.
pub fn table(heads: &[&str], rows: &[Vec<String>]) -> String {
    let heads = heads.iter().map(|head| (*head).to_owned()).collect::<Vec<_>>();
    let all = || std::iter::once(&heads).chain(rows);
    let widths: Vec<usize> =
        (0..heads.len()).map(|n| all().map(|row| row[n].chars().count()).max().unwrap_or_default()).collect();
    let most = io::stdout().is_terminal().then(width);
    let line = |row: &Vec<String>| {
        let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}"));
        let line = cells.collect::<Vec<_>>().join("  ");
        let line: String = line.trim_end().chars().take(most.unwrap_or(usize::MAX)).collect();
        line + "\n"
    };
    all().map(line).collect()
}

fn width() -> usize {
    std::env::var("COLUMNS").ok().and_then(|text| text.parse().ok()).unwrap_or(WIDTH)
}

/// As lines of JSON, or as `table` says it.
pub fn print_all(items: &[Value], json: bool, table: impl FnOnce(&[Value]) -> String) -> Outcome {
    let text = match json {
        true => items.iter().map(|item| format!("{item}\n")).collect(),
        false => table(items),
    };
    if items.is_empty() && !json {
        note("dlo: nothing is found\n")?;
    }
    print_text(&text)
}

pub fn print_text(text: &str) -> Outcome {
    Ok(print(text.as_bytes())?)
}

/// Says something beside the answer.
pub fn note(text: &str) -> Result<(), io::Error> {
    io::stderr().write_all(text.as_bytes())
}

/// Asks on the terminal; nobody there means no.
pub fn confirm(question: &str) -> Result<bool, io::Error> {
    note(&format!("{question} [y/N] "))?;
    let mut answer = String::new();
    io::stdin().read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}

pub const fn exit(is_well: bool) -> ExitCode {
    if is_well { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn nothing_steers_the_terminal() {
        assert_eq!(shown(&json!("a\u{1b}[31m\n\u{202e}b")), "a [31m b");
        assert_eq!(lines("a\r\n\tb\u{1b}c"), "a\n b c");
    }

    #[test]
    fn columns_are_as_wide_as_what_is_in_them() {
        let row = |cells: [&str; 2]| cells.map(str::to_owned).to_vec();
        let table = table(&["ID", "WHY"], &[row(["1", "ö"]), row(["1234", ""])]);
        assert_eq!(table, "ID    WHY\n1     ö\n1234\n");
    }
}
