//! The values of a pickle as JSON.

use super::{
    super::{
        Unreadable,
        budget::{Budget, base64, float},
        malformed,
    },
    value::{Ref, Value},
};
use crate::{
    json::{Kind, Member, Node},
    limits::Limits,
};

/// A value that stands in many places is shown in each, within the limits; one that is within itself is named once.
pub(super) fn show(
    values: &[Value<'_>],
    root: Ref,
    n_bytes: usize,
    limits: &Limits,
) -> Result<Node<'static>, Unreadable> {
    let mut shower = Shower { values, around: vec![false; values.len()], budget: Budget::new(n_bytes, limits) };
    shower.node(root)
}

struct Shower<'v, 'a> {
    values: &'v [Value<'a>],
    /// Which values stand around the one that is shown.
    around: Vec<bool>,
    budget: Budget,
}

impl Shower<'_, '_> {
    fn node(&mut self, place: Ref) -> Result<Node<'static>, Unreadable> {
        self.budget.value()?;
        let Some(value) = self.values.get(place) else { return malformed("a value is missing") };
        match self.around.get_mut(place) {
            Some(true) => return Ok(Node::pair("#reference", Node::text("a value around this one"))),
            Some(around) => *around = true,
            None => {}
        }
        self.budget.enter()?;
        let node = self.of(value)?;
        self.budget.leave();
        if let Some(around) = self.around.get_mut(place) {
            *around = false;
        }
        Ok(node)
    }

    fn of(&mut self, value: &Value<'_>) -> Result<Node<'static>, Unreadable> {
        Ok(match value {
            Value::None => Node::null(),
            Value::Bool(yes) => Kind::Bool(*yes).into(),
            Value::Number(digits) => {
                self.budget.content(digits.len())?;
                Node::number(digits)
            }
            Value::Float(number) => float(*number),
            Value::Text(text) => {
                self.budget.content(text.len())?;
                Node::text(text.clone().into_owned())
            }
            Value::Bytes(bytes) => {
                self.budget.content(bytes.len())?;
                base64(bytes)
            }
            Value::List(items) => Node::array(self.nodes(items)?),
            Value::Set(items) => Node::pair("#set", Node::array(self.nodes(items)?)),
            Value::Dict(pairs) => Node::object(self.members(pairs)?),
            Value::Global(name) => {
                self.budget.content(name.len())?;
                Node::pair("#class", Node::text(name.clone()))
            }
            Value::Outside(id) => Node::pair("#reference", self.node(*id)?),
            Value::Call { callee, args, keywords, items, pairs, state } => {
                let mut members =
                    vec![Member::new("#call", self.name(*callee)?), Member::new("args", self.node(*args)?)];
                if let Some(keywords) = keywords {
                    members.push(Member::new("kwargs", self.node(*keywords)?));
                }
                if let Some(state) = state {
                    members.push(Member::new("state", self.node(*state)?));
                }
                if !items.is_empty() {
                    members.push(Member::new("items", Node::array(self.nodes(items)?)));
                }
                if !pairs.is_empty() {
                    members.push(Member::new("items", Node::object(self.members(pairs)?)));
                }
                Node::object(members)
            }
        })
    }

    /// A function or a class by its name alone.
    fn name(&mut self, callee: Ref) -> Result<Node<'static>, Unreadable> {
        match self.values.get(callee) {
            Some(Value::Global(name)) => {
                self.budget.content(name.len())?;
                Ok(Node::text(name.clone()))
            }
            _ => self.node(callee),
        }
    }

    fn nodes(&mut self, items: &[Ref]) -> Result<Vec<Node<'static>>, Unreadable> {
        items.iter().map(|item| self.node(*item)).collect()
    }

    fn members(&mut self, pairs: &[(Ref, Ref)]) -> Result<Vec<Member<'static>>, Unreadable> {
        let member = |(name, value): &(Ref, Ref)| {
            let name = self.node(*name)?;
            Ok(Member::new(self.budget.key(&name)?, self.node(*value)?))
        };
        pairs.iter().map(member).collect()
    }
}
