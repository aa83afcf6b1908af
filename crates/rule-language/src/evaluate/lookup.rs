//! What lists and maps hold, and what it costs to take it out of them.

use std::borrow::Cow;

use super::compare;
use crate::{
    budget::Budget,
    failure::{Step, Stop},
    mistake::Place,
    value::{List, Map, Value},
};

/// `a.b`. What has no members lacks this one as well: a message may hold anything.
pub(super) fn member<'a>(budget: &mut Budget, of: &Value<'a>, name: &str) -> Step<Value<'a>> {
    // A header table and a map that the rule made are searched from the start.
    if let Value::Map(map @ (Map::Fields(_) | Map::Made(_))) = of {
        budget.charge(map.len() / 8)?;
    }
    let member = of.member(name).ok_or(Stop::Missing)?;
    taken(budget, matches!(of, Value::Map(Map::Fields(_))), member)
}

/// `a[b]`
pub(super) fn item<'a>(budget: &mut Budget, [of, index]: [Value<'a>; 2], place: Place) -> Step<Value<'a>> {
    match (&of, &index) {
        (Value::List(list), Value::Int(index)) => {
            element(budget, list, usize::try_from(*index).map_err(|_| Stop::Missing)?)
        }
        (Value::Map(Map::Made(entries)), _) => {
            for (key, value) in entries.iter() {
                budget.charge(1)?;
                if compare::equal(budget, key, &index).map_err(|fault| fault.at(place))? {
                    return copied(budget, value.clone());
                }
            }
            Err(Stop::Missing)
        }
        (Value::Map(_), _) => member(budget, &of, index.as_text().ok_or(Stop::Missing)?),
        (Value::List(_), _) => Err(of.unfit_with("[…]", &index).at(place)),
        _ => Err(Stop::Missing),
    }
}

pub(super) fn element<'a>(budget: &mut Budget, list: &List<'a>, index: usize) -> Step<Value<'a>> {
    let element = list.get(index).ok_or(Stop::Missing)?;
    taken(budget, matches!(list, List::Fields(_)), element)
}

/// The text of a header is checked each time it is taken.
fn taken<'a>(budget: &mut Budget, is_field: bool, value: Value<'a>) -> Step<Value<'a>> {
    if !is_field {
        return copied(budget, value);
    }
    budget.charge_text(value.as_text().map_or(0, str::len))?;
    Ok(value)
}

/// A text that the rule made is copied.
pub(super) fn copied<'a>(budget: &mut Budget, value: Value<'a>) -> Step<Value<'a>> {
    if let Value::Text(Cow::Owned(text)) | Value::Told(Cow::Owned(text)) = &value {
        budget.charge_text(text.len())?;
    }
    Ok(value)
}
