//! Deciding a rule for a letter.
//!
//! Each node of a rule costs a step and so does everything that is gone through on the way, so that no rule outruns its
//! budget. How deep this recurses is bounded by how deep the rule is.

mod calls;
mod compare;
mod each;

use std::{borrow::Cow, rc::Rc};

use super::{
    MAX_TEXT,
    budget::Budget,
    facts::Facts,
    failure::{Failure, Fault, Stop},
    mistake::Place,
    node::{Arithmetic, Logic, Node},
    number,
    value::{List, Map, Value},
};

pub(super) type Step<T> = Result<T, Stop>;

/// One rule at work on one letter.
pub(super) struct Evaluation<'a, 'b> {
    facts: &'a Facts<'a>,
    budget: &'b mut Budget,
    /// Of the comprehensions around the node at work, the outermost first.
    variables: Vec<Value<'a>>,
}

impl<'a, 'b> Evaluation<'a, 'b> {
    pub(super) fn new(facts: &'a Facts<'a>, budget: &'b mut Budget) -> Self {
        Self { facts, budget, variables: Vec::new() }
    }

    pub(super) fn answer(&mut self, root: &'a Node) -> Step<bool> {
        match self.value(root)? {
            Value::Bool(answer) => Ok(answer),
            Value::Null => Err(Stop::Missing),
            other => Err(Stop::Failed(Failure { at: None, fault: Fault::Answer(other.kind().describe()) })),
        }
    }

    fn value(&mut self, node: &'a Node) -> Step<Value<'a>> {
        self.charge(1)?;
        match node {
            Node::Literal(literal) => Ok(literal.into()),
            Node::Letter(field) => self.facts.letter(*field).ok_or(Stop::Missing),
            Node::Payload => self.payload(),
            Node::Variable(depth) => {
                let variable = self.variables.get(*depth).cloned().ok_or(Stop::Missing)?;
                self.charge_copy(variable)
            }
            Node::Member(of, name) => self.member(of, name),
            Node::Item(sides, place) => self.item(sides, *place),
            Node::Has(node) => self.has(node),
            Node::List(nodes) => {
                let items = nodes.iter().map(|node| self.value(node)).collect::<Step<Vec<_>>>()?;
                Ok(Value::List(List::Made(items.into())))
            }
            Node::Map(entries, place) => self.map(entries, *place),
            Node::Not(node, place) => Ok(Value::Bool(!self.condition(node, "!", *place)?)),
            Node::Negate(node, place) => self.negate(node, *place),
            Node::Logic(logic, sides, place) => self.logic(*logic, sides, *place).map(Value::Bool),
            Node::Choice(parts, place) => self.choice(parts, *place),
            Node::Equal(sides, place) => self.equal_sides(sides, *place).map(Value::Bool),
            Node::Order(order, sides, place) => self.order(*order, sides, *place).map(Value::Bool),
            Node::In(sides, place) => self.contained(sides, *place).map(Value::Bool),
            Node::Arithmetic(operation, sides, place) => self.arithmetic(*operation, sides, *place),
            Node::Call(function, arguments, place) => self.call(*function, arguments, *place),
            Node::Matches(node, pattern, place) => self.matches(node, pattern, *place),
            Node::Each(each, place) => self.each(each, *place),
        }
    }

    fn payload(&self) -> Step<Value<'a>> {
        match self.facts.payload() {
            Ok(Some(payload)) => Ok(payload.into()),
            Ok(None) => Err(Stop::Missing),
            Err(fault) => Err(Stop::Failed(Failure { at: None, fault })),
        }
    }

    /// What has no members lacks this one as well: a message may hold anything.
    fn member(&mut self, of: &'a Node, name: &str) -> Step<Value<'a>> {
        let of = self.value(of)?;
        self.charge_lookup(&of)?;
        let member = of.member(name).ok_or(Stop::Missing)?;
        self.charge_taken(matches!(of, Value::Map(Map::Fields(_))), member)
    }

    fn item(&mut self, [of, index]: &'a [Node; 2], place: Place) -> Step<Value<'a>> {
        let of = self.value(of)?;
        let index = self.value(index)?;
        match (&of, &index) {
            (Value::List(list), Value::Int(index)) => {
                let item = usize::try_from(*index).ok().and_then(|index| list.get(index)).ok_or(Stop::Missing)?;
                self.charge_taken(matches!(list, List::Fields(_)), item)
            }
            (Value::Map(Map::Made(entries)), _) => {
                let entries = Rc::clone(entries);
                for (key, value) in entries.iter() {
                    self.charge(1)?;
                    if self.equal(key, &index, 0).map_err(|fault| fault.at(place))? {
                        return self.charge_copy(value.clone());
                    }
                }
                Err(Stop::Missing)
            }
            (Value::Map(map), _) => {
                let name = index.as_text().ok_or(Stop::Missing)?;
                self.charge_lookup(&of)?;
                let member = of.member(name).ok_or(Stop::Missing)?;
                self.charge_taken(matches!(map, Map::Fields(_)), member)
            }
            (Value::List(_), _) => Err(operands("[…]", &of, &index).at(place)),
            _ => Err(Stop::Missing),
        }
    }

    /// Never missing itself: where something on the way to it is missing, it is not there.
    fn has(&mut self, node: &'a Node) -> Step<Value<'a>> {
        match self.value(node) {
            Ok(_) => Ok(Value::Bool(true)),
            Err(Stop::Missing) => Ok(Value::Bool(false)),
            Err(failed) => Err(failed),
        }
    }

    fn map(&mut self, nodes: &'a [(Node, Node)], place: Place) -> Step<Value<'a>> {
        let mut entries: Vec<(Value<'a>, Value<'a>)> = Vec::with_capacity(nodes.len());
        for (key, value) in nodes {
            let key = self.value(key)?;
            if !matches!(key, Value::Text(_) | Value::Told(_) | Value::Int(_) | Value::Bool(_)) {
                let fault = Fault::Operand { operation: "the key of a map", operand: key.kind().describe() };
                return Err(fault.at(place));
            }
            for (other, _) in &entries {
                self.charge(1)?;
                if self.equal(other, &key, 0).map_err(|fault| fault.at(place))? {
                    return Err(Fault::DoubleKey.at(place));
                }
            }
            entries.push((key, self.value(value)?));
        }
        Ok(Value::Map(Map::Made(entries.into())))
    }

    /// A yes or no. Null is as good as missing.
    fn condition(&mut self, node: &'a Node, operation: &'static str, place: Place) -> Step<bool> {
        match self.value(node)? {
            Value::Bool(yes) => Ok(yes),
            Value::Null => Err(Stop::Missing),
            other => Err(operand(operation, &other).at(place)),
        }
    }

    /// As in CEL, a side that decides alone decides even where the other can't be told.
    fn logic(&mut self, logic: Logic, [left, right]: &'a [Node; 2], place: Place) -> Step<bool> {
        let decides = |side: &Step<bool>| *side == Ok(logic.deciding());
        let left = self.condition(left, logic.sign(), place);
        if decides(&left) {
            return left;
        }
        let right = self.condition(right, logic.sign(), place);
        if decides(&right) {
            return right;
        }
        left.and(right)
    }

    fn choice(&mut self, [condition, yes, no]: &'a [Node; 3], place: Place) -> Step<Value<'a>> {
        let chosen = if self.condition(condition, "?", place)? { yes } else { no };
        self.value(chosen)
    }

    fn negate(&mut self, node: &'a Node, place: Place) -> Step<Value<'a>> {
        match self.value(node)? {
            Value::Int(number) => number::whole(-number).ok_or_else(|| Fault::Overflow.at(place)),
            Value::Double(number) => Ok(Value::Double(-number)),
            Value::Duration(micros) => Ok(Value::Duration(micros.saturating_neg())),
            Value::Null => Err(Stop::Missing),
            other => Err(operand("-", &other).at(place)),
        }
    }

    fn arithmetic(&mut self, operation: Arithmetic, sides: &'a [Node; 2], place: Place) -> Step<Value<'a>> {
        let [left, right] = sides;
        let (left, right) = (self.value(left)?, self.value(right)?);
        if let Some(result) = number::calculate(operation, &left, &right) {
            return result.map_err(|fault| fault.at(place));
        }
        if operation == Arithmetic::Add {
            if let (Some(start), Some(end)) = (left.as_text(), right.as_text()) {
                return self.joined(start, end).map_err(|fault| fault.at(place));
            }
            if let (Value::List(start), Value::List(end)) = (&left, &right) {
                return self.joined_lists(start, end).map_err(|fault| fault.at(place));
            }
        }
        let micros = match (operation, &left, &right) {
            (_, Value::Null, _) | (_, _, Value::Null) => return Err(Stop::Missing),
            (Arithmetic::Subtract, Value::Timestamp(left), Value::Timestamp(right)) => {
                return Ok(Value::Duration(left.saturating_sub(*right)));
            }
            (Arithmetic::Add, Value::Duration(left), Value::Timestamp(right)) => {
                return Ok(Value::Timestamp(left.saturating_add(*right)));
            }
            (Arithmetic::Add, Value::Timestamp(left) | Value::Duration(left), Value::Duration(right)) => {
                left.saturating_add(*right)
            }
            (Arithmetic::Subtract, Value::Timestamp(left) | Value::Duration(left), Value::Duration(right)) => {
                left.saturating_sub(*right)
            }
            _ => return Err(operands(operation.sign(), &left, &right).at(place)),
        };
        Ok(if matches!(left, Value::Timestamp(_)) { Value::Timestamp(micros) } else { Value::Duration(micros) })
    }

    fn joined(&mut self, start: &str, end: &str) -> Result<Value<'a>, Fault> {
        let n_bytes = start.len().saturating_add(end.len());
        if n_bytes > MAX_TEXT {
            return Err(Fault::TextTooLong);
        }
        self.budget.charge_text(n_bytes)?;
        Ok(Value::Text(Cow::Owned([start, end].concat())))
    }

    fn joined_lists(&mut self, start: &List<'a>, end: &List<'a>) -> Result<Value<'a>, Fault> {
        let mut items = Vec::new();
        for list in [start, end] {
            for index in 0..list.len() {
                let item = list.get(index).unwrap_or(Value::Null);
                self.budget.charge(1)?;
                self.budget.charge_text(item.as_text().map_or(0, str::len))?;
                items.push(item);
            }
        }
        Ok(Value::List(List::Made(items.into())))
    }

    fn charge(&mut self, n_steps: usize) -> Step<()> {
        self.budget.charge(n_steps).map_err(|fault| Stop::Failed(Failure { at: None, fault }))
    }

    /// A header table and a map that the rule made are searched from the start.
    fn charge_lookup(&mut self, of: &Value<'a>) -> Step<()> {
        match of {
            Value::Map(map @ (Map::Fields(_) | Map::Made(_))) => self.charge(map.len() / 8),
            _ => Ok(()),
        }
    }

    /// The text of a header is checked each time it is taken, and a text that the rule made is copied.
    fn charge_taken(&mut self, is_field: bool, value: Value<'a>) -> Step<Value<'a>> {
        if is_field {
            self.charge(value.as_text().map_or(0, str::len) / 64)?;
            return Ok(value);
        }
        self.charge_copy(value)
    }

    fn charge_copy(&mut self, value: Value<'a>) -> Step<Value<'a>> {
        if let Value::Text(Cow::Owned(text)) | Value::Told(Cow::Owned(text)) = &value {
            self.charge(text.len() / 64)?;
        }
        Ok(value)
    }
}

fn operand(operation: &'static str, value: &Value<'_>) -> Fault {
    Fault::Operand { operation, operand: value.kind().describe() }
}

fn operands(operation: &'static str, left: &Value<'_>, right: &Value<'_>) -> Fault {
    Fault::Operands { operation, left: left.kind().describe(), right: right.kind().describe() }
}
