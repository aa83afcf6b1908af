//! Values nested deeper than JSON readers go, written without nesting: prefix notation.
//!
//! An array is `{"t": "array", "v": n}` followed by its n values, a table `{"t": "table", "v": n}` followed by n times
//! name and value; all other values are written as ever. No application does this, but a hostile one can, and its
//! messages are kept like any others.

use serde_json::{Value, json};

use crate::field::{FieldTable, FieldValue};

/// Deeper ones are refused: to merely drop such a value takes as many stack frames.
const MAX_NESTING: usize = 1000;

const MALFORMED: &str = "a flat value is a list of values in prefix notation";

/// A value, or the name of the value after it.
enum Part<'a> {
    Name(&'a str),
    Value(&'a FieldValue),
}

/// Writes a value, without recursion. `leaf` writes what is no array and no table.
pub(super) fn to_json(value: &FieldValue, leaf: fn(&FieldValue) -> Value) -> Value {
    let mut tokens = Vec::new();
    let mut parts = vec![Part::Value(value)];
    while let Some(part) = parts.pop() {
        match part {
            Part::Name(name) => tokens.push(name.into()),
            Part::Value(FieldValue::Array(values)) => {
                tokens.push(json!({"t": "array", "v": values.len()}));
                parts.extend(values.iter().rev().map(Part::Value));
            }
            Part::Value(FieldValue::Table(table)) => {
                tokens.push(json!({"t": "table", "v": table.len()}));
                let entries: Vec<_> = table.iter().collect();
                parts.extend(entries.iter().rev().flat_map(|(name, value)| [Part::Value(value), Part::Name(name)]));
            }
            Part::Value(other) => tokens.push(leaf(other)),
        }
    }
    Value::Array(tokens)
}

/// Reads a value, without recursion: from the back, where the parts of a whole are complete before it is met.
/// `leaf` reads what is no array and no table.
pub(super) fn from_json(json: &Value, leaf: fn(&Value) -> Result<FieldValue, String>) -> Result<FieldValue, String> {
    let tokens = json.as_array().ok_or(MALFORMED)?;
    let mut done = Vec::new();
    for token in tokens.iter().rev() {
        let item = match count_of(token) {
            Some(("array", n)) => array(last(&mut done, n)?),
            Some((_, n)) => table(last(&mut done, n.saturating_mul(2))?)?,
            None => Built { value: leaf(token)?, nesting: 0 },
        };
        if item.nesting > MAX_NESTING {
            return Err(format!("it is nested more than {MAX_NESTING} levels deep"));
        }
        done.push(item);
    }
    match (done.pop(), done.is_empty()) {
        (Some(whole), true) => Ok(whole.value),
        _ => Err(MALFORMED.to_owned()),
    }
}

/// A value, and how many arrays and tables stand within each other in it.
struct Built {
    value: FieldValue,
    nesting: usize,
}

fn count_of(token: &Value) -> Option<(&str, usize)> {
    let kind = token.get("t")?.as_str().filter(|kind| matches!(*kind, "array" | "table"))?;
    let n = token.get("v")?.as_u64()?;
    Some((kind, usize::try_from(n).ok()?))
}

/// Takes the `n` values built last, in the order in which they were written.
fn last(done: &mut Vec<Built>, n: usize) -> Result<Vec<Built>, String> {
    let from = done.len().checked_sub(n).ok_or(MALFORMED)?;
    let mut parts = done.split_off(from);
    parts.reverse();
    Ok(parts)
}

fn nesting_around(parts: &[Built]) -> usize {
    1 + parts.iter().map(|part| part.nesting).max().unwrap_or(0)
}

fn array(parts: Vec<Built>) -> Built {
    let nesting = nesting_around(&parts);
    Built { value: FieldValue::Array(parts.into_iter().map(|part| part.value).collect()), nesting }
}

fn table(parts: Vec<Built>) -> Result<Built, String> {
    let nesting = nesting_around(&parts);
    let mut fields = Vec::with_capacity(parts.len() / 2);
    let mut parts = parts.into_iter();
    while let (Some(name), Some(part)) = (parts.next(), parts.next()) {
        let name = name.value.as_str().ok_or(MALFORMED)?.to_owned();
        fields.push((name, part.value));
    }
    Ok(Built { value: FieldValue::Table(FieldTable::from_iter(fields)), nesting })
}
