//! What the wire alone says, as JSON and back.

use base64::{Engine, prelude::BASE64_STANDARD};

use super::{encoded::Encoded, model::Raw};
use crate::{
    escape,
    json::{Kind, Member, Node},
};

/// `{"varint": "300"}`
pub(super) fn node<'t>(raw: &Raw<'t>) -> Node<'t> {
    let (name, value) = name_and_value(raw);
    Node::pair(name.strip_prefix('#').unwrap_or(name), value)
}

/// `{"#varint": "300"}`, in the place of a value.
pub(super) fn node_in_place<'t>(raw: &Raw<'t>) -> Node<'t> {
    let (name, value) = name_and_value(raw);
    Node::pair(name, value)
}

fn name_and_value<'t>(raw: &Raw<'t>) -> (&'static str, Node<'t>) {
    match raw {
        Raw::Varint(bits) => ("#varint", Node::text(bits.to_string())),
        Raw::Fixed32(bits) => ("#fixed32", Node::text(bits.to_string())),
        Raw::Fixed64(bits) => ("#fixed64", Node::text(bits.to_string())),
        Raw::Bytes(bytes) => ("#bytes", Node::text(BASE64_STANDARD.encode(bytes))),
        Raw::Group(fields) => ("#group", group(fields)),
    }
}

/// Its fields as unknown ones, in the order in which their numbers first came.
fn group<'t>(fields: &[(u32, Raw<'t>)]) -> Node<'t> {
    let mut numbers: Vec<(u32, Vec<&Raw<'t>>)> = Vec::new();
    let mut slots = std::collections::HashMap::new();
    for (number, raw) in fields {
        let slot = *slots.entry(*number).or_insert(numbers.len());
        match numbers.get_mut(slot) {
            Some((_, values)) => values.push(raw),
            None => numbers.push((*number, vec![raw])),
        }
    }
    Node::object(numbers.iter().map(|(number, values)| member(*number, values.iter().copied())).collect())
}

/// `"#17": …`; several values are an array.
pub(super) fn member<'t, 'r>(number: u32, values: impl ExactSizeIterator<Item = &'r Raw<'t>>) -> Member<'t>
where
    't: 'r,
{
    let mut nodes: Vec<Node<'t>> = values.map(node).collect();
    let value = match nodes.pop() {
        Some(only) if nodes.is_empty() => only,
        last => {
            nodes.extend(last);
            Node::array(nodes)
        }
    };
    Member::new(format!("#{number}"), value)
}

/// Reads `{"varint": …}` and the others, with or without the `#`; `None` if it is nothing like that.
pub(super) fn read(member: &Member<'_>) -> Option<Result<Encoded, String>> {
    let name = member.key.strip_prefix('#').unwrap_or(&member.key);
    let value = &member.value;
    Some(match name {
        "varint" => unsigned(value, u64::MAX).map(Encoded::Varint),
        "fixed64" => unsigned(value, u64::MAX).map(Encoded::Fixed64),
        "fixed32" => unsigned(value, u32::MAX.into())
            .and_then(|bits| u32::try_from(bits).map_err(|e| e.to_string()))
            .map(Encoded::Fixed32),
        "bytes" => base64(value).map(Encoded::Len),
        "escaped" => escape::unescaped(value).map(Encoded::Len),
        _ => return None,
    })
}

fn unsigned(node: &Node<'_>, largest: u64) -> Result<u64, String> {
    let digits = match &node.kind {
        Kind::Number(digits) | Kind::Text(digits) => digits.parse().ok(),
        _ => None,
    };
    digits.filter(|number| *number <= largest).ok_or_else(|| format!("this must be a whole number from 0 to {largest}"))
}

/// Standard or URL-safe, padded or not.
pub(super) fn base64(node: &Node<'_>) -> Result<Vec<u8>, String> {
    use base64::{
        alphabet,
        engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
    };
    let text =
        node.as_text().ok_or_else(|| format!("bytes are a string of base64, and this is {}", node.describe()))?;
    let alphabet = if text.contains(['-', '_']) { alphabet::URL_SAFE } else { alphabet::STANDARD };
    let config = GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
    GeneralPurpose::new(&alphabet, config).decode(text).map_err(|e| format!("this is no base64: {e}"))
}
