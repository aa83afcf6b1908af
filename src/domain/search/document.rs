//! What of a letter can be found: its words, and the values of its payload and headers. Whatever is hidden is to be left
//! out before it comes here.

use std::collections::BTreeSet;

use super::{Area, lexemes, words::words};
use crate::domain::telling::Telling;

/// How much of a letter can be found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Bytes of text.
    pub text_bytes: usize,
    /// Values of fields, of the payload and of headers each.
    pub fields: usize,
}

/// What can be found of a letter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Document {
    /// By [`Area`].
    words: [Vec<String>; 4],
    lexemes: BTreeSet<String>,
    n_bytes: usize,
    n_fields: [usize; 2],
    /// What lists show of its payload.
    pub telling: Option<Telling>,
}

impl Document {
    /// The words of a part of it.
    pub fn words(&self, area: Area) -> &[String] {
        &self.words[area as usize]
    }

    /// What stands for its values.
    pub fn lexemes(&self) -> impl Iterator<Item = &str> {
        self.lexemes.iter().map(String::as_str)
    }

    /// Adds the words of a text, as far as there is room.
    pub fn add_text(&mut self, area: Area, text: &str, bounds: &Bounds) {
        let room = bounds.text_bytes.saturating_sub(self.n_bytes);
        let text = text.get(..text.floor_char_boundary(room)).unwrap_or_default();
        self.n_bytes += text.len();
        self.words[area as usize].extend(words(text));
    }

    /// Adds a value of a field; `path` begins with `payload.` or `header.`. Its words are added too.
    pub fn add_value(&mut self, area: Area, path: &str, value: &str, bounds: &Bounds) {
        self.add_text(area, value, bounds);
        let Some(n_fields) = room(&mut self.n_fields, area, bounds) else { return };
        *n_fields += 1;
        self.lexemes.extend([lexemes::presence(path), lexemes::equal(path, value)]);
        if let Some(number) = lexemes::as_number(value) {
            self.lexemes.extend(lexemes::number(path, number));
        }
    }

    /// Adds that there is an object or a list; it counts as one field however often it comes.
    pub fn add_presence(&mut self, area: Area, path: &str, bounds: &Bounds) {
        // There may be a hundred thousand: where there is no room, nobody asks what stands for it.
        let Some(n_fields) = room(&mut self.n_fields, area, bounds) else { return };
        *n_fields += usize::from(self.lexemes.insert(lexemes::presence(path)));
    }
}

/// How many fields of that kind there are, where there is room for another.
fn room<'n>(n_fields: &'n mut [usize; 2], area: Area, bounds: &Bounds) -> Option<&'n mut usize> {
    let n_fields = &mut n_fields[usize::from(area == Area::Payload)];
    (*n_fields < bounds.fields).then_some(n_fields)
}
