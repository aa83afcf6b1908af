//! `==`, `<`, `in`.

use std::cmp::Ordering;

use crate::{
    budget::Budget,
    failure::{Fault, Step, Stop},
    mistake::Place,
    node::Order,
    number,
    value::{List, Map, Value},
};

/// How deep values are compared. JSON is not read any deeper, but header tables may go on.
const MAX_DEPTH: usize = 128;

/// Whether two values are equal. Those of different kinds are not, but a told text of digits is equal to its number.
pub(super) fn equal(budget: &mut Budget, left: &Value<'_>, right: &Value<'_>) -> Result<bool, Fault> {
    equal_at(budget, left, right, 0)
}

fn equal_at(budget: &mut Budget, left: &Value<'_>, right: &Value<'_>, depth: usize) -> Result<bool, Fault> {
    if depth > MAX_DEPTH {
        return Err(Fault::TooDeep);
    }
    Ok(match (left, right) {
        (Value::Null, Value::Null) => true,
        (Value::Bool(left), Value::Bool(right)) => left == right,
        (Value::Timestamp(left), Value::Timestamp(right)) => left == right,
        (Value::Duration(left), Value::Duration(right)) => left == right,
        (Value::List(left), Value::List(right)) => return equal_lists(budget, left, right, depth),
        (Value::Map(left), Value::Map(right)) => return equal_maps(budget, left, right, depth),
        _ => match (left.as_text(), right.as_text()) {
            (Some(left), Some(right)) => {
                budget.charge_text(left.len().min(right.len()))?;
                left == right
            }
            _ => compare_numbers(left, right) == Some(Ordering::Equal),
        },
    })
}

fn equal_lists(budget: &mut Budget, left: &List<'_>, right: &List<'_>, depth: usize) -> Result<bool, Fault> {
    if left.len() != right.len() {
        return Ok(false);
    }
    for index in 0..left.len() {
        budget.charge(1)?;
        let (Some(left), Some(right)) = (left.get(index), right.get(index)) else { return Ok(false) };
        charge_field(budget, &left)?;
        charge_field(budget, &right)?;
        if !equal_at(budget, &left, &right, depth + 1)? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn equal_maps(budget: &mut Budget, left: &Map<'_>, right: &Map<'_>, depth: usize) -> Result<bool, Fault> {
    if left.len() != right.len() {
        return Ok(false);
    }
    for (key, value) in left.entries() {
        budget.charge(1)?;
        charge_field(budget, &value)?;
        let Some(other) = found(budget, right, &key)? else { return Ok(false) };
        charge_field(budget, &other)?;
        if !equal_at(budget, &value, &other, depth + 1)? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn charge_field(budget: &mut Budget, value: &Value<'_>) -> Result<(), Fault> {
    budget.charge_text(value.as_text().map_or(0, str::len))
}

/// What a map holds under a key.
fn found<'a>(budget: &mut Budget, map: &Map<'a>, key: &Value<'_>) -> Result<Option<Value<'a>>, Fault> {
    match map {
        Map::Made(entries) => {
            for (other, value) in entries.iter() {
                budget.charge(1)?;
                if equal(budget, other, key)? {
                    return Ok(Some(value.clone()));
                }
            }
            Ok(None)
        }
        Map::Json(members) => Ok(key.as_text().and_then(|key| members.get(key)).map(Value::from)),
        Map::Fields(fields) => {
            budget.charge(fields.len() / 8)?;
            Ok(key.as_text().and_then(|key| fields.get(key)).map(Value::from))
        }
    }
}

pub(super) fn order(budget: &mut Budget, order: Order, [left, right]: [Value<'_>; 2], place: Place) -> Step<bool> {
    let ordering = match (&left, &right) {
        (Value::Null, _) | (_, Value::Null) => return Err(Stop::Missing),
        (Value::Timestamp(left), Value::Timestamp(right)) => left.cmp(right),
        (Value::Duration(left), Value::Duration(right)) => left.cmp(right),
        (Value::Bool(left), Value::Bool(right)) => left.cmp(right),
        _ => match (left.as_text(), right.as_text()) {
            (Some(left), Some(right)) => {
                budget.charge_text(left.len().min(right.len()))?;
                left.cmp(right)
            }
            _ if !is_numeric(&left) || !is_numeric(&right) => {
                return Err(left.unfit_with(order.sign(), &right).at(place));
            }
            _ => match compare_numbers(&left, &right) {
                Some(ordering) => ordering,
                // Not a number: neither less nor greater than anything.
                None => return Ok(false),
            },
        },
    };
    Ok(match order {
        Order::Less => ordering.is_lt(),
        Order::LessOrEqual => ordering.is_le(),
        Order::Greater => ordering.is_gt(),
        Order::GreaterOrEqual => ordering.is_ge(),
    })
}

/// Whether a list holds a value, or a map has a key.
pub(super) fn contained(budget: &mut Budget, [value, within]: [Value<'_>; 2], place: Place) -> Step<bool> {
    match within {
        Value::List(list) => {
            for item in (0..list.len()).filter_map(|index| list.get(index)) {
                budget.charge(1)?;
                let is_equal = charge_field(budget, &item).and_then(|()| equal(budget, &item, &value));
                if is_equal.map_err(|fault| fault.at(place))? {
                    return Ok(true);
                }
            }
            Ok(false)
        }
        Value::Map(map) => Ok(found(budget, &map, &value).map_err(|fault| fault.at(place))?.is_some()),
        Value::Null => Err(Stop::Missing),
        other => Err(value.unfit_with("in", &other).at(place)),
    }
}

fn compare_numbers(left: &Value<'_>, right: &Value<'_>) -> Option<Ordering> {
    let told = |value: &Value<'_>| value.as_told_number().map(Value::Int);
    match (told(left), told(right)) {
        (Some(left), None) => number::compare(&left, right),
        (None, Some(right)) => number::compare(left, &right),
        _ => number::compare(left, right),
    }
}

fn is_numeric(value: &Value<'_>) -> bool {
    matches!(value, Value::Int(_) | Value::Double(_)) || value.as_told_number().is_some()
}
