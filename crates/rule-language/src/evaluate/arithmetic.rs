//! `+`, `-`, `*`, `/`, `%`, and the minus sign.

use std::borrow::Cow;

use crate::{
    budget::Budget,
    failure::{Fault, Step, Stop},
    limits::MAX_TEXT,
    mistake::Place,
    node::Arithmetic,
    number,
    value::{List, Value},
};

pub(super) fn negate(value: Value<'_>, place: Place) -> Step<Value<'_>> {
    match value {
        Value::Int(number) => number::whole(-number).ok_or_else(|| Fault::Overflow.at(place)),
        Value::Double(number) => Ok(Value::Double(-number)),
        Value::Duration(micros) => Ok(Value::Duration(micros.saturating_neg())),
        Value::Null => Err(Stop::Missing),
        other => Err(other.unfit("-").at(place)),
    }
}

pub(super) fn calculate<'a>(
    budget: &mut Budget,
    operation: Arithmetic,
    [left, right]: [Value<'a>; 2],
    place: Place,
) -> Step<Value<'a>> {
    let result = number::calculate(operation, &left, &right)
        .or_else(|| if operation == Arithmetic::Add { joined(budget, &left, &right) } else { None })
        .or_else(|| shifted(operation, &left, &right).map(Ok));
    match result {
        Some(result) => result.map_err(|fault| fault.at(place)),
        None if matches!(left, Value::Null) || matches!(right, Value::Null) => Err(Stop::Missing),
        None => Err(left.unfit_with(operation.sign(), &right).at(place)),
    }
}

/// Texts or lists behind each other; `None` for other values.
fn joined<'a>(budget: &mut Budget, left: &Value<'a>, right: &Value<'a>) -> Option<Result<Value<'a>, Fault>> {
    match (left, right) {
        (Value::List(start), Value::List(end)) => Some(joined_lists(budget, [start, end])),
        _ => Some(joined_texts(budget, left.as_text()?, right.as_text()?)),
    }
}

fn joined_texts<'a>(budget: &mut Budget, start: &str, end: &str) -> Result<Value<'a>, Fault> {
    let n_bytes = start.len().saturating_add(end.len());
    if n_bytes > MAX_TEXT {
        return Err(Fault::TextTooLong);
    }
    budget.charge_text(n_bytes)?;
    Ok(Value::Text(Cow::Owned([start, end].concat())))
}

fn joined_lists<'a>(budget: &mut Budget, lists: [&List<'a>; 2]) -> Result<Value<'a>, Fault> {
    let mut items = Vec::new();
    for item in lists.into_iter().flat_map(|list| (0..list.len()).filter_map(|index| list.get(index))) {
        budget.charge(1)?;
        budget.charge_text(item.as_text().map_or(0, str::len))?;
        items.push(item);
    }
    Ok(Value::List(List::Made(items.into())))
}

/// Points in time and durations; `None` for other values.
fn shifted<'a>(operation: Arithmetic, left: &Value<'a>, right: &Value<'a>) -> Option<Value<'a>> {
    use Value::{Duration, Timestamp};
    Some(match (operation, left, right) {
        (Arithmetic::Add, Duration(left), Duration(right)) => Duration(left.saturating_add(*right)),
        (Arithmetic::Add, Timestamp(left), Duration(right)) | (Arithmetic::Add, Duration(left), Timestamp(right)) => {
            Timestamp(left.saturating_add(*right))
        }
        (Arithmetic::Subtract, Duration(left), Duration(right))
        | (Arithmetic::Subtract, Timestamp(left), Timestamp(right)) => Duration(left.saturating_sub(*right)),
        (Arithmetic::Subtract, Timestamp(left), Duration(right)) => Timestamp(left.saturating_sub(*right)),
        _ => return None,
    })
}
