//! The text, character by character.

use std::ops::Range;

/// Where a reader has come to in a text.
#[derive(Clone, Debug)]
pub(crate) struct Scanner<'t> {
    pub(crate) text: &'t str,
    pub(crate) at: usize,
}

/// A text in quotes that has no end.
#[derive(Debug)]
pub(crate) struct Unclosed;

/// What ends a word.
pub(crate) fn ends_word(c: char) -> bool {
    c.is_whitespace() || matches!(c, '(' | ')')
}

impl<'t> Scanner<'t> {
    pub(crate) const fn new(text: &'t str) -> Self {
        Self { text, at: 0 }
    }

    pub(crate) fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or_default()
    }

    pub(crate) fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    pub(crate) fn skip_space(&mut self) {
        self.at = self.text.len() - self.rest().trim_start().len();
    }

    /// Whether that comes next, which is then behind it.
    pub(crate) fn takes(&mut self, token: &str) -> bool {
        let is_next = self.rest().starts_with(token);
        self.at += if is_next { token.len() } else { 0 };
        is_next
    }

    /// Whether that word comes next as a word of its own, which is then behind it.
    pub(crate) fn takes_word(&mut self, word: &str) -> bool {
        let is_next = self.rest().strip_prefix(word).is_some_and(|rest| rest.chars().next().is_none_or(ends_word));
        self.at += if is_next { word.len() } else { 0 };
        is_next
    }

    /// What comes before the next of these characters, or the end.
    pub(crate) fn until(&mut self, ends: impl Fn(char) -> bool) -> &'t str {
        let rest = self.rest();
        let word = rest.get(..rest.find(ends).unwrap_or(rest.len())).unwrap_or_default();
        self.at += word.len();
        word
    }

    /// The text in quotes whose first quote comes next.
    pub(crate) fn quoted(&mut self) -> Result<String, Unclosed> {
        let mut text = String::new();
        let mut chars = self.rest().char_indices().skip(1);
        while let Some((at, c)) = chars.next() {
            match c {
                '"' => {
                    self.at += at + 1;
                    return Ok(text);
                }
                '\\' => text.extend(chars.next().map(|(_, c)| c)),
                c => text.push(c),
            }
        }
        self.at = self.text.len();
        Err(Unclosed)
    }

    /// The name of a field and its colon, if they come next.
    pub(crate) fn field(&mut self) -> Option<(&'t str, Range<usize>)> {
        let word = self.clone().until(ends_word);
        let (name, _) = word.split_once(':')?;
        let is_name = !name.is_empty() && !name.starts_with('"') && !name.contains(['<', '>', ',', '"']);
        let span = self.at..self.at + name.len();
        is_name.then(|| {
            self.at = span.end + 1;
            (name, span)
        })
    }
}
