//! Comprehensions.

use super::checked::{Checked, Slips};
use crate::{
    node::{Each, Kind, Node, What},
    syntax::{Expr, Form, Token},
};

/// The name that a comprehension gives to the elements.
pub(super) fn variable<'r>(slips: &mut Slips, variable: &Expr<'r>) -> Option<&'r str> {
    match variable.form {
        Form::Name(name @ ("letter" | "payload")) => {
            slips.note(variable.token, format!("`{name}` means something else; choose another name"))
        }
        Form::Name(name) => Some(name),
        _ => slips.note(variable.token, "the first argument is a name for the elements, as x"),
    }
}

pub(super) fn each(
    slips: &mut Slips,
    token: Token,
    what: What,
    over: Checked,
    condition: Option<Checked>,
    body: Checked,
) -> Option<Checked> {
    if !over.kind.may_be(Kind::List) && over.kind != Kind::Map {
        let message = format!("{} goes through a list or a map, but this is {}", what.name(), over.kind.describe());
        return slips.note(over.token, message);
    }
    let asked = condition.as_ref().or((what != What::Map).then_some(&body));
    if let Some(asked) = asked.filter(|asked| !asked.kind.may_be(Kind::Bool)) {
        let message = format!("{} asks for yes or no, but this is {}", what.name(), asked.kind.describe());
        return slips.note(asked.token, message);
    }
    let kind = if matches!(what, What::Filter | What::Map) { Kind::List } else { Kind::Bool };
    let each = Each { what, over: over.node, condition: condition.map(|checked| checked.node), body: body.node };
    Checked::new(Node::Each(each.into(), token.place), kind, token)
}
