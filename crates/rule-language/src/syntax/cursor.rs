//! A walk along the tokens of a rule, and what is said of one that does not fit.

use super::token::{Token, TokenKind};
use crate::mistake::Slip;

/// A word that is never a name.
pub(super) fn is_keyword(word: &str) -> bool {
    matches!(word, "in" | "true" | "false" | "null")
}

/// A word that CEL keeps for the languages it is embedded in. It can be a field.
pub(super) fn is_reserved(word: &str) -> bool {
    const WORDS: &str =
        " as break const continue else for function if import let loop package namespace return var void while ";
    !word.is_empty() && WORDS.split(' ').any(|reserved| reserved == word)
}

pub(super) struct Cursor<'t, 'r> {
    rule: &'r str,
    tokens: &'t [Token],
    n_read: usize,
}

impl<'t, 'r> Cursor<'t, 'r> {
    pub(super) const fn new(rule: &'r str, tokens: &'t [Token]) -> Self {
        Self { rule, tokens, n_read: 0 }
    }

    /// `ahead` is 0 for the next token.
    pub(super) fn token(&self, ahead: usize) -> Option<Token> {
        self.tokens.get(self.n_read + ahead).copied()
    }

    /// The text of a token, empty at the end. Tokens of different kinds never have the same text.
    pub(super) fn text(&self, ahead: usize) -> &'r str {
        self.token(ahead).map_or("", |token| token.text(self.rule))
    }

    pub(super) fn next(&mut self) -> Option<Token> {
        let token = self.token(0)?;
        self.n_read += 1;
        Some(token)
    }

    pub(super) fn skip(&mut self) {
        self.n_read += 1;
    }

    /// The next token if it is this one.
    pub(super) fn take(&mut self, sign: &str) -> Option<Token> {
        if self.text(0) == sign { self.next() } else { None }
    }

    pub(super) fn expect(&mut self, sign: &str) -> Result<(), Slip> {
        self.take(sign).map(|_| ()).ok_or_else(|| self.unexpected())
    }

    /// A mistake that is about the next token.
    pub(super) fn mistake(&self, message: impl Into<String>) -> Slip {
        let end = self.rule.len();
        self.token(0)
            .map_or_else(|| Slip::new(end, end, "something is missing at the end"), |token| token.slip(message))
    }

    /// Why the next token can't stand where it does.
    pub(super) fn unexpected(&self) -> Slip {
        let before = self.n_read.checked_sub(1).and_then(|index| self.tokens.get(index)).copied();
        // `not` is read as a name, so that only what follows it does not fit.
        if let Some(not) = before.filter(|before| before.text(self.rule).eq_ignore_ascii_case("not")) {
            return not.slip("write ! for \"not\"");
        }
        let is_text = self.token(0).is_some_and(|token| token.kind == TokenKind::Text);
        let text = self.text(0);
        let is_field = before.is_some_and(|before| before.text(self.rule) == ".");
        self.mistake(match text.to_ascii_lowercase().as_str() {
            _ if is_text => "something is missing before this text, such as == or a comma".to_owned(),
            "and" => "write && for \"and\"".to_owned(),
            "or" => "write || for \"or\"".to_owned(),
            "is" | "equals" | "eq" => "write == to compare".to_owned(),
            word if is_reserved(word) || is_field && is_keyword(word) => {
                format!("`{text}` is a reserved word and can't be used here; as a key write [\"{text}\"]")
            }
            _ => format!("`{text}` does not fit here"),
        })
    }
}
