//! JSON to text.

use std::fmt::{self, Display, Write};

use super::{Kind, Member, Node};

/// Over several lines with an indent of two spaces, to be read; empty arrays and objects on one.
impl Display for Node<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        value(f, self, 0)
    }
}

impl Node<'_> {
    /// On one line, without a space.
    pub fn compact(&self) -> String {
        Compact(self).to_string()
    }
}

struct Compact<'a>(&'a Node<'a>);

impl Display for Compact<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0.kind {
            Kind::Array(nodes) => {
                f.write_char('[')?;
                for (i, node) in nodes.iter().enumerate() {
                    write!(f, "{}{}", if i > 0 { "," } else { "" }, Compact(node))?;
                }
                f.write_char(']')
            }
            Kind::Object(members) => {
                f.write_char('{')?;
                for (i, member) in members.iter().enumerate() {
                    f.write_str(if i > 0 { "," } else { "" })?;
                    string(f, &member.key)?;
                    write!(f, ":{}", Compact(&member.value))?;
                }
                f.write_char('}')
            }
            _ => value(f, self.0, 0),
        }
    }
}

fn value(f: &mut fmt::Formatter<'_>, node: &Node<'_>, indent: usize) -> fmt::Result {
    match &node.kind {
        Kind::Null => f.write_str("null"),
        Kind::Bool(yes) => write!(f, "{yes}"),
        Kind::Number(digits) => f.write_str(digits),
        Kind::Text(text) => string(f, text),
        Kind::Array(nodes) => array(f, nodes, indent),
        Kind::Object(members) => object(f, members, indent),
    }
}

fn array(f: &mut fmt::Formatter<'_>, nodes: &[Node<'_>], indent: usize) -> fmt::Result {
    let inner = indent.saturating_add(1);
    f.write_char('[')?;
    for (i, node) in nodes.iter().enumerate() {
        new_line(f, i > 0, inner)?;
        value(f, node, inner)?;
    }
    end(f, nodes.is_empty(), indent, ']')
}

fn object(f: &mut fmt::Formatter<'_>, members: &[Member<'_>], indent: usize) -> fmt::Result {
    let inner = indent.saturating_add(1);
    f.write_char('{')?;
    for (i, member) in members.iter().enumerate() {
        new_line(f, i > 0, inner)?;
        string(f, &member.key)?;
        f.write_str(": ")?;
        value(f, &member.value, inner)?;
    }
    end(f, members.is_empty(), indent, '}')
}

fn new_line(f: &mut fmt::Formatter<'_>, after_another: bool, indent: usize) -> fmt::Result {
    f.write_str(if after_another { ",\n" } else { "\n" })?;
    (0..indent).try_for_each(|_| f.write_str("  "))
}

fn end(f: &mut fmt::Formatter<'_>, is_empty: bool, indent: usize, bracket: char) -> fmt::Result {
    if !is_empty {
        f.write_char('\n')?;
        (0..indent).try_for_each(|_| f.write_str("  "))?;
    }
    f.write_char(bracket)
}

/// A text as JSON.
pub(super) fn quoted(text: &str) -> String {
    struct Quoted<'a>(&'a str);
    impl Display for Quoted<'_> {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            string(f, self.0)
        }
    }
    Quoted(text).to_string()
}

fn string(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    f.write_char('"')?;
    for c in text.chars() {
        match c {
            '"' => f.write_str("\\\"")?,
            '\\' => f.write_str("\\\\")?,
            '\n' => f.write_str("\\n")?,
            '\r' => f.write_str("\\r")?,
            '\t' => f.write_str("\\t")?,
            // Besides what JSON demands: characters that reorder or hide the text around them.
            c if c.is_control() || is_invisible(c) => escaped(f, c)?,
            c => f.write_char(c)?,
        }
    }
    f.write_char('"')
}

fn is_invisible(c: char) -> bool {
    matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

fn escaped(f: &mut fmt::Formatter<'_>, c: char) -> fmt::Result {
    let mut units = [0; 2];
    c.encode_utf16(&mut units).iter().try_for_each(|unit| write!(f, "\\u{unit:04x}"))
}
