//! JSON that knows where it stands in its text.
//!
//! This knows RFC 8259 and positions. It must never know what the JSON means. Unlike `serde_json` it keeps the digits
//! of numbers and double keys, because an edit has to be checked for both.

mod merge;
mod merge_patch;
mod one_line;
mod portable;
mod read;
mod write;

use std::{borrow::Cow, collections::HashSet};

pub use merge_patch::{MergePatch, PatchMistake, laid_out};
pub use one_line::OneLine;
pub use portable::{in_unicode, portable};
pub use read::read;

#[cfg(test)]
mod tests;

/// A value and where it begins.
#[derive(Clone, Debug)]
pub struct Node<'a> {
    /// Offset in the text, in bytes; 0 in JSON that was made and not read.
    pub at: usize,
    /// What it is.
    pub kind: Kind<'a>,
}

/// The kinds of JSON values.
#[derive(Clone, Debug, PartialEq)]
pub enum Kind<'a> {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// The digits as they are written.
    Number(Cow<'a, str>),
    /// A string, without its escapes.
    Text(Cow<'a, str>),
    /// Its elements.
    Array(Vec<Node<'a>>),
    /// In the order of the text, double keys included.
    Object(Vec<Member<'a>>),
}

/// A member of an object.
#[derive(Clone, Debug)]
pub struct Member<'a> {
    /// Where the key begins.
    pub at: usize,
    /// The key, without its escapes.
    pub key: Cow<'a, str>,
    /// The value.
    pub value: Node<'a>,
}

/// How many arrays and objects of a JSON text are within each other at most, without reading it.
pub fn depth(json: &[u8]) -> usize {
    let (mut depth, mut deepest) = (0_usize, 0);
    let (mut in_text, mut is_escaped) = (false, false);
    for byte in json {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if in_text => is_escaped = true,
            b'"' => in_text = !in_text,
            b'[' | b'{' if !in_text => {
                depth = depth.saturating_add(1);
                deepest = depth.max(deepest);
            }
            b']' | b'}' if !in_text => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

/// Equal JSON is equal wherever it stands.
impl PartialEq for Node<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.kind == other.kind
    }
}

impl PartialEq for Member<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key && self.value == other.value
    }
}

impl<'a> Node<'a> {
    /// `null`
    pub fn null() -> Self {
        Kind::Null.into()
    }

    /// A string.
    pub fn text(text: impl Into<Cow<'a, str>>) -> Self {
        Kind::Text(text.into()).into()
    }

    /// The shortest digits that mean this number. They mean the same single when a single is read from them.
    pub fn number(number: impl ToString) -> Self {
        Kind::Number(Cow::Owned(number.to_string())).into()
    }

    /// An array.
    pub fn array(nodes: Vec<Self>) -> Self {
        Kind::Array(nodes).into()
    }

    /// An object.
    pub fn object(members: Vec<Member<'a>>) -> Self {
        Kind::Object(members).into()
    }

    /// `{key: value}`
    pub fn pair(key: &'a str, value: Self) -> Self {
        Self::object(vec![Member::new(key, value)])
    }

    /// The text of a string.
    pub fn as_text(&self) -> Option<&str> {
        match &self.kind {
            Kind::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The members of an object.
    pub fn as_object(&self) -> Option<&[Member<'a>]> {
        match &self.kind {
            Kind::Object(members) => Some(members),
            _ => None,
        }
    }

    /// The only member of an object that has one.
    pub fn as_pair(&self) -> Option<&Member<'a>> {
        match self.as_object() {
            Some([member]) => Some(member),
            _ => None,
        }
    }

    /// The first member, at any depth, that has the key of one before it in its object. Readers differ in which they take.
    pub fn repeated(&self) -> Option<&Member<'a>> {
        match &self.kind {
            Kind::Array(nodes) => nodes.iter().find_map(Self::repeated),
            Kind::Object(members) => {
                let mut keys = HashSet::with_capacity(members.len());
                members.iter().find_map(
                    |member| {
                        if keys.insert(&member.key) { member.value.repeated() } else { Some(member) }
                    },
                )
            }
            _ => None,
        }
    }

    /// What kind of JSON this is, as in "is {}".
    pub fn describe(&self) -> &'static str {
        match self.kind {
            Kind::Null => "null",
            Kind::Bool(_) => "a boolean",
            Kind::Number(_) => "a number",
            Kind::Text(_) => "a string",
            Kind::Array(_) => "an array",
            Kind::Object(_) => "an object",
        }
    }
}

impl<'a> Member<'a> {
    /// A member that was made and not read.
    pub fn new(key: impl Into<Cow<'a, str>>, value: Node<'a>) -> Self {
        Self { at: 0, key: key.into(), value }
    }
}

impl<'a> From<Kind<'a>> for Node<'a> {
    fn from(kind: Kind<'a>) -> Self {
        Self { at: 0, kind }
    }
}

/// A place in a text; both count from 1.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Ord, PartialOrd)]
pub struct Position {
    /// From 1.
    pub line: usize,
    /// In characters, not bytes.
    pub column: usize,
}

impl Position {
    /// Where the byte `at` of `text` stands; the end of the text for any later one.
    pub fn of(text: &str, at: usize) -> Self {
        Positions::new(text).at(at)
    }
}

/// Finds the positions of many offsets, going through the text once.
#[derive(Clone, Copy, Debug)]
pub struct Positions<'a> {
    text: &'a str,
    at: usize,
    position: Position,
}

impl<'a> Positions<'a> {
    /// From the beginning of `text`.
    pub fn new(text: &'a str) -> Self {
        Self { text, at: 0, position: Position { line: 1, column: 1 } }
    }

    /// Where the byte `at` stands, which must not be before the last one that was asked for.
    pub fn at(&mut self, at: usize) -> Position {
        let at = at.min(self.text.len());
        for c in self.text.get(self.at..at).unwrap_or_default().chars() {
            match c {
                '\n' => self.position = Position { line: self.position.line.saturating_add(1), column: 1 },
                _ => self.position.column = self.position.column.saturating_add(1),
            }
        }
        self.at = at;
        self.position
    }
}

/// Why a text is no JSON.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct SyntaxError {
    /// Offset in the text, in bytes.
    pub at: usize,
    /// A clause in plain words.
    pub reason: String,
}
