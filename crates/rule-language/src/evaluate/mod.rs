//! Deciding a rule for a message.
//!
//! Each node of a rule costs a step and so does everything that is gone through on the way, so that no rule outruns its
//! budget. How deep this recurses is bounded by how deep the rule is.

mod arithmetic;
mod calls;
mod compare;
mod lookup;

use super::{
    budget::Budget,
    facts::Facts,
    failure::{Failure, Fault, Step, Stop},
    mistake::Place,
    node::{Each, Function, Logic, Node, What},
    value::{List, Map, Value},
};

/// One rule at work on one message.
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
        self.budget.charge(1)?;
        match node {
            Node::Literal(literal) => Ok(literal.into()),
            Node::Letter(field) => self.facts.letter(*field).ok_or(Stop::Missing),
            Node::Payload => Ok(self.facts.payload()?.ok_or(Stop::Missing)?.into()),
            Node::Variable(depth) => {
                let variable = self.variables.get(*depth).cloned().ok_or(Stop::Missing)?;
                lookup::copied(self.budget, variable)
            }
            Node::Member(of, name) => {
                let of = self.value(of)?;
                lookup::member(self.budget, &of, name)
            }
            Node::Has(node) => self.has(node),
            Node::List(nodes) => {
                let items = nodes.iter().map(|node| self.value(node)).collect::<Step<Vec<_>>>()?;
                Ok(Value::List(List::Made(items.into())))
            }
            Node::Map(entries, place) => self.map(entries, *place),
            Node::Not(node, place) => Ok(Value::Bool(!self.condition(node, "!", *place)?)),
            Node::Negate(node, place) => arithmetic::negate(self.value(node)?, *place),
            Node::Logic(logic, sides, place) => self.logic(*logic, sides, *place).map(Value::Bool),
            Node::Choice(parts, place) => self.choice(parts, *place),
            Node::Call(function, arguments, place) => self.call(*function, arguments, *place),
            Node::Each(each, place) => self.each(each, *place),
            Node::Matches(node, pattern, place) => {
                let text = self.value(node)?;
                calls::matches(self.budget, &text, pattern, *place)
            }
            Node::Item(sides, place) => {
                let sides = self.both(sides)?;
                lookup::item(self.budget, sides, *place)
            }
            Node::Equal(sides, place) => {
                let [left, right] = self.both(sides)?;
                compare::equal(self.budget, &left, &right).map(Value::Bool).map_err(|fault| fault.at(*place))
            }
            Node::Order(order, sides, place) => {
                let sides = self.both(sides)?;
                compare::order(self.budget, *order, sides, *place).map(Value::Bool)
            }
            Node::In(sides, place) => {
                let sides = self.both(sides)?;
                compare::contained(self.budget, sides, *place).map(Value::Bool)
            }
            Node::Arithmetic(operation, sides, place) => {
                let sides = self.both(sides)?;
                arithmetic::calculate(self.budget, *operation, sides, *place)
            }
        }
    }

    fn both(&mut self, [left, right]: &'a [Node; 2]) -> Step<[Value<'a>; 2]> {
        Ok([self.value(left)?, self.value(right)?])
    }

    fn call(&mut self, function: Function, arguments: &'a [Node], place: Place) -> Step<Value<'a>> {
        let first = arguments.first().map(|argument| self.value(argument)).transpose()?;
        let second = arguments.get(1).map(|argument| self.value(argument)).transpose()?;
        calls::call(self.budget, function, [first, second], place)
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
                self.budget.charge(1)?;
                if compare::equal(self.budget, other, &key).map_err(|fault| fault.at(place))? {
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
            other => Err(other.unfit(operation).at(place)),
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

    /// Of a map it goes through the keys.
    fn each(&mut self, each: &'a Each, place: Place) -> Step<Value<'a>> {
        let list = match self.value(&each.over)? {
            Value::List(list) => list,
            Value::Map(map) => self.keys(&map)?,
            Value::Null => return Err(Stop::Missing),
            other => return Err(other.unfit(each.what.name()).at(place)),
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
        self.budget.charge(map.len())?;
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
            self.budget.charge(1)?;
        }
        answer
    }

    fn collect(&mut self, each: &'a Each, list: &List<'a>, place: Place) -> Step<Value<'a>> {
        let condition = if each.what == What::Filter { Some(&each.body) } else { each.condition.as_ref() };
        let mut items = Vec::new();
        for index in 0..list.len() {
            self.budget.charge(1)?;
            if let Some(condition) = condition
                && !self.holds(condition, each, list, index, place)?
            {
                continue;
            }
            let item = lookup::element(self.budget, list, index)?;
            let made = if each.what == What::Filter { item } else { self.with(item, &each.body)? };
            items.push(made);
        }
        Ok(Value::List(List::Made(items.into())))
    }

    fn holds(&mut self, node: &'a Node, each: &Each, list: &List<'a>, index: usize, place: Place) -> Step<bool> {
        let item = lookup::element(self.budget, list, index)?;
        match self.with(item, node)? {
            Value::Bool(yes) => Ok(yes),
            Value::Null => Err(Stop::Missing),
            other => Err(other.unfit(each.what.name()).at(place)),
        }
    }

    /// A node in whose scope the variable is an element.
    fn with(&mut self, element: Value<'a>, node: &'a Node) -> Step<Value<'a>> {
        self.variables.push(element);
        let value = self.value(node);
        self.variables.pop();
        value
    }
}
