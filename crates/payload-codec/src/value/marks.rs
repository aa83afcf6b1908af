//! How JSON shows what it has no words for.

use base64::{Engine, prelude::BASE64_STANDARD};

use crate::json::{Kind, Member, Node};

/// A reason, and where.
pub(super) type Wrong = (usize, String);

pub(super) fn bytes(bytes: &[u8]) -> Node<'static> {
    Node::pair("#base64", Node::text(BASE64_STANDARD.encode(bytes)))
}

pub(super) fn read_bytes(node: &Node<'_>) -> Result<Vec<u8>, Wrong> {
    let text = node.as_text().ok_or_else(|| (node.at, "a string of base64 was expected".to_owned()))?;
    BASE64_STANDARD.decode(text).map_err(|e| (node.at, format!("this is no base64: {e}")))
}

/// With a point or an exponent, to be told from integers.
pub(super) fn float(number: f64) -> Node<'static> {
    let word = match number {
        number if number.is_finite() => return Node::number(format!("{number:?}")),
        number if number.is_nan() => "NaN",
        number if number > 0.0 => "Infinity",
        _ => "-Infinity",
    };
    Node::pair("#float", Node::text(word))
}

pub(super) fn read_float(node: &Node<'_>) -> Result<f64, Wrong> {
    match node.as_text() {
        Some("NaN") => Ok(f64::NAN),
        Some("Infinity") => Ok(f64::INFINITY),
        Some("-Infinity") => Ok(f64::NEG_INFINITY),
        _ => Err((node.at, r#""NaN", "Infinity" or "-Infinity" was expected"#.to_owned())),
    }
}

/// Up to here doubles are exact, and JSON of other programs may have a whole number with or without a point.
pub(super) const MAX_EXACT: i128 = 1 << 53;

/// What digits stand for.
pub(super) enum Number {
    Integer(i128),
    Double(f64),
}

pub(super) fn number(digits: &str, at: usize) -> Result<Number, Wrong> {
    let out_of_range = || (at, format!("{digits} is out of range"));
    if !digits.contains(['.', 'e', 'E']) {
        return digits.parse().map(Number::Integer).map_err(|_| out_of_range());
    }
    let number = digits.parse().ok().filter(|number: &f64| number.is_finite());
    number.map(Number::Double).ok_or_else(out_of_range)
}

/// The text of a key that is no string.
pub(super) fn key(node: &Node<'_>) -> String {
    match &node.kind {
        Kind::Text(text) => text.clone().into_owned(),
        _ => node.to_string().split_whitespace().collect::<Vec<_>>().join(" "),
    }
}

/// Two members by their names, in either order, and no others.
pub(super) fn two<'n, 'a>(node: &'n Node<'a>, first: &str, second: &str) -> Result<[&'n Node<'a>; 2], Wrong> {
    let find = |members: &'n [Member<'a>], key: &str| members.iter().find(|it| it.key == key).map(|it| &it.value);
    let found = node.as_object().filter(|members| members.len() == 2);
    let found = found.and_then(|members| Some([find(members, first)?, find(members, second)?]));
    found.ok_or_else(|| (node.at, format!("an object of {first:?} and {second:?} was expected")))
}

/// A whole number of a narrower type.
pub(super) fn integer<T: TryFrom<i128>>(node: &Node<'_>) -> Result<T, Wrong> {
    let wrong = || (node.at, "a whole number was expected, or a smaller one".to_owned());
    match &node.kind {
        Kind::Number(digits) => match number(digits, node.at)? {
            Number::Integer(number) => T::try_from(number).map_err(|_| wrong()),
            Number::Double(_) => Err(wrong()),
        },
        _ => Err(wrong()),
    }
}
