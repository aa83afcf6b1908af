//! What the scanner hands to the parser.

use crate::mistake::{Place, Slip};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TokenKind {
    /// Also a name in backquotes, and `in`, `true`, `false` and `null`.
    Word,
    Number,
    Text,
    Sign,
}

/// A word, number, quoted text or sign: the bytes `at..end`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Token {
    pub(super) kind: TokenKind,
    pub at: usize,
    pub end: usize,
    /// Where `at` is, for people.
    pub place: Place,
}

impl Token {
    pub(super) fn text(self, rule: &str) -> &str {
        rule.get(self.at..self.end).unwrap_or_default()
    }

    /// A mistake that is about this token.
    pub(crate) fn slip(self, message: impl Into<String>) -> Slip {
        Slip::new(self.at, self.end, message)
    }
}
