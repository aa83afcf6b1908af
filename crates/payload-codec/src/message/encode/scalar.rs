//! Values of JSON as single values of a declared type.

use prost_reflect::{EnumDescriptor, Kind};

use super::{message::shown, suggest::suggestion};
use crate::{
    json::{self, Node},
    message::{
        declaration::{has_value, kind_name},
        encoded::Encoded,
        raw_json,
        scalar::{NAN_32, NAN_64},
    },
    wire::varint::zigzag,
};

/// The largest whole number up to which every one is a double.
const EXACT_DOUBLES: f64 = 9_007_199_254_740_992.0;

type Outcome = Result<Encoded, String>;

/// Encodes a value of a kind that is no message.
pub(super) fn encode(kind: &Kind, node: &Node<'_>) -> Outcome {
    match kind {
        Kind::Bool => boolean(node),
        Kind::String => text(node),
        Kind::Bytes => raw_json::base64(node).map(Encoded::Len),
        Kind::Double => double(node).map(|number| Encoded::Fixed64(double_bits(number))),
        Kind::Float => float(node).map(Encoded::Fixed32),
        Kind::Enum(descriptor) => enumeration(descriptor, node),
        kind => integer(kind, node),
    }
}

/// The key of a map, which JSON always has as a string.
pub(super) fn map_key(kind: &Kind, key: &str) -> Outcome {
    match (kind, key) {
        (Kind::Bool, "true") => Ok(Encoded::Varint(1)),
        (Kind::Bool, "false") => Ok(Encoded::Varint(0)),
        (Kind::Bool, _) => Err(r#"the keys of this map are "true" and "false""#.to_owned()),
        (kind, key) => encode(kind, &Node::text(key)),
    }
}

fn boolean(node: &Node<'_>) -> Outcome {
    match node.kind {
        json::Kind::Bool(yes) => Ok(Encoded::Varint(yes.into())),
        _ => Err(format!("a bool is true or false, and this is {}", node.describe())),
    }
}

fn text(node: &Node<'_>) -> Outcome {
    let text = node.as_text().ok_or_else(|| format!("a string was expected, and this is {}", node.describe()))?;
    Ok(Encoded::Len(text.as_bytes().to_vec()))
}

fn integer(kind: &Kind, node: &Node<'_>) -> Outcome {
    let name = kind_name(kind);
    let number = whole_number(node).map_err(|reason| format!("{name} is a whole number, and {reason}"))?;
    let (smallest, largest) = match kind {
        Kind::Int32 | Kind::Sint32 | Kind::Sfixed32 => (i32::MIN.into(), i32::MAX.into()),
        Kind::Uint32 | Kind::Fixed32 => (0, u32::MAX.into()),
        Kind::Uint64 | Kind::Fixed64 => (0, u64::MAX.into()),
        _ => (i128::from(i64::MIN), i128::from(i64::MAX)),
    };
    let out_of_range = || format!("{name} reaches from {smallest} to {largest}");
    if !(smallest..=largest).contains(&number) {
        return Err(out_of_range());
    }
    let signed = i64::try_from(number).ok();
    let bits = u64::try_from(number).ok().or_else(|| signed.map(i64::cast_unsigned)).ok_or_else(out_of_range)?;
    Ok(match kind {
        Kind::Sint32 | Kind::Sint64 => Encoded::Varint(zigzag(signed.unwrap_or_default())),
        // The range has been checked; of a negative number the low half is its bits.
        Kind::Fixed32 | Kind::Sfixed32 => Encoded::Fixed32(bits as u32),
        Kind::Fixed64 | Kind::Sfixed64 => Encoded::Fixed64(bits),
        _ => Encoded::Varint(bits),
    })
}

/// A number or a string of one, also as `1e3` or `1.0`; else what it is instead.
fn whole_number(node: &Node<'_>) -> Result<i128, String> {
    let digits = match &node.kind {
        json::Kind::Number(digits) => digits,
        json::Kind::Text(text) if is_number(text) => text,
        json::Kind::Text(text) => return Err(format!("{:?} is none", shown(text))),
        _ => return Err(format!("this is {}", node.describe())),
    };
    if !digits.contains(['.', 'e', 'E']) {
        // A number too long for this is out of every range.
        return Ok(digits.parse().unwrap_or(i128::MAX));
    }
    let number: f64 = digits.parse().map_err(|_| format!("{digits} is none"))?;
    if number.fract() != 0.0 {
        return Err(format!("{} is none", shown(digits)));
    }
    // Larger ones would not be exact; as `i128` saturates, they are out of range or refused here.
    if number.abs() > EXACT_DOUBLES {
        Err("this one is better written with all its digits".to_owned())
    } else {
        Ok(number as i128)
    }
}

/// Whether a text is a number as JSON writes it.
fn is_number(text: &str) -> bool {
    matches!(json::read(text, 1, 0), Ok(Node { kind: json::Kind::Number(digits), .. }) if digits.len() == text.len())
}

fn double(node: &Node<'_>) -> Result<f64, String> {
    let number: f64 = floating(node)?.parse().map_err(|_| "this is no number".to_owned())?;
    let is_meant = number.is_finite() || node.as_text().is_some_and(|text| !is_number(text));
    if is_meant { Ok(number) } else { Err("this is larger than any double".to_owned()) }
}

fn float(node: &Node<'_>) -> Result<u32, String> {
    let number: f32 = floating(node)?.parse().map_err(|_| "this is no number".to_owned())?;
    if number.is_nan() {
        return Ok(NAN_32);
    }
    let is_meant = number.is_finite() || node.as_text().is_some_and(|text| !is_number(text));
    if is_meant { Ok(number.to_bits()) } else { Err("this is larger than any float".to_owned()) }
}

/// Digits that Rust reads, or its words for what is not finite.
fn floating<'n>(node: &'n Node<'_>) -> Result<&'n str, String> {
    match &node.kind {
        json::Kind::Number(digits) => Ok(digits),
        json::Kind::Text(text) if is_number(text) => Ok(text),
        json::Kind::Text(text) if matches!(&**text, "NaN" | "Infinity" | "-Infinity") => Ok(text),
        json::Kind::Text(_) => Err(r#"a number was expected, or "NaN", "Infinity" or "-Infinity""#.to_owned()),
        _ => Err(format!("a number was expected, and this is {}", node.describe())),
    }
}

fn double_bits(number: f64) -> u64 {
    if number.is_nan() { NAN_64 } else { number.to_bits() }
}

fn enumeration(descriptor: &EnumDescriptor, node: &Node<'_>) -> Outcome {
    let name = descriptor.full_name();
    let number = match &node.kind {
        json::Kind::Null if name == "google.protobuf.NullValue" => 0,
        json::Kind::Text(text) if !is_number(text) => {
            let value = descriptor.get_value_by_name(text);
            value.ok_or_else(|| unknown_value(descriptor, text))?.number()
        }
        json::Kind::Text(_) | json::Kind::Number(_) => {
            let number = whole_number(node).ok().and_then(|number| i32::try_from(number).ok());
            number
                .ok_or_else(|| format!("the numbers of {name} are whole and reach from {} to {}", i32::MIN, i32::MAX))?
        }
        _ => return Err(format!("a value of {name} is a name, and this is {}", node.describe())),
    };
    if !has_value(descriptor, number) {
        return Err(format!("{name} has no value {number}"));
    }
    Ok(Encoded::Varint(i64::from(number).cast_unsigned()))
}

fn unknown_value(descriptor: &EnumDescriptor, text: &str) -> String {
    let names: Vec<String> = descriptor.values().map(|value| value.name().to_owned()).collect();
    format!("{} has no value {:?}{}", descriptor.full_name(), shown(text), suggestion(text, &names))
}
