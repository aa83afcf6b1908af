//! RFC 8949.

use ciborium::{Value, value::Integer};

use super::{
    Codec,
    marks::{self, Number, Wrong},
};
use crate::json::{Kind, Member, Node};

pub(super) struct Cbor;

impl Codec for Cbor {
    type Value = Value;

    /// Every head is a value; the text or the bytes behind it are skipped.
    fn count(body: &[u8]) -> usize {
        let (mut at, mut n_values) = (0_usize, 0_usize);
        while let Some(&head) = body.get(at) {
            let after = at.saturating_add(1);
            at = after.saturating_add(payload_len(head, body.get(after..).unwrap_or_default()));
            n_values = n_values.saturating_add(1);
        }
        n_values
    }

    fn read(body: &[u8], max_depth: usize) -> Result<(Value, usize), String> {
        let mut rest = body;
        let value = ciborium::de::from_reader_with_recursion_limit(&mut rest, max_depth).map_err(|e| e.to_string())?;
        Ok((value, body.len().saturating_sub(rest.len())))
    }

    fn write(value: &Value) -> Vec<u8> {
        let mut bytes = Vec::new();
        match ciborium::into_writer(value, &mut bytes) {
            Ok(()) => bytes,
            Err(_) => Vec::new(),
        }
    }

    fn to_json(value: &Value) -> Node<'static> {
        match value {
            Value::Bool(yes) => Kind::Bool(*yes).into(),
            Value::Integer(number) => Node::number(i128::from(*number)),
            Value::Float(number) => marks::float(*number),
            Value::Text(text) => Node::text(text.clone()),
            Value::Bytes(bytes) => marks::bytes(bytes),
            Value::Array(values) => Node::array(values.iter().map(Self::to_json).collect()),
            Value::Map(pairs) => {
                let members =
                    pairs.iter().map(|(key, value)| Member::new(marks::key(&Self::to_json(key)), Self::to_json(value)));
                Node::object(members.collect())
            }
            Value::Tag(tag, value) => {
                let parts = vec![Member::new("tag", Node::number(tag)), Member::new("value", Self::to_json(value))];
                Node::pair("#tag", Node::object(parts))
            }
            // Null, and whatever a later version of the library knows.
            _ => Node::null(),
        }
    }

    fn from_json(node: &Node<'_>) -> Result<Value, Wrong> {
        Ok(match &node.kind {
            Kind::Null => Value::Null,
            Kind::Bool(yes) => Value::Bool(*yes),
            Kind::Number(digits) => match marks::number(digits, node.at)? {
                Number::Double(number) => Value::Float(number),
                Number::Integer(number) => {
                    let number = Integer::try_from(number);
                    number
                        .map(Value::Integer)
                        .map_err(|_| (node.at, "CBOR has no larger integers than 64 bits and a sign".to_owned()))?
                }
            },
            Kind::Text(text) => Value::Text(text.clone().into_owned()),
            Kind::Array(nodes) => Value::Array(nodes.iter().map(Self::from_json).collect::<Result<_, _>>()?),
            Kind::Object(members) => match node.as_pair().map(marked).transpose()?.flatten() {
                Some(value) => value,
                None => {
                    let pair = |member: &Member<'_>| {
                        Ok((Value::Text(member.key.clone().into_owned()), Self::from_json(&member.value)?))
                    };
                    Value::Map(marks::unique(members)?.iter().map(pair).collect::<Result<_, Wrong>>()?)
                }
            },
        })
    }
}

fn marked(member: &Member<'_>) -> Result<Option<Value>, Wrong> {
    let node = &member.value;
    Ok(Some(match &*member.key {
        "#base64" => Value::Bytes(marks::read_bytes(node)?),
        "#float" => Value::Float(marks::read_float(node)?),
        "#tag" => {
            let [tag, value] = marks::two(node, "tag", "value")?;
            Value::Tag(marks::integer(tag)?, Box::new(Cbor::from_json(value)?))
        }
        _ => return Ok(None),
    }))
}

/// How many bytes behind a head are no heads.
fn payload_len(head: u8, after: &[u8]) -> usize {
    let n_bytes = match head & 0x1f {
        24 => 1_usize,
        25 => 2,
        26 => 4,
        27 => 8,
        _ => 0,
    };
    let is_text_or_bytes = matches!(head >> 5, 2 | 3);
    match (is_text_or_bytes, head & 0x1f) {
        (true, len @ 0..=23) => usize::from(len),
        (true, 24..=27) => {
            let digits = after.get(..n_bytes).unwrap_or_default();
            digits.iter().fold(0_usize, |number, byte| (number << 8) | usize::from(*byte)).saturating_add(n_bytes)
        }
        _ => n_bytes,
    }
}
