//! The language, by examples and at random.

mod completion;
mod hostile;
mod language;
mod mistakes;

use crate::{Field, Kind, Language, Node};

fn number(value: &str) -> Result<(), String> {
    value.parse::<f64>().map(drop).map_err(|_| "it takes a number".to_owned())
}

fn status(value: &str) -> Result<(), String> {
    let is_one = ["open", "retried"].contains(&value);
    if is_one { Ok(()) } else { Err("it takes open or retried".to_owned()) }
}

const fn field(name: &'static str, check: fn(&str) -> Result<(), String>) -> Field {
    Field { name, is_path: false, is_ordered: false, is_list: true, check }
}

const FIELDS: &[Field] = &[
    field("queue", |_| Ok(())),
    field("status", status),
    Field { is_ordered: true, is_list: false, ..field("attempts", number) },
    Field { is_list: false, ..field("error", |_| Ok(())) },
    Field { is_path: true, is_ordered: true, ..field("payload", |_| Ok(())) },
];

const LANGUAGE: Language = Language::new(FIELDS);

/// The same without places.
fn bare(node: &Node) -> Node {
    let all = |parts: &Vec<Node>| parts.iter().map(bare).collect();
    let kind = match &node.kind {
        Kind::All(parts) => Kind::All(all(parts)),
        Kind::Any(parts) => Kind::Any(all(parts)),
        Kind::Not(part) => Kind::Not(Box::new(bare(part))),
        Kind::Term(term) => Kind::Term(term.clone()),
    };
    Node { kind, span: 0..0 }
}
