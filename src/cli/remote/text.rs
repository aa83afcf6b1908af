//! What the API answers, for a terminal.

use std::{
    io::{self, IsTerminal, Write},
    process::ExitCode,
};

use rustix::termios::tcgetwinsize;
use serde_json::{Value, json};
use uuid::Uuid;

use super::{Outcome, client::Answer};
use crate::{
    cli::print,
    domain::digest::line::{overrides_direction, single_spaced},
};

/// Columns of a terminal that does not say how many it has.
const WIDTH: usize = 100;
/// Signs between two columns of a table.
const GAP: usize = 2;
/// What is left of a cell that is cut.
const NARROWEST: usize = 8;
/// What is left of the last one, as long as others can be left out.
const READABLE: usize = 24;

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

/// Rows below their heads, in columns as wide as what is in them. In a terminal no line is longer than it is wide: columns that
/// are `spare` are left out, the first of them first, and what is longest is cut, but for the first column. Elsewhere all is told.
pub fn table(heads: &[&str], spare: &[&str], rows: &[Vec<String>]) -> String {
    let most = if io::stdout().is_terminal() { width() } else { usize::MAX };
    table_within(most, heads, spare, rows)
}

fn table_within(most: usize, heads: &[&str], spare: &[&str], rows: &[Vec<String>]) -> String {
    let heads = heads.iter().map(|head| (*head).to_owned()).collect::<Vec<_>>();
    let all = || std::iter::once(&heads).chain(rows);
    let column = |n: usize| (n, all().map(|row| row[n].chars().count()).max().unwrap_or_default());
    let mut columns: Vec<(usize, usize)> = (0..heads.len()).map(column).collect();
    for head in spare {
        if fit(&least(&columns), most) {
            break;
        }
        columns.retain(|(n, _)| heads[*n] != *head);
    }
    let columns = narrowed(columns, most);
    let line = |row: &Vec<String>| {
        let cells = columns.iter().map(|(n, width)| format!("{:<width$}", cut(&row[*n], *width)));
        let line = cells.collect::<Vec<_>>().join(&" ".repeat(GAP));
        let line: String = line.trim_end().chars().take(most).collect();
        line + "\n"
    };
    all().map(line).collect()
}

/// Whether columns, each with its width, have room in a line.
fn fit(columns: &[(usize, usize)], most: usize) -> bool {
    columns.iter().map(|(_, width)| width + GAP).sum::<usize>() <= most.saturating_add(GAP)
}

/// As narrow as they can be read: the last one says most.
fn least(columns: &[(usize, usize)]) -> Vec<(usize, usize)> {
    let last = columns.len().saturating_sub(1);
    let least = |(place, (n, width)): (usize, &(usize, usize))| match place {
        0 => (*n, *width),
        place if place == last => (*n, (*width).min(READABLE)),
        _ => (*n, (*width).min(NARROWEST)),
    };
    columns.iter().enumerate().map(least).collect()
}

/// Takes from the widest column, but the first, as long as they are too wide together.
fn narrowed(mut columns: Vec<(usize, usize)>, most: usize) -> Vec<(usize, usize)> {
    while !fit(&columns, most) {
        let widths = columns.iter_mut().skip(1).map(|(_, width)| width);
        let Some(widest) = widths.max().filter(|width| **width > NARROWEST) else { break };
        *widest -= 1;
    }
    columns
}

fn cut(cell: &str, width: usize) -> String {
    if cell.chars().count() <= width {
        return cell.to_owned();
    }
    cell.chars().take(width.saturating_sub(1)).chain(['…']).collect()
}

/// What the user says, what the terminal says, or what most have.
fn width() -> usize {
    let said = std::env::var("COLUMNS").ok().and_then(|text| text.parse().ok());
    let has = || tcgetwinsize(io::stdout()).ok().map(|size| usize::from(size.ws_col));
    said.or_else(has).filter(|width| *width > 0).unwrap_or(WIDTH)
}

/// As lines of JSON, or as `table` says it.
pub fn print_all(items: &[Answer], json: bool, table: impl FnOnce(&[Answer]) -> String) -> Outcome {
    let text = match json {
        true => items.iter().map(|item| format!("{}\n", item.text())).collect(),
        false => table(items),
    };
    if items.is_empty() && !json {
        note("dlo: nothing is found\n")?;
    }
    print_text(&text)
}

/// The answer as JSON; where the token may not read it, which thing it is about.
pub fn text_or_id(answer: Option<&Answer>, id: Uuid) -> String {
    answer.map_or_else(|| json!({"id": id}).to_string(), |answer| answer.text().to_owned())
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
    use super::*;

    #[test]
    fn nothing_steers_the_terminal() {
        assert_eq!(shown(&json!("a\u{1b}[31m\n\u{202e}b")), "a [31m b");
        assert_eq!(lines("a\r\n\tb\u{1b}c"), "a\n b c");
    }

    #[test]
    fn columns_are_as_wide_as_what_is_in_them() {
        let row = |cells: [&str; 2]| cells.map(str::to_owned).to_vec();
        let table = table(&["ID", "WHY"], &[], &[row(["1", "ö"]), row(["1234", ""])]);
        assert_eq!(table, "ID    WHY\n1     ö\n1234\n");
    }

    #[test]
    fn the_longest_is_cut_in_a_terminal() {
        let rows = [vec!["an id of 20 signs ..".to_owned(), "x".repeat(30), "short".to_owned(), "y".repeat(12)]];
        let last =
            |most, spare| table_within(most, &["ID", "A", "B", "C"], spare, &rows).lines().last().unwrap().to_owned();
        let lines = |most| last(most, &[]);
        assert_eq!(lines(60), format!("an id of 20 signs ..  {}…  short  {}", "x".repeat(16), "y".repeat(12)));
        assert_eq!(lines(40), "an id of 20 signs ..  xxxxxxx…  short  y");
        assert_eq!(lines(usize::MAX).chars().count(), 20 + 30 + 5 + 12 + 6);
        assert_eq!(last(41, &["A", "B"]), format!("an id of 20 signs ..  short  {}", "y".repeat(12)));
        assert_eq!(last(40, &["A", "B"]), format!("an id of 20 signs ..  {}", "y".repeat(12)));
        assert_eq!(last(60, &["A", "B"]), lines(60), "there is room for all of them");
    }
}
