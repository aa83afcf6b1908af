//! What can be known of a rule before any message comes: that every name in it exists, and that its steps fit each
//! other.

mod calls;
mod checked;
mod each;
pub(super) mod names;
mod operators;

use crate::{
    limits::MAX_DEPTH,
    mistake::Slip,
    node::{Kind, Node, Plan, What},
    syntax::{Expr, Form, Operator, Token},
};
use checked::{Checked, Slips};

/// Checks a tree that was read from `rule`.
///
/// # Errors
/// All mistakes, in no order.
pub(super) fn check(rule: &str, tree: &Expr<'_>) -> Result<Plan, Vec<Slip>> {
    let mut check = Check { variables: Vec::new(), depth: 0, asks_for_payload: false, slips: Slips::default() };
    let root = check.node(tree);
    match root {
        Some(root) if check.slips.is_empty() => {
            if root.kind.may_be(Kind::Bool) {
                return Ok(Plan { root: root.node, asks_for_payload: check.asks_for_payload });
            }
            let message = format!("a rule has to end in yes or no, but this one ends in {}", root.kind.describe());
            Err(vec![Slip::new(0, rule.len(), message)])
        }
        _ => Err(check.slips.into_vec()),
    }
}

struct Check<'r> {
    /// Of the comprehensions around the expression at hand, the outermost first.
    variables: Vec<&'r str>,
    depth: usize,
    asks_for_payload: bool,
    slips: Slips,
}

impl<'r> Check<'r> {
    /// `None` where there is a mistake, which is noted.
    fn node(&mut self, expr: &Expr<'r>) -> Option<Checked> {
        if self.depth == MAX_DEPTH {
            let message = format!("more than {MAX_DEPTH} steps build on each other here; split the rule into several");
            return self.slips.note(expr.token, message);
        }
        self.depth += 1;
        let checked = self.expression(expr);
        self.depth -= 1;
        checked
    }

    fn expression(&mut self, expr: &Expr<'r>) -> Option<Checked> {
        let token = expr.token;
        match &expr.form {
            Form::Literal(literal) => Checked::literal(literal.clone(), token),
            Form::Name(name) => self.name(token, name),
            Form::Select(of, name) => self.select(token, of, name),
            Form::Item(sides) => self.item(token, sides),
            Form::Call { name, target, arguments } => self.call(token, name, target.as_deref(), arguments),
            Form::List(items) => self.list(token, items),
            Form::Map(entries) => self.map(token, entries),
            Form::Not(of) => self.not(token, of),
            Form::Negate(of) => self.negate(token, of),
            Form::Binary(operator, sides) => self.binary(token, *operator, sides),
            Form::Choice(parts) => self.choice(token, parts),
        }
    }

    fn not(&mut self, token: Token, of: &Expr<'r>) -> Option<Checked> {
        let of = self.node(of)?;
        operators::not(&mut self.slips, token, of)
    }

    fn negate(&mut self, token: Token, of: &Expr<'r>) -> Option<Checked> {
        let of = self.node(of)?;
        operators::negate(&mut self.slips, token, of)
    }

    fn binary(&mut self, token: Token, operator: Operator, sides: &[Expr<'r>; 2]) -> Option<Checked> {
        let sides = self.both(sides)?;
        operators::binary(&mut self.slips, token, operator, sides)
    }

    fn choice(&mut self, token: Token, [condition, yes, no]: &[Expr<'r>; 3]) -> Option<Checked> {
        let (condition, yes, no) = (self.node(condition), self.node(yes), self.node(no));
        operators::choice(&mut self.slips, token, [condition?, yes?, no?])
    }

    fn both(&mut self, [left, right]: &[Expr<'r>; 2]) -> Option<[Checked; 2]> {
        let (left, right) = (self.node(left), self.node(right));
        Some([left?, right?])
    }

    /// All of them are checked, also those behind a mistake.
    fn all<'e>(&mut self, exprs: impl IntoIterator<Item = &'e Expr<'r>>) -> Option<Vec<Checked>>
    where
        'r: 'e,
    {
        let checked: Vec<_> = exprs.into_iter().map(|expr| self.node(expr)).collect();
        checked.into_iter().collect()
    }

    /// A variable, `payload`, or a mistake: `letter` only stands before its fields.
    fn name(&mut self, token: Token, name: &str) -> Option<Checked> {
        if let Some(depth) = self.variables.iter().rposition(|variable| *variable == name) {
            return Checked::new(Node::Variable(depth), Kind::Any, token);
        }
        match name {
            "payload" => {
                self.asks_for_payload = true;
                Checked::new(Node::Payload, Kind::Any, token)
            }
            "letter" => self.bare_letter(token),
            _ => self.slips.note(token, names::unknown_variable(name, &self.variables)),
        }
    }

    fn bare_letter<T>(&mut self, token: Token) -> Option<T> {
        self.slips.note(token, "name a field, as in letter.queue")
    }

    fn select(&mut self, token: Token, of: &Expr<'r>, name: &str) -> Option<Checked> {
        if is_letter(of) {
            let Some((field, kind)) = names::letter_field(name) else {
                return self.slips.note(token, names::unknown_field(name));
            };
            return Checked::new(Node::Letter(field), kind, token);
        }
        let of = self.node(of)?;
        if !of.kind.may_be(Kind::Map) {
            let message = format!("{} has no members, so there is no `{name}`", of.kind.describe());
            return self.slips.note(token, message);
        }
        Checked::new(Node::Member(of.node.into(), name.into()), Kind::Any, token)
    }

    fn item(&mut self, token: Token, sides: &[Expr<'r>; 2]) -> Option<Checked> {
        if is_letter(&sides[0]) {
            return self.bare_letter(token);
        }
        let sides = self.both(sides)?;
        operators::item(&mut self.slips, token, sides)
    }

    fn list(&mut self, token: Token, items: &[Expr<'r>]) -> Option<Checked> {
        let items = self.all(items)?.into_iter().map(|item| item.node).collect();
        Checked::new(Node::List(items), Kind::List, token)
    }

    fn map(&mut self, token: Token, entries: &[(Expr<'r>, Expr<'r>)]) -> Option<Checked> {
        let entries: Vec<_> = entries.iter().map(|(key, value)| self.node(key).zip(self.node(value))).collect();
        let entries = entries.into_iter().map(|entry| entry.map(|(key, value)| (key.node, value.node)));
        Checked::new(Node::Map(entries.collect::<Option<_>>()?, token.place), Kind::Map, token)
    }

    fn call(&mut self, token: Token, name: &str, target: Option<&Expr<'r>>, arguments: &[Expr<'r>]) -> Option<Checked> {
        if let Some((over, what)) = target.zip(names::comprehension(name)) {
            return self.each(token, what, over, arguments);
        }
        let callee = match calls::callee(name, target.is_some(), arguments.len()) {
            Ok(callee) => callee,
            Err(message) => return self.slips.note(token, message),
        };
        let arguments = self.all(target.into_iter().chain(arguments))?;
        calls::call(&mut self.slips, token, callee, arguments)
    }

    fn each(&mut self, token: Token, what: What, over: &Expr<'r>, arguments: &[Expr<'r>]) -> Option<Checked> {
        let (variable, condition, body) = match arguments {
            [variable, body] => (variable, None, body),
            [variable, condition, body] if what == What::Map => (variable, Some(condition), body),
            _ => {
                let message = format!("write it as list.{}(x, what is asked of x)", what.name());
                return self.slips.note(token, message);
            }
        };
        let over = self.node(over);
        self.variables.push(each::variable(&mut self.slips, variable)?);
        let condition = condition.map(|condition| self.node(condition));
        let body = self.node(body);
        self.variables.pop();
        let condition = match condition {
            Some(condition) => Some(condition?),
            None => None,
        };
        each::each(&mut self.slips, token, what, over?, condition, body?)
    }
}

fn is_letter(expr: &Expr<'_>) -> bool {
    matches!(expr.form, Form::Name("letter"))
}
