//! `==`, `<`, `in`.

use std::cmp::Ordering;

use super::{Evaluation, Step, operands};
use crate::{
    failure::{Fault, Stop},
    mistake::Place,
    node::{Node, Order},
    number,
    value::{List, Map, Value},
};

/// How deep values are compared. JSON is not read any deeper, but header tables may go on.
const MAX_DEPTH: usize = 128;

impl<'a> Evaluation<'a, '_> {
    pub(super) fn equal_sides(&mut self, [left, right]: &'a [Node; 2], place: Place) -> Step<bool> {
        let (left, right) = (self.value(left)?, self.value(right)?);
        self.equal(&left, &right, 0).map_err(|fault| fault.at(place))
    }

    /// Values of different kinds are not equal, but a told text of digits is equal to its number.
    pub(super) fn equal(&mut self, left: &Value<'a>, right: &Value<'a>, depth: usize) -> Result<bool, Fault> {
        if depth > MAX_DEPTH {
            return Err(Fault::TooDeep);
        }
        Ok(match (left, right) {
            (Value::Null, Value::Null) => true,
            (Value::Bool(left), Value::Bool(right)) => left == right,
            (Value::Timestamp(left), Value::Timestamp(right)) => left == right,
            (Value::Duration(left), Value::Duration(right)) => left == right,
            (Value::List(left), Value::List(right)) => return self.equal_lists(left, right, depth),
            (Value::Map(left), Value::Map(right)) => return self.equal_maps(left, right, depth),
            _ => match (left.as_text(), right.as_text()) {
                (Some(left), Some(right)) => {
                    self.budget.charge_text(left.len().min(right.len()))?;
                    left == right
                }
                _ => compare_numbers(left, right) == Some(Ordering::Equal),
            },
        })
    }

    fn equal_lists(&mut self, left: &List<'a>, right: &List<'a>, depth: usize) -> Result<bool, Fault> {
        if left.len() != right.len() {
            return Ok(false);
        }
        for index in 0..left.len() {
            self.budget.charge(1)?;
            let (Some(left), Some(right)) = (left.get(index), right.get(index)) else { return Ok(false) };
            self.charge_field(&left)?;
            self.charge_field(&right)?;
            if !self.equal(&left, &right, depth + 1)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn equal_maps(&mut self, left: &Map<'a>, right: &Map<'a>, depth: usize) -> Result<bool, Fault> {
        if left.len() != right.len() {
            return Ok(false);
        }
        for (key, value) in left.entries() {
            self.budget.charge(1)?;
            self.charge_field(&value)?;
            let Some(other) = self.found(right, &key)? else { return Ok(false) };
            self.charge_field(&other)?;
            if !self.equal(&value, &other, depth + 1)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn charge_field(&mut self, value: &Value<'a>) -> Result<(), Fault> {
        self.budget.charge_text(value.as_text().map_or(0, str::len))
    }

    /// What a map holds under a key.
    fn found(&mut self, map: &Map<'a>, key: &Value<'a>) -> Result<Option<Value<'a>>, Fault> {
        match map {
            Map::Made(entries) => {
                for (other, value) in entries.iter() {
                    self.budget.charge(1)?;
                    if self.equal(other, key, 0)? {
                        return Ok(Some(value.clone()));
                    }
                }
                Ok(None)
            }
            Map::Json(members) => Ok(key.as_text().and_then(|key| members.get(key)).map(Value::from)),
            Map::Fields(fields) => {
                self.budget.charge(fields.len() / 8)?;
                Ok(key.as_text().and_then(|key| fields.get(key)).map(Value::from))
            }
        }
    }

    pub(super) fn order(&mut self, order: Order, [left, right]: &'a [Node; 2], place: Place) -> Step<bool> {
        let (left, right) = (self.value(left)?, self.value(right)?);
        let ordering = match (&left, &right) {
            (Value::Null, _) | (_, Value::Null) => return Err(Stop::Missing),
            (Value::Timestamp(left), Value::Timestamp(right)) => left.cmp(right),
            (Value::Duration(left), Value::Duration(right)) => left.cmp(right),
            (Value::Bool(left), Value::Bool(right)) => left.cmp(right),
            _ => match (left.as_text(), right.as_text()) {
                (Some(left), Some(right)) => {
                    self.charge(left.len().min(right.len()) / 64)?;
                    left.cmp(right)
                }
                _ if !is_numeric(&left) || !is_numeric(&right) => {
                    return Err(operands(order.sign(), &left, &right).at(place));
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
    pub(super) fn contained(&mut self, [value, within]: &'a [Node; 2], place: Place) -> Step<bool> {
        let value = self.value(value)?;
        match self.value(within)? {
            Value::List(list) => {
                for index in 0..list.len() {
                    self.charge(1)?;
                    let Some(item) = list.get(index) else { break };
                    self.charge_field(&item).map_err(|fault| fault.at(place))?;
                    if self.equal(&item, &value, 0).map_err(|fault| fault.at(place))? {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
            Value::Map(map) => Ok(self.found(&map, &value).map_err(|fault| fault.at(place))?.is_some()),
            Value::Null => Err(Stop::Missing),
            other => Err(operands("in", &value, &other).at(place)),
        }
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
