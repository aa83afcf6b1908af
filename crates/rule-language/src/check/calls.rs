//! Functions, `has` and `matches`.

use super::{
    checked::{Checked, Slips},
    names::{self, Form, Signature},
};
use crate::{
    moment,
    node::{Function, Kind, Literal, Node},
    pattern::Pattern,
    syntax::Token,
};

/// What is called.
pub(super) enum Callee {
    Has,
    Matches,
    Function(&'static Signature),
}

/// What a call means.
///
/// # Errors
/// How it has to be written, or that there is no such function.
pub(super) fn callee(name: &str, is_member: bool, n_arguments: usize) -> Result<Callee, String> {
    let n_given = n_arguments + usize::from(is_member);
    match name {
        "has" if !is_member && n_given == 1 => Ok(Callee::Has),
        "has" => Err("write has(…) with one field in it, as has(payload.id)".to_owned()),
        "matches" if n_given == 2 => Ok(Callee::Matches),
        "matches" => Err("write it as text.matches(\"pattern\")".to_owned()),
        _ => {
            let signature = names::function(name).ok_or_else(|| names::unknown_function(name))?;
            let is_form = !matches!((signature.form, is_member), (Form::Global, true) | (Form::Member, false));
            let is_right = is_form && n_given == 1 + usize::from(signature.has_part);
            if is_right { Ok(Callee::Function(signature)) } else { Err(format!("write it as {}", signature.usage())) }
        }
    }
}

/// `arguments` are as many as [`callee`] was told of, the target first.
pub(super) fn call(slips: &mut Slips, token: Token, callee: Callee, arguments: Vec<Checked>) -> Option<Checked> {
    match callee {
        Callee::Has => has(slips, token, arguments.into_iter().next()?),
        Callee::Matches => {
            let mut arguments = arguments.into_iter();
            matches(slips, token, arguments.next()?, arguments.next()?)
        }
        Callee::Function(signature) => function(slips, token, signature, arguments),
    }
}

fn has(slips: &mut Slips, token: Token, field: Checked) -> Option<Checked> {
    if !matches!(field.node, Node::Letter(_) | Node::Payload | Node::Member(..) | Node::Item(..)) {
        return slips.note(token, "has takes a field of the letter or the payload");
    }
    Checked::new(Node::Has(field.node.into()), Kind::Bool, token)
}

fn matches(slips: &mut Slips, token: Token, text: Checked, pattern: Checked) -> Option<Checked> {
    if !text.kind.may_be(Kind::Text) {
        return slips.note(text.token, format!("matches takes a text, but this is {}", text.kind.describe()));
    }
    let Node::Literal(Literal::Text(written)) = pattern.node else {
        return slips.note(pattern.token, "the pattern has to stand here in quotes");
    };
    match Pattern::compile(&written) {
        Ok(pattern) => Checked::new(Node::Matches(text.node.into(), pattern.into(), token.place), Kind::Bool, token),
        Err(reason) => slips.note(pattern.token, format!("this is no regular expression: {reason}")),
    }
}

fn function(slips: &mut Slips, token: Token, signature: &Signature, arguments: Vec<Checked>) -> Option<Checked> {
    for (n, argument) in arguments.iter().enumerate() {
        let takes = if n == 0 { signature.takes } else { &[Kind::Text] };
        if !takes.iter().any(|kind| kind.may_be(argument.kind)) {
            let takes: Vec<&str> = takes.iter().map(|kind| kind.describe()).collect();
            let (name, takes) = (signature.name, takes.join(" or "));
            let message = format!("{name} takes {takes}, but this is {}", argument.kind.describe());
            return slips.note(argument.token, message);
        }
    }
    if let [Checked { node: Node::Literal(Literal::Text(text)), token: written, .. }] = arguments.as_slice() {
        match moment(signature.function, text) {
            Some(Ok(literal)) => return Checked::literal(literal, token),
            Some(Err(example)) => return slips.note(*written, format!("this is not the text of {example}")),
            None => {}
        }
    }
    let nodes = arguments.into_iter().map(|argument| argument.node).collect();
    Checked::new(Node::Call(signature.function, nodes, token.place), signature.gives, token)
}

/// A point in time or a duration that is written out is read once; `None` for what is neither.
///
/// # Errors
/// An example of how it is written.
fn moment(function: Function, text: &str) -> Option<Result<Literal, &'static str>> {
    match function {
        Function::Timestamp => {
            let literal = moment::timestamp(text).map(Literal::Timestamp);
            Some(literal.ok_or("a point in time, as 2026-01-31T09:00:00Z"))
        }
        Function::Duration => {
            let literal = moment::duration(text).map(Literal::Duration);
            Some(literal.ok_or("a duration, as 90s or 1h30m or 48h"))
        }
        _ => None,
    }
}
