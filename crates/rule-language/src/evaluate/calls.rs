//! Functions.

use std::borrow::Cow;

use crate::{
    budget::Budget,
    failure::{Fault, Step, Stop},
    limits::MAX_TEXT,
    mistake::Place,
    moment,
    node::Function,
    number,
    pattern::Pattern,
    value::Value,
};

/// What a function makes of its arguments.
pub(super) fn call<'a>(
    budget: &mut Budget,
    function: Function,
    [first, second]: [Option<Value<'a>>; 2],
    place: Place,
) -> Step<Value<'a>> {
    let first = first.filter(|first| !matches!(first, Value::Null)).ok_or(Stop::Missing)?;
    let result = match (first.as_text(), second) {
        (Some(text), Some(part)) => search(budget, function, text, &part),
        (Some(text), None) => of_text(budget, function, text),
        (None, _) => of_value(function, first),
    };
    result.map_err(|fault| fault.at(place))
}

fn search<'a>(budget: &mut Budget, function: Function, text: &str, part: &Value<'a>) -> Result<Value<'a>, Fault> {
    let Some(part) = part.as_text() else { return Err(part.unfit(name(function))) };
    let is_found = match function {
        Function::StartsWith => text.starts_with(part),
        Function::EndsWith => text.ends_with(part),
        _ => {
            budget.charge_text(text.len().saturating_add(part.len()))?;
            text.contains(part)
        }
    };
    budget.charge_text(part.len())?;
    Ok(Value::Bool(is_found))
}

fn of_text<'a>(budget: &mut Budget, function: Function, text: &str) -> Result<Value<'a>, Fault> {
    budget.charge_text(text.len())?;
    let unreadable = |what: &'static str| Fault::Unreadable(what);
    match function {
        Function::Size => Ok(Value::Int(i128::try_from(text.chars().count()).unwrap_or(i128::MAX))),
        Function::LowerAscii => bounded(text).map(|text| Value::Text(Cow::Owned(text.to_ascii_lowercase()))),
        Function::UpperAscii => bounded(text).map(|text| Value::Text(Cow::Owned(text.to_ascii_uppercase()))),
        Function::String => bounded(text).map(|text| Value::Text(Cow::Owned(text.to_owned()))),
        Function::Int | Function::Uint => {
            let number = text.parse().ok().and_then(number::whole).ok_or(unreadable("a whole number"))?;
            of_value(function, number)
        }
        Function::Double => text.parse().map(Value::Double).map_err(|_| unreadable("a number")),
        Function::Bool => text.parse().map(Value::Bool).map_err(|_| unreadable("true or false")),
        Function::Timestamp => {
            let micros = moment::timestamp(text).ok_or(unreadable("a point in time, as 2026-01-31T09:00:00Z"))?;
            Ok(Value::Timestamp(micros))
        }
        Function::Duration => moment::duration(text).map(Value::Duration).ok_or(unreadable("a duration, as 1h30m")),
        _ => Err(Fault::Operand { operation: name(function), operand: "a text" }),
    }
}

pub(super) fn matches<'a>(budget: &mut Budget, text: &Value<'a>, pattern: &Pattern, place: Place) -> Step<Value<'a>> {
    if matches!(text, Value::Null) {
        return Err(Stop::Missing);
    }
    let matched = match text.as_text() {
        Some(text) => pattern.is_match(text, budget),
        None => Err(text.unfit("matches")),
    };
    matched.map(Value::Bool).map_err(|fault| fault.at(place))
}

fn of_value<'a>(function: Function, value: Value<'a>) -> Result<Value<'a>, Fault> {
    let size = |n: usize| Ok(Value::Int(i128::try_from(n).unwrap_or(i128::MAX)));
    match (function, &value) {
        (Function::Size, Value::List(list)) => size(list.len()),
        (Function::Size, Value::Map(map)) => size(map.len()),
        (Function::Int, Value::Int(_)) | (Function::Uint, Value::Int(0..)) => Ok(value),
        (Function::Uint, Value::Int(_)) => Err(Fault::Overflow),
        (Function::Int | Function::Uint, Value::Double(fraction)) => {
            of_value(function, number::truncated(*fraction).ok_or(Fault::Overflow)?)
        }
        (Function::Int, Value::Timestamp(micros)) => Ok(Value::Int(micros.div_euclid(1_000_000).into())),
        (Function::Double, Value::Int(number)) => Ok(Value::Double(*number as f64)),
        (Function::Double, Value::Double(_))
        | (Function::Bool, Value::Bool(_))
        | (Function::Timestamp, Value::Timestamp(_))
        | (Function::Duration, Value::Duration(_)) => Ok(value),
        (Function::String, Value::Int(number)) => Ok(Value::Text(Cow::Owned(number.to_string()))),
        (Function::String, Value::Double(number)) => Ok(Value::Text(Cow::Owned(number.to_string()))),
        (Function::String, Value::Bool(yes)) => Ok(Value::text(if *yes { "true" } else { "false" })),
        (Function::Timestamp, Value::Int(seconds)) => {
            let micros = i64::try_from(seconds.saturating_mul(1_000_000)).map_err(|_| Fault::Overflow)?;
            Ok(Value::Timestamp(micros))
        }
        (Function::GetDayOfWeek, Value::Timestamp(micros)) => Ok(Value::Int(moment::day_of_week(*micros).into())),
        (Function::GetHours, Value::Timestamp(micros)) => Ok(Value::Int(moment::hour(*micros).into())),
        (Function::GetMinutes, Value::Timestamp(micros)) => Ok(Value::Int(moment::minute(*micros).into())),
        _ => Err(value.unfit(name(function))),
    }
}

fn bounded(text: &str) -> Result<&str, Fault> {
    if text.len() > MAX_TEXT { Err(Fault::TextTooLong) } else { Ok(text) }
}

const fn name(function: Function) -> &'static str {
    match function {
        Function::Size => "size",
        Function::StartsWith => "startsWith",
        Function::EndsWith => "endsWith",
        Function::Contains => "contains",
        Function::LowerAscii => "lowerAscii",
        Function::UpperAscii => "upperAscii",
        Function::Int => "int",
        Function::Uint => "uint",
        Function::Double => "double",
        Function::String => "string",
        Function::Bool => "bool",
        Function::Timestamp => "timestamp",
        Function::Duration => "duration",
        Function::GetDayOfWeek => "getDayOfWeek",
        Function::GetHours => "getHours",
        Function::GetMinutes => "getMinutes",
    }
}
