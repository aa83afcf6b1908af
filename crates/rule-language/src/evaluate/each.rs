//! Comprehensions: `all`, `exists`, `exists_one`, `filter`, `map`.

use super::{Evaluation, Step, operand};
use crate::{
    failure::Stop,
    mistake::Place,
    node::{Each, Node, What},
    value::{List, Map, Value},
};

impl<'a> Evaluation<'a, '_> {
    /// Of a map it goes through the keys.
    pub(super) fn each(&mut self, each: &'a Each, place: Place) -> Step<Value<'a>> {
        let list = match self.value(&each.over)? {
            Value::List(list) => list,
            Value::Map(map) => self.keys(&map)?,
            Value::Null => return Err(Stop::Missing),
            other => return Err(operand(each.what.name(), &other).at(place)),
        };
        match each.what {
            What::All => self.decide(each, &list, false, place),
            What::Exists => self.decide(each, &list, true, place),
            What::ExistsOne => {
                let mut n_found = 0_usize;
                for index in 0..list.len() {
                    n_found += usize::from(self.holds(&each.body, each, &list, index, place)?);
                }
                Ok(Value::Bool(n_found == 1))
            }
            What::Filter | What::Map => self.collect(each, &list, place),
        }
    }

    fn keys(&mut self, map: &Map<'a>) -> Step<List<'a>> {
        self.charge(map.len())?;
        Ok(List::Made(map.entries().map(|(key, _)| key).collect()))
    }

    /// One element that comes to `deciding` decides. As in CEL, that counts more than an element that can't be told.
    fn decide(&mut self, each: &'a Each, list: &List<'a>, deciding: bool, place: Place) -> Step<Value<'a>> {
        let mut answer = Ok(Value::Bool(!deciding));
        for index in 0..list.len() {
            match self.holds(&each.body, each, list, index, place) {
                Ok(holds) if holds == deciding => return Ok(Value::Bool(deciding)),
                Ok(_) => {}
                Err(stop) if answer.is_ok() => answer = Err(stop),
                Err(_) => {}
            }
            // Once the budget is used up, the elements that are left need not be asked.
            self.charge(1)?;
        }
        answer
    }

    fn collect(&mut self, each: &'a Each, list: &List<'a>, place: Place) -> Step<Value<'a>> {
        let condition = if each.what == What::Filter { Some(&each.body) } else { each.condition.as_ref() };
        let mut items = Vec::new();
        for index in 0..list.len() {
            self.charge(1)?;
            if let Some(condition) = condition
                && !self.holds(condition, each, list, index, place)?
            {
                continue;
            }
            let item = self.element(list, index)?;
            let made = if each.what == What::Filter { item } else { self.with(item, &each.body)? };
            items.push(made);
        }
        Ok(Value::List(List::Made(items.into())))
    }

    fn holds(&mut self, node: &'a Node, each: &Each, list: &List<'a>, index: usize, place: Place) -> Step<bool> {
        let item = self.element(list, index)?;
        match self.with(item, node)? {
            Value::Bool(yes) => Ok(yes),
            Value::Null => Err(Stop::Missing),
            other => Err(operand(each.what.name(), &other).at(place)),
        }
    }

    fn element(&mut self, list: &List<'a>, index: usize) -> Step<Value<'a>> {
        let item = list.get(index).ok_or(Stop::Missing)?;
        self.charge_taken(matches!(list, List::Fields(_)), item)
    }

    /// A node in whose scope the variable is an element.
    fn with(&mut self, element: Value<'a>, node: &'a Node) -> Step<Value<'a>> {
        self.variables.push(element);
        let value = self.value(node);
        self.variables.pop();
        value
    }
}
