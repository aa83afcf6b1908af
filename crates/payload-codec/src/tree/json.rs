//! A tree as JSON, for show.

use std::collections::HashMap;

use base64::{Engine, prelude::BASE64_STANDARD};

use super::{Field, Reading, Tree, readings};
use crate::{
    json::{Kind, Member, Node},
    wire::Width,
};

/// Whole numbers up to this are exact for every reader of JSON.
const EXACT: u64 = 1 << 53;

pub(super) fn tree<'t>(tree: &Tree<'t>) -> Node<'t> {
    let mut members = fields(&tree.fields);
    if !tree.rest.is_empty() {
        let rest = if tree.truncated { Node::number(tree.rest.len()) } else { bytes(tree.rest) };
        members.push(Member::new(if tree.truncated { "#truncated" } else { "#rest" }, rest));
    }
    Node::object(members)
}

fn fields<'t>(fields: &[Field<'t>]) -> Vec<Member<'t>> {
    let mut slots: HashMap<u32, usize> = HashMap::new();
    let mut numbers: Vec<(u32, Vec<Node<'t>>)> = Vec::new();
    for field in fields {
        let slot = *slots.entry(field.number).or_insert(numbers.len());
        let node = field.readings.first().map_or_else(Node::null, reading);
        match numbers.get_mut(slot) {
            Some((_, nodes)) => nodes.push(node),
            None => numbers.push((field.number, vec![node])),
        }
    }
    numbers.into_iter().map(|(number, nodes)| Member::new(number.to_string(), one_or_all(nodes))).collect()
}

fn one_or_all(mut nodes: Vec<Node<'_>>) -> Node<'_> {
    match nodes.pop() {
        Some(only) if nodes.is_empty() => only,
        last => {
            nodes.extend(last);
            Node::array(nodes)
        }
    }
}

fn reading<'t>(reading: &Reading<'t>) -> Node<'t> {
    match reading {
        Reading::Unsigned(number) => unsigned(*number),
        Reading::Signed(number) | Reading::Zigzag(number) if number.unsigned_abs() > EXACT => {
            Node::text(number.to_string())
        }
        Reading::Signed(number) | Reading::Zigzag(number) => Node::number(number),
        Reading::Bool(yes) => Kind::Bool(*yes).into(),
        Reading::Time(_, time) => Node::text(time.to_string()),
        Reading::Float(number) if number.is_finite() => Node::number(format!("{number:?}")),
        Reading::Double(number) if number.is_finite() => Node::number(format!("{number:?}")),
        Reading::Float(number) => Node::text(number.to_string()),
        Reading::Double(number) => Node::text(number.to_string()),
        Reading::Text(text) => Node::text(*text),
        Reading::Message(inner) => Node::object(fields(inner)),
        Reading::Packed { width, elements, n_elements } => {
            let mut nodes: Vec<_> = elements.iter().map(|bits| element(*bits, *width)).collect();
            if *n_elements > elements.len() {
                nodes.push(Node::text(format!("… {n_elements} in all")));
            }
            Node::array(nodes)
        }
        Reading::Bytes(span) => bytes(span),
    }
}

fn element<'t>(bits: u64, width: Width) -> Node<'t> {
    let readings = match width {
        Width::Varint => readings::varint(bits),
        Width::Fixed32 => readings::fixed32(bits as u32),
        Width::Fixed64 => readings::fixed64(bits),
    };
    readings.first().map_or_else(Node::null, reading)
}

fn unsigned<'t>(number: u64) -> Node<'t> {
    if number > EXACT { Node::text(number.to_string()) } else { Node::number(number) }
}

fn bytes<'t>(span: &[u8]) -> Node<'t> {
    Node::pair("bytes", Node::text(BASE64_STANDARD.encode(span)))
}
