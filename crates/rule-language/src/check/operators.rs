//! Operators.

use amqp_message::death::Reason;
use cel::common::ast::{CallExpr, IdedExpr, operators as signs};

use super::{Check, Checked};
use crate::node::{Arithmetic, Kind, LetterField, Literal, Logic, Node, Order};

impl Check<'_> {
    /// `None` for what is no operator.
    pub(super) fn operator(&mut self, expression: &IdedExpr, call: &CallExpr) -> Option<Option<Checked>> {
        let arguments = call.args.as_slice();
        Some(match (call.func_name.as_str(), arguments) {
            (signs::LOGICAL_AND, [left, right]) => self.logic(expression, Logic::And, left, right),
            (signs::LOGICAL_OR, [left, right]) => self.logic(expression, Logic::Or, left, right),
            (signs::LOGICAL_NOT, [of]) => self.not(expression, of),
            (signs::NEGATE, [of]) => self.negate(expression, of),
            (signs::CONDITIONAL, [condition, yes, no]) => self.choice(expression, condition, yes, no),
            (signs::EQUALS, [left, right]) => self.equal(expression, left, right, false),
            (signs::NOT_EQUALS, [left, right]) => self.equal(expression, left, right, true),
            (signs::LESS, [left, right]) => self.order(expression, Order::Less, left, right),
            (signs::LESS_EQUALS, [left, right]) => self.order(expression, Order::LessOrEqual, left, right),
            (signs::GREATER, [left, right]) => self.order(expression, Order::Greater, left, right),
            (signs::GREATER_EQUALS, [left, right]) => self.order(expression, Order::GreaterOrEqual, left, right),
            (signs::IN, [value, within]) => self.contained(expression, value, within),
            (signs::INDEX, [of, index]) => self.item(expression, of, index),
            (signs::ADD, [left, right]) => self.arithmetic(expression, Arithmetic::Add, left, right),
            (signs::SUBSTRACT, [left, right]) => self.arithmetic(expression, Arithmetic::Subtract, left, right),
            (signs::MULTIPLY, [left, right]) => self.arithmetic(expression, Arithmetic::Multiply, left, right),
            (signs::DIVIDE, [left, right]) => self.arithmetic(expression, Arithmetic::Divide, left, right),
            (signs::MODULO, [left, right]) => self.arithmetic(expression, Arithmetic::Remainder, left, right),
            _ => return None,
        })
    }

    fn both(&mut self, left: &IdedExpr, right: &IdedExpr) -> Option<(Checked, Checked)> {
        let (left, right) = (self.node(left), self.node(right));
        left.zip(right)
    }

    /// A mistake unless it can be yes or no.
    fn need_bool(&mut self, expression: &IdedExpr, kind: Kind, sign: &str) -> Option<()> {
        if kind.may_be(Kind::Bool) {
            return Some(());
        }
        let message = format!("{sign} takes yes or no, but this is {}", kind.describe());
        self.slip(self.token(expression), message)
    }

    fn logic(&mut self, expression: &IdedExpr, logic: Logic, left: &IdedExpr, right: &IdedExpr) -> Option<Checked> {
        let (a, b) = self.both(left, right)?;
        let (left, right) = (self.need_bool(left, a.kind, logic.sign()), self.need_bool(right, b.kind, logic.sign()));
        left.and(right)?;
        Checked::new(Node::Logic(logic, [a.node, b.node].into(), self.place(expression)), Kind::Bool)
    }

    fn not(&mut self, expression: &IdedExpr, of: &IdedExpr) -> Option<Checked> {
        let checked = self.node(of)?;
        self.need_bool(of, checked.kind, "!")?;
        Checked::new(Node::Not(checked.node.into(), self.place(expression)), Kind::Bool)
    }

    fn negate(&mut self, expression: &IdedExpr, of: &IdedExpr) -> Option<Checked> {
        let Checked { node, kind } = self.node(of)?;
        if !matches!(kind, Kind::Any | Kind::Number | Kind::Duration) {
            return self.slip(self.token(expression), format!("{} has no negative", kind.describe()));
        }
        Checked::new(Node::Negate(node.into(), self.place(expression)), kind)
    }

    fn choice(
        &mut self,
        expression: &IdedExpr,
        condition: &IdedExpr,
        yes: &IdedExpr,
        no: &IdedExpr,
    ) -> Option<Checked> {
        let checked = self.node(condition);
        let (yes, no) = self.both(yes, no)?;
        let checked = checked?;
        self.need_bool(condition, checked.kind, "?")?;
        let kind = if yes.kind == no.kind { yes.kind } else { Kind::Any };
        Checked::new(Node::Choice([checked.node, yes.node, no.node].into(), self.place(expression)), kind)
    }

    fn equal(&mut self, expression: &IdedExpr, left: &IdedExpr, right: &IdedExpr, is_negated: bool) -> Option<Checked> {
        let (a, b) = self.both(left, right)?;
        if !a.kind.may_be(b.kind) {
            let missing = [(&a, &b), (&b, &a)]
                .into_iter()
                .any(|(of, null)| null.kind == Kind::Null && matches!(of.node, Node::Letter(_)));
            let message = if missing {
                "nothing of a letter is null; ask whether it is there, as in has(letter.type)".to_owned()
            } else {
                format!("{} is never equal to {}", a.kind.describe(), b.kind.describe())
            };
            return self.slip(self.token(expression), message);
        }
        self.known_reason(left, &a, &b)?;
        self.known_reason(right, &b, &a)?;
        let place = self.place(expression);
        let node = Node::Equal([a.node, b.node].into(), place);
        Checked::new(if is_negated { Node::Not(node.into(), place) } else { node }, Kind::Bool)
    }

    /// A reason that RabbitMQ does not have would never match.
    fn known_reason(&mut self, stands: &IdedExpr, text: &Checked, other: &Checked) -> Option<()> {
        let (Node::Literal(Literal::Text(text)), Node::Letter(LetterField::Reason)) = (&text.node, &other.node) else {
            return Some(());
        };
        if text.parse::<Reason>().is_ok() {
            return Some(());
        }
        let known: Vec<&str> = Reason::ALL.iter().map(|reason| reason.as_str()).collect();
        self.slip(self.token(stands), format!("letter.reason is one of {}", known.join(", ")))
    }

    fn order(&mut self, expression: &IdedExpr, order: Order, left: &IdedExpr, right: &IdedExpr) -> Option<Checked> {
        let (a, b) = self.both(left, right)?;
        let is_ordered = |kind: Kind| {
            matches!(kind, Kind::Any | Kind::Bool | Kind::Number | Kind::Text | Kind::Timestamp | Kind::Duration)
        };
        if !a.kind.may_be(b.kind) || !is_ordered(a.kind) || !is_ordered(b.kind) {
            let message = format!("{} can't compare {} with {}", order.sign(), a.kind.describe(), b.kind.describe());
            return self.slip(self.token(expression), message);
        }
        Checked::new(Node::Order(order, [a.node, b.node].into(), self.place(expression)), Kind::Bool)
    }

    fn contained(&mut self, expression: &IdedExpr, value: &IdedExpr, within: &IdedExpr) -> Option<Checked> {
        let (a, b) = self.both(value, within)?;
        match b.kind {
            Kind::Any | Kind::List | Kind::Map => {}
            Kind::Text => return self.slip(self.token(expression), "write .contains(\"…\") to search a text"),
            kind => {
                let message = format!("`in` searches a list or the keys of a map, but this is {}", kind.describe());
                return self.slip(self.token(expression), message);
            }
        }
        Checked::new(Node::In([a.node, b.node].into(), self.place(expression)), Kind::Bool)
    }

    pub(super) fn item(&mut self, expression: &IdedExpr, of: &IdedExpr, index: &IdedExpr) -> Option<Checked> {
        if self.is_letter(of) {
            return self.slip(self.token(expression), "name what of the letter is meant, as in letter.queue");
        }
        let (a, b) = self.both(of, index)?;
        let is_right = match a.kind {
            Kind::Any => matches!(b.kind, Kind::Any | Kind::Number | Kind::Text | Kind::Bool),
            Kind::List => b.kind.may_be(Kind::Number),
            Kind::Map => matches!(b.kind, Kind::Any | Kind::Number | Kind::Text | Kind::Bool),
            _ => false,
        };
        if !is_right {
            let message = format!("{} can't be taken out of {}", b.kind.describe(), a.kind.describe());
            return self.slip(self.token(expression), message);
        }
        Checked::new(Node::Item([a.node, b.node].into(), self.place(expression)), Kind::Any)
    }

    fn arithmetic(
        &mut self,
        expression: &IdedExpr,
        operation: Arithmetic,
        left: &IdedExpr,
        right: &IdedExpr,
    ) -> Option<Checked> {
        let (a, b) = self.both(left, right)?;
        let Some(kind) = result(operation, a.kind, b.kind) else {
            let sign = operation.sign();
            let message = format!("{sign} can't be applied to {} and {}", a.kind.describe(), b.kind.describe());
            return self.slip(self.token(expression), message);
        };
        let is_zero = matches!(b.node, Node::Literal(Literal::Int(0)));
        if is_zero && matches!(operation, Arithmetic::Divide | Arithmetic::Remainder) {
            return self.slip(self.token(expression), "this divides by zero");
        }
        Checked::new(Node::Arithmetic(operation, [a.node, b.node].into(), self.place(expression)), kind)
    }
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
