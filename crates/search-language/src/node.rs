//! A search as it was read, and the way back to its text.

use std::{fmt, ops::Range};

/// A part of a search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    pub kind: Kind,
    /// Its bytes in the text, with its minus or brackets.
    pub span: Range<usize>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Each of them; all there is where there are none.
    All(Vec<Node>),
    /// One of them at least.
    Any(Vec<Node>),
    Not(Box<Node>),
    Term(Term),
}

/// What something is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Term {
    /// The field, as it is in the table, with the path behind it; `None` for a word.
    pub field: Option<String>,
    /// One of these.
    pub values: Vec<Value>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Value {
    pub comparison: Comparison,
    pub text: String,
    pub is_quoted: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    Is,
    Above,
    AtLeast,
    Below,
    AtMost,
}

impl Comparison {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Is => "",
            Self::Above => ">",
            Self::AtLeast => ">=",
            Self::Below => "<",
            Self::AtMost => "<=",
        }
    }

    /// The comparison that a value begins with, and its length.
    pub(crate) fn read(text: &str) -> Self {
        let all = [Self::AtLeast, Self::AtMost, Self::Above, Self::Below];
        all.into_iter().find(|one| text.starts_with(one.as_str())).unwrap_or(Self::Is)
    }
}

impl Node {
    /// What all of it consists of: each of these has to hold.
    pub fn parts(&self) -> &[Self] {
        match &self.kind {
            Kind::All(parts) => parts,
            _ => std::slice::from_ref(self),
        }
    }
}

impl fmt::Display for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            Kind::All(parts) => join(f, parts, " "),
            Kind::Any(parts) => join(f, parts, " OR "),
            Kind::Not(part) => {
                f.write_str("-")?;
                part.within(f)
            }
            Kind::Term(term) => term.fmt(f),
        }
    }
}

impl Node {
    /// With brackets where it has several parts.
    fn within(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            Kind::All(_) | Kind::Any(_) => write!(f, "({self})"),
            Kind::Not(_) | Kind::Term(_) => fmt::Display::fmt(self, f),
        }
    }
}

fn join(f: &mut fmt::Formatter<'_>, parts: &[Node], between: &str) -> fmt::Result {
    for (n, part) in parts.iter().enumerate() {
        f.write_str(if n == 0 { "" } else { between })?;
        part.within(f)?;
    }
    Ok(())
}

impl fmt::Display for Term {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(field) = &self.field {
            write!(f, "{field}:")?;
        }
        for (n, value) in self.values.iter().enumerate() {
            f.write_str(if n == 0 { "" } else { "," })?;
            value.fmt(f)?;
        }
        Ok(())
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.comparison.as_str())?;
        if self.is_quoted { f.write_str(&quoted(&self.text)) } else { f.write_str(&self.text) }
    }
}

/// A text in quotes.
pub(crate) fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}
