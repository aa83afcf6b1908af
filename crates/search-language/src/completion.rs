//! What stands where somebody types.

use std::ops::Range;

use crate::{
    field::Language,
    node::{Comparison, quoted},
    scan::{Scanner, ends_word},
};

/// The part of a search that somebody is typing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cursor {
    /// The bytes of the text that a completion takes the place of.
    pub span: Range<usize>,
    /// Its field, where its name stands there in full; a path is part of it.
    pub field: Option<String>,
    /// What is typed of the name or, of a field, of its value.
    pub typed: String,
}

impl Language {
    /// What stands at that byte of a text, however wrong the rest of it is.
    pub fn at(&self, text: &str, at: usize) -> Cursor {
        let at = text.floor_char_boundary(at);
        let mut scanner = Scanner::new(text.get(..at).unwrap_or_default());
        loop {
            scanner.until(|c| !ends_word(c) && c != '-');
            let begin = scanner.at;
            let field = scanner.field().map(|(name, _)| name);
            let value = self.pass_value(&mut scanner, field.is_some());
            if scanner.at < at || scanner.at == begin {
                if scanner.at == begin {
                    return Cursor { span: at..at, field: None, typed: String::new() };
                }
                continue;
            }
            let end = at + text.get(at..).and_then(|rest| rest.find(ends_word)).unwrap_or(text.len() - at);
            return match field {
                Some(name) => Cursor {
                    span: value.start..end,
                    field: Some(self.find(name).map_or_else(|| name.to_owned(), |(_, full)| full)),
                    typed: text.get(value.start..at).unwrap_or_default().trim_start_matches('"').to_owned(),
                },
                None => {
                    Cursor { span: begin..end, field: None, typed: text.get(begin..at).unwrap_or_default().to_owned() }
                }
            };
        }
    }

    /// Passes values, and says where the last of them stands.
    fn pass_value(&self, scanner: &mut Scanner<'_>, is_of_field: bool) -> Range<usize> {
        loop {
            if is_of_field {
                scanner.at += Comparison::read(scanner.rest()).as_str().len();
            }
            let start = scanner.at;
            if scanner.peek() == Some('"') {
                // One that is not closed is still being typed.
                _ = scanner.quoted();
            }
            scanner.until(|c| ends_word(c) || is_of_field && c == ',');
            if !scanner.takes(",") {
                return start..scanner.at;
            }
        }
    }

    /// A value as it has to be written to be read as that.
    pub fn written(value: &str) -> String {
        // One star asks for anything.
        let is_plain = !matches!(value, "" | "*")
            && !value.contains(|c: char| ends_word(c) || matches!(c, '"' | ',' | '\\'))
            && Comparison::read(value) == Comparison::Is;
        if is_plain { value.to_owned() } else { quoted(value) }
    }

    /// A value that is nothing but these characters: no number, and no pattern.
    pub fn quoted(value: &str) -> String {
        quoted(value)
    }
}
