//! What is wrong with a search, and where.

use std::{error::Error, fmt, ops::Range};

/// Why a text is no search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    /// The first character that it is about, counted from 1.
    pub column: usize,
    /// Just behind the last character that it is about; equal to `column` where something is missing.
    pub end_column: usize,
    /// A clause that begins with a small letter and has no full stop.
    pub message: String,
}

impl Mistake {
    /// About these bytes of `text`.
    pub fn at(text: &str, span: Range<usize>, message: impl Into<String>) -> Self {
        let column = |at: usize| text.get(..text.floor_char_boundary(at)).unwrap_or(text).chars().count() + 1;
        Self { column: column(span.start), end_column: column(span.end), message: message.into() }
    }
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "column {}: {}", self.column, self.message)
    }
}

impl Error for Mistake {}
