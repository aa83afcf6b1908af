//! Rows of one group that follow each other, as one row that can be opened.

use super::row::Row;
use crate::domain::letter::Importance;

/// So many rows are shown as one; fewer are as quickly read.
const LEAST: usize = 5;

/// What a list shows in one place.
#[derive(Debug)]
pub enum Entry {
    One(Box<Row>),
    Run(Run),
}

#[derive(Debug)]
pub struct Run {
    pub id: String,
    pub rows: Vec<Row>,
    /// What most of them failed with, or have come to since.
    pub why: String,
    /// The call that all of them are; empty where they differ.
    pub task: String,
    /// The highest there is among them.
    pub importance: &'static str,
    /// Whether one of them is selected, and so has to be seen.
    pub is_open: bool,
}

impl Run {
    fn new(rows: Vec<Row>) -> Self {
        let is_of = |importance: &&Importance| rows.iter().any(|row| row.importance == importance.as_str());
        Self {
            // The last one stays where new ones come in before.
            id: rows.last().map(|row| row.id.clone()).unwrap_or_default(),
            why: most_frequent(&rows).unwrap_or_default().to_owned(),
            task: rows
                .first()
                .filter(|first| rows.iter().all(|row| row.task == first.task))
                .map(|row| row.task.clone())
                .unwrap_or_default(),
            importance: Importance::ALL.iter().find(is_of).map_or("", |importance| importance.as_str()),
            is_open: rows.iter().any(|row| row.is_selected),
            rows,
        }
    }
}

/// The first of those that stand there most often.
fn most_frequent(rows: &[Row]) -> Option<&str> {
    let times = |why: &str| rows.iter().filter(|row| row.why == why).count();
    rows.iter().rev().map(|row| &*row.why).max_by_key(|why| times(why))
}

/// Puts rows of one group together, unless all of them are of one.
pub fn folded(rows: Vec<Row>) -> Vec<Entry> {
    let mut runs: Vec<Vec<Row>> = Vec::new();
    for row in rows {
        let is_of = |run: &&mut Vec<Row>| row.group.is_some() && run.last().is_some_and(|last| last.group == row.group);
        match runs.last_mut().filter(is_of) {
            Some(run) => run.push(row),
            None => runs.push(vec![row]),
        }
    }
    let is_whole = runs.len() == 1;
    let entries = runs.into_iter().flat_map(|run| {
        if run.len() >= LEAST && !is_whole {
            vec![Entry::Run(Run::new(run))]
        } else {
            run.into_iter().map(|row| Entry::One(Box::new(row))).collect()
        }
    });
    entries.collect()
}
