//! Operators.

use amqp_message::death::Reason;

use super::checked::{Checked, Slips};
use crate::{
    node::{Arithmetic, Kind, LetterField, Literal, Logic, Node, Order},
    syntax::{Operator, Token},
};

pub(super) fn binary(slips: &mut Slips, token: Token, operator: Operator, sides: [Checked; 2]) -> Option<Checked> {
    match operator {
        Operator::Logic(by) => logic(slips, token, by, sides),
        Operator::Equal => equal(slips, token, sides, false),
        Operator::NotEqual => equal(slips, token, sides, true),
        Operator::Order(by) => order(slips, token, by, sides),
        Operator::In => contained(slips, token, sides),
        Operator::Arithmetic(operation) => arithmetic(slips, token, operation, sides),
    }
}

/// A mistake unless it can be yes or no.
fn need_bool(slips: &mut Slips, operand: &Checked, sign: &str) -> Option<()> {
    if operand.kind.may_be(Kind::Bool) {
        return Some(());
    }
    slips.note(operand.token, format!("{sign} takes yes or no, but this is {}", operand.kind.describe()))
}

fn logic(slips: &mut Slips, token: Token, logic: Logic, [left, right]: [Checked; 2]) -> Option<Checked> {
    let both = (need_bool(slips, &left, logic.sign()), need_bool(slips, &right, logic.sign()));
    both.0.and(both.1)?;
    Checked::new(Node::Logic(logic, [left.node, right.node].into(), token.place), Kind::Bool, token)
}

pub(super) fn not(slips: &mut Slips, token: Token, of: Checked) -> Option<Checked> {
    need_bool(slips, &of, "!")?;
    Checked::new(Node::Not(of.node.into(), token.place), Kind::Bool, token)
}

pub(super) fn negate(slips: &mut Slips, token: Token, of: Checked) -> Option<Checked> {
    if !matches!(of.kind, Kind::Any | Kind::Number | Kind::Duration) {
        return slips.note(token, format!("{} has no negative", of.kind.describe()));
    }
    Checked::new(Node::Negate(of.node.into(), token.place), of.kind, token)
}

pub(super) fn choice(slips: &mut Slips, token: Token, [condition, yes, no]: [Checked; 3]) -> Option<Checked> {
    need_bool(slips, &condition, "?")?;
    let kind = if yes.kind == no.kind { yes.kind } else { Kind::Any };
    Checked::new(Node::Choice([condition.node, yes.node, no.node].into(), token.place), kind, token)
}

fn equal(slips: &mut Slips, token: Token, [left, right]: [Checked; 2], is_negated: bool) -> Option<Checked> {
    if !left.kind.may_be(right.kind) {
        return slips.note(token, never_equal(&left, &right));
    }
    known_reason(slips, &left, &right)?;
    known_reason(slips, &right, &left)?;
    let node = Node::Equal([left.node, right.node].into(), token.place);
    let node = if is_negated { Node::Not(node.into(), token.place) } else { node };
    Checked::new(node, Kind::Bool, token)
}

fn never_equal(left: &Checked, right: &Checked) -> String {
    let is_null = |of: &Checked, null: &Checked| null.kind == Kind::Null && matches!(of.node, Node::Letter(_));
    if is_null(left, right) || is_null(right, left) {
        return "nothing of a letter is null; ask whether it is there, as in has(letter.type)".to_owned();
    }
    format!("{} is never equal to {}", left.kind.describe(), right.kind.describe())
}

/// A reason that RabbitMQ does not have would never match.
fn known_reason(slips: &mut Slips, text: &Checked, other: &Checked) -> Option<()> {
    let (Node::Literal(Literal::Text(reason)), Node::Letter(LetterField::Reason)) = (&text.node, &other.node) else {
        return Some(());
    };
    if reason.parse::<Reason>().is_ok() {
        return Some(());
    }
    let known: Vec<&str> = Reason::ALL.iter().map(|reason| reason.as_str()).collect();
    slips.note(text.token, format!("letter.reason is one of {}", known.join(", ")))
}

fn order(slips: &mut Slips, token: Token, order: Order, [left, right]: [Checked; 2]) -> Option<Checked> {
    let is_ordered = |kind: Kind| {
        matches!(kind, Kind::Any | Kind::Bool | Kind::Number | Kind::Text | Kind::Timestamp | Kind::Duration)
    };
    if !left.kind.may_be(right.kind) || !is_ordered(left.kind) || !is_ordered(right.kind) {
        let (sign, left, right) = (order.sign(), left.kind.describe(), right.kind.describe());
        return slips.note(token, format!("{sign} can't compare {left} with {right}"));
    }
    Checked::new(Node::Order(order, [left.node, right.node].into(), token.place), Kind::Bool, token)
}

fn contained(slips: &mut Slips, token: Token, [value, within]: [Checked; 2]) -> Option<Checked> {
    match within.kind {
        Kind::Any | Kind::List | Kind::Map => {
            Checked::new(Node::In([value.node, within.node].into(), token.place), Kind::Bool, token)
        }
        Kind::Text => slips.note(token, "write .contains(\"…\") to search a text"),
        kind => {
            slips.note(token, format!("`in` searches a list or the keys of a map, but this is {}", kind.describe()))
        }
    }
}

pub(super) fn item(slips: &mut Slips, token: Token, [of, index]: [Checked; 2]) -> Option<Checked> {
    let is_key = matches!(index.kind, Kind::Any | Kind::Number | Kind::Text | Kind::Bool);
    let is_right = match of.kind {
        Kind::Any | Kind::Map => is_key,
        Kind::List => index.kind.may_be(Kind::Number),
        _ => false,
    };
    if !is_right {
        let message = format!("{} can't be taken out of {}", index.kind.describe(), of.kind.describe());
        return slips.note(token, message);
    }
    Checked::new(Node::Item([of.node, index.node].into(), token.place), Kind::Any, token)
}

fn arithmetic(slips: &mut Slips, token: Token, operation: Arithmetic, [left, right]: [Checked; 2]) -> Option<Checked> {
    let Some(kind) = result(operation, left.kind, right.kind) else {
        let (sign, left, right) = (operation.sign(), left.kind.describe(), right.kind.describe());
        return slips.note(token, format!("{sign} can't be applied to {left} and {right}"));
    };
    let is_zero = matches!(right.node, Node::Literal(Literal::Int(0)));
    if is_zero && matches!(operation, Arithmetic::Divide | Arithmetic::Remainder) {
        return slips.note(token, "this divides by zero");
    }
    Checked::new(Node::Arithmetic(operation, [left.node, right.node].into(), token.place), kind, token)
}

/// The kind of the result; `None` where there can be none.
fn result(operation: Arithmetic, left: Kind, right: Kind) -> Option<Kind> {
    use Kind::{Any, Duration, List, Number, Text, Timestamp};
    match (operation, left, right) {
        (_, Any, Any) => Some(Any),
        (_, Number, Number | Any) | (_, Any, Number) => Some(Number),
        (Arithmetic::Add, Text, Text | Any) | (Arithmetic::Add, Any, Text) => Some(Text),
        (Arithmetic::Add, List, List | Any) | (Arithmetic::Add, Any, List) => Some(List),
        (Arithmetic::Add, Timestamp, Duration | Any) | (Arithmetic::Add, Duration | Any, Timestamp) => Some(Timestamp),
        (Arithmetic::Add | Arithmetic::Subtract, Duration, Duration) => Some(Duration),
        (Arithmetic::Add | Arithmetic::Subtract, Duration | Any, Any | Duration) => Some(Any),
        (Arithmetic::Subtract, Timestamp, Timestamp) => Some(Duration),
        (Arithmetic::Subtract, Timestamp, Duration) => Some(Timestamp),
        (Arithmetic::Subtract, Timestamp | Any, Any | Timestamp) => Some(Any),
        _ => None,
    }
}
