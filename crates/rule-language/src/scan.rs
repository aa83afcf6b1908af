//! The words and signs of a rule, found before the parser sees it.
//!
//! The parser recurses, and a few dozen brackets within each other overflow the stack of a usual thread, which ends the
//! process. So it is only handed a text whose brackets are counted, and they can only be counted by whoever knows which
//! of them stand inside a quoted text. Where this and the grammar of CEL
//! (<https://github.com/google/cel-spec/blob/master/doc/langdef.md#syntax>) could disagree on where a quoted text
//! begins, the rule is refused here.

use super::{MAX_BRACKETS, MAX_CHARACTERS, MAX_TOKENS, mistake::Slip};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TokenKind {
    Word,
    Number,
    Text,
    Sign,
}

/// A word, number, quoted text or sign: the bytes `at..end`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Token {
    pub kind: TokenKind,
    pub at: usize,
    pub end: usize,
}

impl Token {
    pub(super) fn text(self, rule: &str) -> &str {
        rule.get(self.at..self.end).unwrap_or_default()
    }
}

/// Takes the text apart, or says what keeps it from being a rule.
pub(super) fn scan(rule: &str) -> Result<Vec<Token>, Slip> {
    if let Some((at, _)) = rule.char_indices().nth(MAX_CHARACTERS) {
        return Err(Slip::new(at, rule.len(), format!("a rule has at most {MAX_CHARACTERS} characters")));
    }
    let mut scanner = Scanner { rule, at: 0, open: Vec::new() };
    let mut tokens = Vec::new();
    while let Some(token) = scanner.token()? {
        if tokens.len() == MAX_TOKENS {
            return Err(Slip::new(token.at, token.end, format!("a rule has at most {MAX_TOKENS} words and signs")));
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
    fn token(&mut self) -> Result<Option<Token>, Slip> {
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
        Ok(Some(Token { kind, at, end: self.at }))
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
        if self.rest().starts_with("0x") {
            self.at += 2;
            self.take_while(|c| c.is_ascii_hexdigit());
        } else {
            self.take_while(|c| c.is_ascii_digit());
            let fraction = self.rest().strip_prefix('.');
            if fraction.is_some_and(|digits| digits.starts_with(|c: char| c.is_ascii_digit())) {
                self.at += 1;
                self.take_while(|c| c.is_ascii_digit());
            }
            self.exponent();
        }
        if self.rest().starts_with(['u', 'U']) {
            self.at += 1;
        }
        if self.rest().starts_with(|c: char| is_word(c) || c == '\'' || c == '"') {
            self.take_while(is_word);
            let number = self.rule.get(at..self.at).unwrap_or_default();
            return Err(Slip::new(at, self.at, format!("`{number}` is no number")));
        }
        Ok(TokenKind::Number)
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
        let at = self.at;
        self.at += 1;
        let letter = self.rest().chars().next();
        let (n_digits, radix) = match letter {
            Some('a' | 'b' | 'f' | 'n' | 'r' | 't' | 'v' | '"' | '\'' | '`' | '\\' | '?') => (0, 16),
            Some('x' | 'X') => (2, 16),
            Some('u') => (4, 16),
            Some('U') => (8, 16),
            Some('0'..='3') => (2, 8),
            _ => (usize::MAX, 16),
        };
        self.at += letter.map_or(0, char::len_utf8);
        let digits = self.rest().chars().take_while(|c| c.is_digit(radix)).take(n_digits).count();
        if digits < n_digits {
            let message = "there is no such escape; write \\\\ for a backslash, or r before the quote of a pattern";
            return Err(Slip::new(at, self.at, message));
        }
        self.at += n_digits;
        Ok(())
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
