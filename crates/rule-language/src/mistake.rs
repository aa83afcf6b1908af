//! What is wrong with the text of a rule, and where.

use std::fmt;

/// A place in the text of a rule. Both count from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// Of the lines of the text.
    pub line: usize,
    /// In characters, not bytes.
    pub column: usize,
}

impl Place {
    pub(super) const START: Self = Self { line: 1, column: 1 };

    /// Where the byte `at` of `text` stands; the end of the text for any later one.
    fn of(text: &str, at: usize) -> Self {
        Self::START.behind(text.get(..text.floor_char_boundary(at)).unwrap_or(text))
    }

    /// Where a `text` ends that begins here.
    pub(super) fn behind(self, text: &str) -> Self {
        match text.rsplit_once('\n') {
            Some((lines, last)) => {
                Self { line: self.line + lines.matches('\n').count() + 1, column: last.chars().count() + 1 }
            }
            None => Self { column: self.column + text.chars().count(), ..self },
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}", self.line, self.column)
    }
}

/// Why a text is no rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    /// The first character that it is about.
    pub start: Place,
    /// Just behind the last character that it is about; equal to `start` where something is missing.
    pub end: Place,
    /// For whoever writes the rule: a clause that begins with a small letter and has no full stop.
    pub message: String,
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.start, self.message)
    }
}

impl std::error::Error for Mistake {}

/// A mistake that stands at bytes of the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Slip {
    pub at: usize,
    pub end: usize,
    pub message: String,
}

impl Slip {
    pub(super) fn new(at: usize, end: usize, message: impl Into<String>) -> Self {
        Self { at, end, message: message.into() }
    }

    pub(super) fn in_text(self, text: &str) -> Mistake {
        Mistake { start: Place::of(text, self.at), end: Place::of(text, self.end), message: self.message }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_count_characters_and_lines() {
        fn check(text: &str, at: usize, line: usize, column: usize) {
            assert_eq!(Place::of(text, at), Place { line, column }, "{text:?} {at}");
        }
        check("", 0, 1, 1);
        check("ab", 2, 1, 3);
        check("ab", 99, 1, 3);
        check("é€😀x", 9, 1, 4);
        check("é€😀x", 8, 1, 3);
        check("a\nbc", 2, 2, 1);
        check("a\r\nbc", 4, 2, 2);
        check("a\n\n", 3, 3, 1);
    }
}
