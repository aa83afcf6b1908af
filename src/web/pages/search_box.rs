//! The search box of a list: its text, the parts of it, and what is wrong with it.

use crate::{
    domain::search::Mistake,
    web::query::{LetterQuery, Listed},
};

#[derive(Default)]
pub struct SearchBox {
    pub text: String,
    pub parts: Vec<SearchPart>,
    pub mistakes: Vec<MistakeView>,
}

/// A part that can be removed.
pub struct SearchPart {
    pub text: String,
    pub is_negated: bool,
    /// The list without it.
    pub without: String,
}

/// The text, around what is wrong in it.
pub struct MistakeView {
    pub before: String,
    /// Empty where something is missing.
    pub wrong: String,
    pub behind: String,
    pub column: usize,
    /// A sentence.
    pub message: String,
}

impl SearchBox {
    pub fn new(query: &LetterQuery, mistakes: &[Mistake]) -> Self {
        let Some(search) = &query.search else { return Self::default() };
        let text = search.to_string();
        let parts = search.parsed().map(|parsed| parsed.parts()).unwrap_or_default();
        let part = |part: crate::domain::search::Part| SearchPart {
            without: query
                .with(|query| query.search = part.without.parse().ok().filter(|_| !part.without.is_empty()))
                .href(),
            text: part.text,
            is_negated: part.is_negated,
        };
        Self {
            parts: parts.into_iter().map(part).collect(),
            mistakes: mistakes.iter().map(|mistake| MistakeView::new(&text, mistake)).collect(),
            text,
        }
    }
}

impl MistakeView {
    fn new(text: &str, mistake: &Mistake) -> Self {
        let length = mistake.end_column.saturating_sub(mistake.column);
        let mut chars = text.chars();
        let before = chars.by_ref().take(mistake.column.saturating_sub(1)).collect();
        let wrong = chars.by_ref().take(length).collect();
        let stop = if mistake.message.ends_with('?') { "" } else { "." };
        let message = format!("{}{stop}", mistake.message);
        Self { before, wrong, behind: chars.collect(), column: mistake.column, message }
    }
}
