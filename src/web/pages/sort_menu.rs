//! In which order the rows of a list of letters are.

use super::choices::Chip;
use crate::{
    domain::filter::Sort,
    web::query::{LetterQuery, Listed},
};

/// In which order rows can be.
#[derive(Default)]
pub struct SortMenu {
    pub label: &'static str,
    pub choices: Vec<Chip>,
}

impl SortMenu {
    pub fn new(query: &LetterQuery) -> Self {
        let label = |sort: Sort| match sort {
            Sort::Newest => "Newest first",
            Sort::Oldest => "Oldest first",
            Sort::Importance => "Most important first",
            Sort::Attempts => "Most attempts first",
            Sort::Size => "Largest first",
        };
        let choice = |&sort: &Sort| {
            let href = query.with(|query| query.sort = sort).href();
            Chip::new(label(sort), String::new(), href, sort == query.sort)
        };
        Self { label: label(query.sort), choices: Sort::ALL.iter().map(choice).collect() }
    }
}
