//! YAML: one document, with the types of JSON.
//!
//! An alias is shown as what it stands for, within the limits, so that no few lines become a billion. Tags other than those
//! of the core schema are named and not followed.

use std::{borrow::Cow, collections::HashMap};

use saphyr_parser::{Event, Parser, ScalarStyle, Tag};

use super::{
    Unreadable,
    budget::{Budget, float},
    malformed,
};
use crate::{
    json::{Kind, Member, Node},
    limits::Limits,
};

/// The largest document that is read, in bytes: its parser takes much longer than that of any other format.
const MAX_BYTES: usize = 1 << 20;

/// A document that says it is one. What else could be YAML is more likely text.
pub(super) fn looks_so(bytes: &[u8]) -> bool {
    bytes.starts_with(b"---\n") || bytes.starts_with(b"---\r\n") || bytes.starts_with(b"%YAML ")
}

pub(super) fn read(bytes: &[u8], limits: &Limits) -> Result<Node<'static>, Unreadable> {
    if bytes.len() > MAX_BYTES {
        return Err(Unreadable::TooMuch);
    }
    let Ok(text) = std::str::from_utf8(bytes) else { return malformed("it is not UTF-8") };
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let begun = begun(text);
    let mut reader = Reader {
        parser: Parser::new_from_str(&begun),
        n_lines_before: begun.lines().count().saturating_sub(text.lines().count()),
        anchors: HashMap::new(),
        budget: Budget::new(bytes.len(), limits),
    };
    reader.document()
}

/// The document with its beginning: in one that does not say where that is, the parser goes through all keys in keys before it
/// names the first, which takes the square of their number.
fn begun(text: &str) -> Cow<'_, str> {
    let is_content = |line: &&str| !line.trim().is_empty() && !line.trim_start().starts_with('#');
    let says_so = text.lines().find(is_content).is_some_and(|line| line.starts_with("---") || line.starts_with('%'));
    if says_so { Cow::Borrowed(text) } else { Cow::Owned(format!("---\n{text}")) }
}

struct Reader<'a> {
    parser: Parser<'a, saphyr_parser::StrInput<'a>>,
    /// Lines that are not the document's.
    n_lines_before: usize,
    /// What an alias stands for.
    anchors: HashMap<usize, Node<'static>>,
    budget: Budget,
}

impl<'a> Reader<'a> {
    fn document(&mut self) -> Result<Node<'static>, Unreadable> {
        loop {
            match self.next()? {
                Event::Nothing | Event::StreamStart | Event::DocumentStart(_) => {}
                Event::StreamEnd => return Ok(Node::null()),
                event => {
                    let node = self.node(event)?;
                    return self.end().map(|()| node);
                }
            }
        }
    }

    fn end(&mut self) -> Result<(), Unreadable> {
        loop {
            match self.next()? {
                Event::StreamEnd => return Ok(()),
                Event::DocumentStart(_) => return malformed("there are several documents"),
                _ => {}
            }
        }
    }

    fn next(&mut self) -> Result<Event<'a>, Unreadable> {
        match self.parser.next_event() {
            Some(Ok((event, _))) => Ok(event),
            Some(Err(error)) => {
                let line = error.marker().line().saturating_sub(self.n_lines_before);
                malformed(format!("{} at line {line} column {}", error.info(), error.marker().col().saturating_add(1)))
            }
            None => Ok(Event::StreamEnd),
        }
    }

    fn node(&mut self, event: Event<'a>) -> Result<Node<'static>, Unreadable> {
        self.budget.value()?;
        if let Event::Scalar(_, _, _, Some(tag))
        | Event::SequenceStart(_, Some(tag))
        | Event::MappingStart(_, Some(tag)) = &event
        {
            // What a handle stands for is said once, for any number of values.
            self.budget.content(tag.handle.len().saturating_add(tag.suffix.len()))?;
        }
        let (anchor, tag, node) = match event {
            Event::Alias(anchor) => return self.alias(anchor),
            Event::Scalar(text, style, anchor, tag) => {
                self.budget.content(text.len())?;
                let is_string = tag.as_ref().is_some_and(|tag| is_core(tag, "str"));
                let is_plain = style == ScalarStyle::Plain && !is_string;
                let node = if is_plain { plain(&text) } else { Node::text(text.into_owned()) };
                (anchor, tag, node)
            }
            Event::SequenceStart(anchor, tag) => (anchor, tag, self.sequence()?),
            Event::MappingStart(anchor, tag) => (anchor, tag, self.mapping()?),
            _ => return malformed("a value was expected"),
        };
        let node = match tag.filter(|tag| !CORE.iter().any(|suffix| is_core(tag, suffix))) {
            Some(tag) => tagged(&tag, node),
            None => node,
        };
        if anchor > 0 {
            count(&node, &mut self.budget)?;
            self.anchors.insert(anchor, node.clone());
        }
        Ok(node)
    }

    /// What it stands for is counted each time that it is, and once where it is kept.
    fn alias(&mut self, anchor: usize) -> Result<Node<'static>, Unreadable> {
        let Some(node) = self.anchors.get(&anchor) else {
            return Ok(Node::pair("#reference", Node::text("a value around this one")));
        };
        count(node, &mut self.budget)?;
        Ok(node.clone())
    }

    fn sequence(&mut self) -> Result<Node<'static>, Unreadable> {
        self.budget.enter()?;
        let mut nodes = Vec::new();
        loop {
            match self.next()? {
                Event::SequenceEnd => break,
                event => nodes.push(self.node(event)?),
            }
        }
        self.budget.leave();
        Ok(Node::array(nodes))
    }

    fn mapping(&mut self) -> Result<Node<'static>, Unreadable> {
        self.budget.enter()?;
        let mut members = Vec::new();
        loop {
            let name = match self.next()? {
                Event::MappingEnd => break,
                event => self.node(event)?,
            };
            let (name, event) = (self.budget.key(&name)?, self.next()?);
            members.push(Member::new(name, self.node(event)?));
        }
        self.budget.leave();
        Ok(Node::object(members))
    }
}

fn count(node: &Node<'_>, budget: &mut Budget) -> Result<(), Unreadable> {
    budget.value()?;
    match &node.kind {
        Kind::Text(text) => budget.content(text.len()),
        Kind::Number(digits) => budget.content(digits.len()),
        Kind::Array(nodes) => {
            budget.enter()?;
            nodes.iter().try_for_each(|node| count(node, budget))?;
            budget.leave();
            Ok(())
        }
        Kind::Object(members) => {
            budget.enter()?;
            for member in members {
                budget.content(member.key.len())?;
                count(&member.value, budget)?;
            }
            budget.leave();
            Ok(())
        }
        Kind::Null | Kind::Bool(_) => Ok(()),
    }
}

/// What the core schema and its predecessor have; they say nothing that JSON does not.
const CORE: [&str; 12] =
    ["str", "int", "float", "bool", "null", "seq", "map", "binary", "timestamp", "omap", "set", "pairs"];

fn is_core(tag: &Tag, suffix: &str) -> bool {
    tag.handle == "tag:yaml.org,2002:" && tag.suffix == suffix
}

fn tagged(tag: &Tag, node: Node<'static>) -> Node<'static> {
    let name = format!("{}{}", tag.handle, tag.suffix);
    Node::object(vec![Member::new("#class", Node::text(name)), Member::new("value", node)])
}

/// A scalar without quotes, by the core schema of YAML 1.2.
fn plain(text: &str) -> Node<'static> {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Node::null(),
        "true" | "True" | "TRUE" => return Kind::Bool(true).into(),
        "false" | "False" | "FALSE" => return Kind::Bool(false).into(),
        ".inf" | ".Inf" | ".INF" | "+.inf" => return float(f64::INFINITY),
        "-.inf" | "-.Inf" | "-.INF" => return float(f64::NEG_INFINITY),
        ".nan" | ".NaN" | ".NAN" => return float(f64::NAN),
        _ => {}
    }
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    if digits.starts_with(|c: char| c.is_ascii_digit() || c == '.') && digits.len() <= 40 {
        if let Ok(number) = text.parse::<i128>() {
            return Node::number(number);
        }
        let radix = [("0x", 16), ("0o", 8)];
        let of_radix =
            radix.iter().find_map(|(prefix, radix)| i128::from_str_radix(text.strip_prefix(prefix)?, *radix).ok());
        if let Some(number) = of_radix {
            return Node::number(number);
        }
        let is_float = digits.bytes().all(|byte| byte.is_ascii_digit() || b".eE+-".contains(&byte));
        if let Some(number) = text.parse::<f64>().ok().filter(|number| is_float && number.is_finite()) {
            return float(number);
        }
    }
    Node::text(text.to_owned())
}
