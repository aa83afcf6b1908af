//! The words and signs of a rule. Brackets are matched and counted here, so that the parser need not bound how deep it
//! recurses.
//!
//! This follows the grammar of CEL (<https://github.com/google/cel-spec/blob/master/doc/langdef.md#syntax>), but
//! refuses what is hard to read, such as a word right behind a number.

use super::{
    literal,
    token::{Token, TokenKind},
};
use crate::{
    limits::{MAX_BRACKETS, MAX_CHARACTERS, MAX_TOKENS},
    mistake::{Place, Slip},
};

/// Takes a rule apart.
///
/// # Errors
/// What keeps it from being a rule.
pub(super) fn scan(rule: &str) -> Result<Vec<Token>, Slip> {
    if let Some((at, _)) = rule.char_indices().nth(MAX_CHARACTERS) {
        return Err(Slip::new(at, rule.len(), format!("a rule has at most {MAX_CHARACTERS} characters")));
    }
    let mut scanner = Scanner { rule, at: 0, open: Vec::new() };
    let mut tokens: Vec<Token> = Vec::new();
    while let Some((kind, at)) = scanner.token()? {
        let (last, place) = tokens.last().map_or((0, Place::START), |last| (last.at, last.place));
        let place = place.behind(rule.get(last..at).unwrap_or_default());
        let token = Token { kind, at, end: scanner.at, place };
        if tokens.len() == MAX_TOKENS {
            return Err(token.slip(format!("a rule has at most {MAX_TOKENS} words and signs")));
        }
        tokens.push(token);
    }
    if let Some((at, bracket)) = scanner.open.pop() {
        return Err(Slip::new(at, at + 1, format!("this {bracket} is never closed")));
    }
    if tokens.is_empty() {
        return Err(Slip::new(0, rule.len(), "a rule can't be empty; `true` takes every letter"));
    }
    Ok(tokens)
}

struct Scanner<'a> {
    rule: &'a str,
    at: usize,
    /// The brackets that are not closed yet.
    open: Vec<(usize, char)>,
}

impl<'a> Scanner<'a> {
    /// The kind of the next token, and where it begins.
    fn token(&mut self) -> Result<Option<(TokenKind, usize)>, Slip> {
        self.skip_space();
        let at = self.at;
        let Some(first) = self.rest().chars().next() else { return Ok(None) };
        let kind = match first {
            'a'..='z' | 'A'..='Z' | '_' => self.word()?,
            '0'..='9' => self.number()?,
            '.' if self.rest().chars().nth(1).is_some_and(|c| c.is_ascii_digit()) => self.number()?,
            '\'' | '"' => self.text(false)?,
            '`' => self.escaped_word()?,
            _ => self.sign(first)?,
        };
        Ok(Some((kind, at)))
    }

    /// White space, and comments from `//` to the end of the line.
    fn skip_space(&mut self) {
        loop {
            let rest = self.rest();
            let space = rest.len() - rest.trim_start_matches([' ', '\t', '\r', '\n', '\u{c}']).len();
            self.at += space;
            if !self.rest().starts_with("//") {
                return;
            }
            self.at += self.rest().find('\n').unwrap_or(self.rest().len());
        }
    }

    fn word(&mut self) -> Result<TokenKind, Slip> {
        let at = self.at;
        let word = self.take_while(is_word);
        if !self.rest().starts_with(['\'', '"']) {
            return Ok(TokenKind::Word);
        }
        match word.to_ascii_lowercase().as_str() {
            "r" => self.text(true),
            "b" | "br" => Err(Slip::new(at, self.at, "rules know no bytes; take a text without the b before it")),
            _ => Err(Slip::new(at, self.at, format!("something is missing between `{word}` and the text behind it"))),
        }
    }

    fn number(&mut self) -> Result<TokenKind, Slip> {
        let at = self.at;
        let is_hex = self.rest().starts_with("0x");
        let is_whole = is_hex || self.decimal();
        let has_digits = !is_hex || self.hexadecimal();
        if is_whole && self.rest().starts_with(['u', 'U']) {
            self.at += 1;
        }
        if !has_digits || self.rest().starts_with(|c: char| is_word(c) || c == '\'' || c == '"') {
            self.take_while(is_word);
            let number = self.rule.get(at..self.at).unwrap_or_default();
            return Err(Slip::new(at, self.at, format!("`{number}` is no number")));
        }
        Ok(TokenKind::Number)
    }

    /// Whether there are digits.
    fn hexadecimal(&mut self) -> bool {
        self.at += 2;
        !self.take_while(|c| c.is_ascii_hexdigit()).is_empty()
    }

    /// Whether there is neither a fraction nor an exponent.
    fn decimal(&mut self) -> bool {
        self.take_while(|c| c.is_ascii_digit());
        let whole = self.at;
        let fraction = self.rest().strip_prefix('.');
        if fraction.is_some_and(|digits| digits.starts_with(|c: char| c.is_ascii_digit())) {
            self.at += 1;
            self.take_while(|c| c.is_ascii_digit());
        }
        self.exponent();
        self.at == whole
    }

    fn exponent(&mut self) {
        let Some(behind) = self.rest().strip_prefix(['e', 'E']) else { return };
        let digits = behind.strip_prefix(['+', '-']).unwrap_or(behind);
        if digits.starts_with(|c: char| c.is_ascii_digit()) {
            self.at = self.rule.len() - digits.len();
            self.take_while(|c| c.is_ascii_digit());
        }
    }

    /// A text in one or three quotes; `is_raw` where a backslash is a character like any other.
    fn text(&mut self, is_raw: bool) -> Result<TokenKind, Slip> {
        let at = self.at;
        let quote = if self.rest().starts_with('"') { "\"" } else { "'" };
        let long = quote.repeat(3);
        let is_long = self.rest().starts_with(&long);
        let end = if is_long { long.as_str() } else { quote };
        self.at += end.len();
        loop {
            if self.rest().starts_with(end) {
                self.at += end.len();
                return Ok(TokenKind::Text);
            }
            match self.rest().chars().next() {
                None => return Err(Slip::new(at, self.at, "this text has no closing quote")),
                Some('\n' | '\r') if !is_long => {
                    return Err(Slip::new(at, self.at, "this text has no closing quote in its line"));
                }
                Some('\\') if !is_raw => self.escape()?,
                Some(c) => self.at += c.len_utf8(),
            }
        }
    }

    fn escape(&mut self) -> Result<(), Slip> {
        let behind = self.rest().strip_prefix('\\').unwrap_or_default();
        if let Some((_, n_bytes)) = literal::escape(behind) {
            self.at += 1 + n_bytes;
            return Ok(());
        }
        let end = self.at + 1 + behind.chars().next().map_or(0, char::len_utf8);
        let message = "there is no such escape; write \\\\ for a backslash, or r before the quote of a pattern";
        Err(Slip::new(self.at, end, message))
    }

    /// A name in backquotes, for what is no word: ``letter.headers.`x-tenant` ``.
    fn escaped_word(&mut self) -> Result<TokenKind, Slip> {
        let at = self.at;
        self.at += 1;
        let name = self.take_while(|c| c.is_ascii_alphanumeric() || "_.-/ ".contains(c));
        if name.is_empty() || !self.rest().starts_with('`') {
            return Err(Slip::new(at, self.at, "write [\"…\"] around a name with other signs than letters and digits"));
        }
        self.at += 1;
        Ok(TokenKind::Word)
    }

    fn sign(&mut self, first: char) -> Result<TokenKind, Slip> {
        let at = self.at;
        let two = self.rest().get(..2).unwrap_or_default();
        if matches!(two, "==" | "!=" | "<=" | ">=" | "&&" | "||") {
            self.at += 2;
            return Ok(TokenKind::Sign);
        }
        self.at += first.len_utf8();
        let wrong = |message: &str| Err(Slip::new(at, at + first.len_utf8(), message));
        match first {
            '(' | '[' | '{' => self.opened(at, first)?,
            ')' | ']' | '}' => self.closed(at, first)?,
            '<' | '>' | '!' | '+' | '-' | '*' | '/' | '%' | '?' | ':' | '.' | ',' => {}
            '=' => return wrong("write == to compare"),
            '&' => return wrong("write && for \"and\""),
            '|' => return wrong("write || for \"or\""),
            '“' | '”' | '„' | '‘' | '’' | '«' | '»' => return wrong("write straight quotes: \"…\" or '…'"),
            _ => return wrong(&format!("`{}` has no meaning in a rule", first.escape_debug())),
        }
        Ok(TokenKind::Sign)
    }

    fn opened(&mut self, at: usize, bracket: char) -> Result<(), Slip> {
        if self.open.len() == MAX_BRACKETS {
            let message = format!("no more than {MAX_BRACKETS} brackets can stand within each other");
            return Err(Slip::new(at, at + 1, message));
        }
        self.open.push((at, bracket));
        Ok(())
    }

    fn closed(&mut self, at: usize, bracket: char) -> Result<(), Slip> {
        let Some((_, opening)) = self.open.pop() else {
            return Err(Slip::new(at, at + 1, format!("this {bracket} closes nothing")));
        };
        if matches!((opening, bracket), ('(', ')') | ('[', ']') | ('{', '}')) {
            return Ok(());
        }
        Err(Slip::new(at, at + 1, format!("this {bracket} can't close the {opening} before it")))
    }

    fn take_while(&mut self, is_part: impl Fn(char) -> bool) -> &'a str {
        let rest = self.rest();
        let end = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
        self.at += end;
        rest.get(..end).unwrap_or_default()
    }

    fn rest(&self) -> &'a str {
        self.rule.get(self.at..).unwrap_or_default()
    }
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}
