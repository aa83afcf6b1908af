//! What the parts of a search ask of letters.

use amqp_message::time::Timestamp;
use failure_conventions::REPEATING_BODY;
use search_language::{Comparison, Kind, Node, Term, Value};

use super::{Area, Condition, Lexeme, Words, fields::has_words, lexemes, words::words_sought};
use crate::domain::{filter::names::Names, letter::Importance, when::When};

/// A value that is not possible, and why.
pub(super) type Wrong = String;

/// What a part asks for; `wrong` is told of each term that asks for what is not possible, with the part that it is.
pub(super) fn condition(node: &Node, now: Timestamp, wrong: &mut impl FnMut(&Node, Wrong)) -> Condition {
    match &node.kind {
        Kind::All(parts) => Condition::All(parts.iter().map(|part| condition(part, now, wrong)).collect()),
        Kind::Any(parts) => Condition::Any(parts.iter().map(|part| condition(part, now, wrong)).collect()),
        Kind::Not(part) => Condition::Not(Box::new(condition(part, now, wrong))),
        Kind::Term(term) => of_term(term, now).unwrap_or_else(|why| {
            wrong(node, why);
            Condition::Any(Vec::new())
        }),
    }
}

fn of_term(term: &Term, now: Timestamp) -> Result<Condition, Wrong> {
    let values = &term.values;
    let Some(first) = values.first() else { return Err("a value is missing here".to_owned()) };
    let Some(field) = term.field.as_deref() else { return words_of(None, first) };
    Ok(match field {
        "queue" => Condition::Queue(names(values, |_| None)),
        "type" => Condition::Type(names(values, |name| Some(format!("*.{name}")))),
        "status" => Condition::Status(parsed(values)?),
        "importance" => Condition::Importance(importances(values)?),
        "reason" => Condition::Reason(parsed(values)?),
        "broker" => Condition::Broker(values.iter().map(|value| value.text.clone()).collect()),
        "group" => Condition::Group(parsed(values)?),
        "id" => Condition::Id(parsed(values)?),
        "error" => return words_of(Some(Area::Error), first),
        "stack" => return words_of(Some(Area::Stack), first),
        "attempts" => Condition::Attempts(first.comparison, number(first)?),
        "size" => Condition::Size(first.comparison, number(first)?),
        "since" => Condition::Received(Comparison::AtLeast, time(first, now)?),
        "until" => Condition::Received(Comparison::Below, time(first, now)?),
        path => return value_of(path, values),
    })
}

fn words_of(area: Option<Area>, value: &Value) -> Result<Condition, Wrong> {
    has_words(&value.text)?;
    let (words, is_begun) = words_sought(&value.text, value.is_quoted);
    Ok(Condition::Words(Words { area, words, is_begun }))
}

fn value_of(path: &str, values: &[Value]) -> Result<Condition, Wrong> {
    let mut found = Vec::new();
    for value in values {
        let number = lexemes::as_number(&value.text);
        match (value.comparison, number) {
            (Comparison::Is, _) if value.text == "*" && !value.is_quoted => {
                found.push(Lexeme::Whole(lexemes::presence(path)));
            }
            (Comparison::Is, number) => {
                found.push(Lexeme::Whole(lexemes::equal(path, &value.text)));
                let number = number.filter(|number| !value.is_quoted && is_exact(*number));
                found.extend(number.into_iter().flat_map(|number| lexemes::compared(path, Comparison::Is, number)));
            }
            (comparison, Some(number)) => found.extend(lexemes::compared(path, comparison, number)),
            (comparison, None) => {
                return Err(format!("{} compares numbers, and {:?} is none", comparison.as_str(), value.text));
            }
        }
    }
    Ok(Condition::Value { of_payload: is_of_payload(path), lexemes: found })
}

/// Whether it is withheld with the payload: its fields, and headers that may repeat it. The index knows no case.
fn is_of_payload(path: &str) -> bool {
    let path = path.to_lowercase();
    let header = path.strip_prefix("header.").and_then(|path| path.split('.').next());
    path.starts_with("payload.") || header.is_some_and(|name| REPEATING_BODY.contains(&name))
}

/// Of larger whole numbers several are one double: other ids would be equal.
fn is_exact(number: f64) -> bool {
    number.fract() != 0.0 || number.abs() < (1_u64 << f64::MANTISSA_DIGITS) as f64
}

/// What has no wildcards is a name, or also what `otherwise` makes of it; in quotes it is nothing but a name.
fn names(values: &[Value], otherwise: impl Fn(&str) -> Option<String>) -> Names {
    let mut names = Names::default();
    for Value { text, is_quoted, .. } in values {
        if !is_quoted && text.contains(['*', '?']) {
            names.globs.push(text.clone());
            continue;
        }
        names.globs.extend(otherwise(text).filter(|_| !is_quoted));
        names.exact.push(text.clone());
    }
    names
}

fn parsed<T: std::str::FromStr>(values: &[Value]) -> Result<Vec<T>, Wrong> {
    let read = |value: &Value| value.text.parse().map_err(|_| format!("{:?} is not possible", value.text));
    values.iter().map(read).collect()
}

fn importances(values: &[Value]) -> Result<Vec<Importance>, Wrong> {
    let chosen: Vec<(Comparison, Importance)> =
        values.iter().map(|value| value.comparison).zip(parsed(values)?).collect();
    // The most important is the first of all, and the greatest to people.
    let fits = |one: Importance, (comparison, than): (Comparison, Importance)| {
        let (one, than) = (one as usize, than as usize);
        match comparison {
            Comparison::Is => one == than,
            Comparison::Above => one < than,
            Comparison::AtLeast => one <= than,
            Comparison::Below => one > than,
            Comparison::AtMost => one >= than,
        }
    };
    let is_chosen = |one: &&Importance| chosen.iter().any(|than| fits(**one, *than));
    Ok(Importance::ALL.iter().filter(is_chosen).copied().collect())
}

fn number(value: &Value) -> Result<i64, Wrong> {
    value.text.parse().map_err(|_| format!("{:?} is no whole number", value.text))
}

pub(super) fn time(value: &Value, now: Timestamp) -> Result<Timestamp, Wrong> {
    value.text.parse::<When>().map(|when| when.resolve(now))
}
