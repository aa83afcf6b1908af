//! <https://github.com/msgpack/msgpack/blob/master/spec.md>

use rmpv::Value;

use super::{
    Codec,
    marks::{self, Number, Wrong},
};
use crate::{
    escape,
    json::{Kind, Member, Node},
};

pub(super) struct MessagePack;

impl Codec for MessagePack {
    type Value = Value;

    /// Every marker is a value; what follows it inside is skipped.
    fn count(body: &[u8]) -> usize {
        let (mut at, mut n_values) = (0_usize, 0_usize);
        while let Some(&marker) = body.get(at) {
            let after = at.saturating_add(1);
            at = after.saturating_add(payload_len(marker, body.get(after..).unwrap_or_default()));
            n_values = n_values.saturating_add(1);
        }
        n_values
    }

    fn read(body: &[u8], max_depth: usize) -> Result<(Value, usize), String> {
        let mut rest = body;
        // The library counts each container and each value in it as a level, and the leaf as well.
        let max_depth = max_depth.saturating_mul(2).saturating_add(3);
        let value = rmpv::decode::read_value_with_max_depth(&mut rest, max_depth).map_err(|e| e.to_string())?;
        Ok((value, body.len().saturating_sub(rest.len())))
    }

    /// Always doubles, since JSON does not tell them from singles.
    fn write(value: &Value) -> Vec<u8> {
        let mut bytes = Vec::new();
        match rmpv::encode::write_value(&mut bytes, &in_doubles(value)) {
            Ok(()) => bytes,
            Err(_) => Vec::new(),
        }
    }

    fn to_json(value: &Value) -> Node<'static> {
        match value {
            Value::Nil => Node::null(),
            Value::Boolean(yes) => Kind::Bool(*yes).into(),
            Value::Integer(number) => Node::number(number),
            Value::F32(number) if number.is_finite() => Node::number(format!("{number:?}")),
            Value::F32(number) => marks::float((*number).into()),
            Value::F64(number) => marks::float(*number),
            Value::String(text) => match text.as_str() {
                Some(text) => Node::text(text.to_owned()),
                None => escape::escaped(text.as_bytes()),
            },
            Value::Binary(bytes) => marks::bytes(bytes),
            Value::Array(values) => Node::array(values.iter().map(Self::to_json).collect()),
            Value::Map(pairs) => {
                let members =
                    pairs.iter().map(|(key, value)| Member::new(marks::key(&Self::to_json(key)), Self::to_json(value)));
                Node::object(members.collect())
            }
            Value::Ext(kind, bytes) => {
                let parts = vec![
                    Member::new("type", Node::number(kind)),
                    Member::new("base64", Node::text(base64::Engine::encode(&base64::prelude::BASE64_STANDARD, bytes))),
                ];
                Node::pair("#ext", Node::object(parts))
            }
        }
    }

    fn from_json(node: &Node<'_>) -> Result<Value, Wrong> {
        Ok(match &node.kind {
            Kind::Null => Value::Nil,
            Kind::Bool(yes) => Value::Boolean(*yes),
            Kind::Number(digits) => match marks::number(digits, node.at)? {
                Number::Double(number) => Value::F64(number),
                Number::Integer(number) => {
                    let unsigned = u64::try_from(number).map(Value::from);
                    unsigned
                        .or_else(|_| i64::try_from(number).map(Value::from))
                        .map_err(|_| (node.at, "MessagePack has no larger integers than 64 bits".to_owned()))?
                }
            },
            Kind::Text(text) => Value::from(&**text),
            Kind::Array(nodes) => Value::Array(nodes.iter().map(Self::from_json).collect::<Result<_, _>>()?),
            Kind::Object(members) => match node.as_pair().map(marked).transpose()?.flatten() {
                Some(value) => value,
                None => {
                    let pair = |member: &Member<'_>| Ok((Value::from(&*member.key), Self::from_json(&member.value)?));
                    Value::Map(marks::unique(members)?.iter().map(pair).collect::<Result<_, Wrong>>()?)
                }
            },
        })
    }
}

fn marked(member: &Member<'_>) -> Result<Option<Value>, Wrong> {
    let node = &member.value;
    Ok(Some(match &*member.key {
        "#base64" => Value::Binary(marks::read_bytes(node)?),
        "#float" => Value::F64(marks::read_float(node)?),
        // The library would write bytes in its place.
        "#escaped" => return Err((member.at, "a string that is not UTF-8 cannot be written".to_owned())),
        "#ext" => {
            let [kind, bytes] = marks::two(node, "type", "base64")?;
            Value::Ext(marks::integer(kind)?, marks::read_bytes(bytes)?)
        }
        _ => return Ok(None),
    }))
}

fn in_doubles(value: &Value) -> Value {
    match value {
        // By its shortest digits, as JSON has it.
        Value::F32(number) => Value::F64(format!("{number:?}").parse().unwrap_or_else(|_| (*number).into())),
        Value::Array(values) => Value::Array(values.iter().map(in_doubles).collect()),
        Value::Map(pairs) => {
            Value::Map(pairs.iter().map(|(key, value)| (in_doubles(key), in_doubles(value))).collect())
        }
        other => other.clone(),
    }
}

/// How many bytes behind a marker are no markers.
fn payload_len(marker: u8, after: &[u8]) -> usize {
    let number = |n_bytes: usize| {
        let digits = after.get(..n_bytes).unwrap_or_default();
        digits.iter().fold(0_usize, |number, byte| (number << 8) | usize::from(*byte)).saturating_add(n_bytes)
    };
    match marker {
        0xa0..=0xbf => usize::from(marker & 0x1f),
        0xc4 | 0xd9 => number(1),
        0xc5 | 0xda => number(2),
        0xc6 | 0xdb => number(4),
        0xc7 => number(1).saturating_add(1),
        0xc8 => number(2).saturating_add(1),
        0xc9 => number(4).saturating_add(1),
        0xcc | 0xd0 => 1,
        0xcd | 0xd1 | 0xd4 | 0xdc | 0xde => 2,
        0xd5 => 3,
        0xca | 0xce | 0xd2 | 0xdd | 0xdf => 4,
        0xd6 => 5,
        0xcb | 0xcf | 0xd3 => 8,
        0xd7 => 9,
        0xd8 => 17,
        _ => 0,
    }
}
