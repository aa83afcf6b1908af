//! Functions, `has` and the comprehensions.

use cel::common::ast::{CallExpr, Expr, IdedExpr};

use super::{
    Check, Checked,
    names::{self, Form, Signature},
};
use crate::{
    moment,
    node::{Each, Function, Kind, Literal, Node, What},
    pattern::Pattern,
};

impl Check<'_> {
    pub(super) fn call(&mut self, expression: &IdedExpr, call: &CallExpr) -> Option<Checked> {
        if let Some(checked) = self.operator(expression, call) {
            return checked;
        }
        let name = call.func_name.as_str();
        let target = call.target.as_deref();
        if let (Some(over), Some((what, kind))) = (target, names::comprehension(name)) {
            return self.each(expression, what, kind, over, &call.args);
        }
        match (name, target, call.args.as_slice()) {
            ("has", None, [argument]) => self.has(expression, argument),
            ("has", ..) => self.slip(self.token(expression), "write has(…) with one field in it, as has(payload.id)"),
            ("matches", Some(text), [pattern]) | ("matches", None, [text, pattern]) => {
                self.matches(expression, text, pattern)
            }
            ("matches", ..) => self.slip(self.token(expression), "write it as text.matches(\"pattern\")"),
            _ => match names::function(name) {
                Some(signature) => self.function(expression, signature, target, &call.args),
                None => self.unknown(expression, name),
            },
        }
    }

    fn unknown(&mut self, expression: &IdedExpr, name: &str) -> Option<Checked> {
        let message = names::unknown(name, names::callable()).unwrap_or_else(|| {
            let known: Vec<&str> = names::callable().collect();
            format!("there is no function `{name}`; there are {}", known.join(", "))
        });
        self.slip(self.token(expression), message)
    }

    fn has(&mut self, expression: &IdedExpr, argument: &IdedExpr) -> Option<Checked> {
        let checked = self.node(argument)?;
        if !matches!(checked.node, Node::Letter(_) | Node::Payload | Node::Member(..) | Node::Item(..)) {
            return self.slip(self.token(expression), "has takes a field of the letter or the payload");
        }
        Checked::new(Node::Has(checked.node.into()), Kind::Bool)
    }

    fn function(
        &mut self,
        expression: &IdedExpr,
        signature: &Signature,
        target: Option<&IdedExpr>,
        arguments: &[IdedExpr],
    ) -> Option<Checked> {
        let is_member = target.is_some();
        let is_form = !matches!((signature.form, is_member), (Form::Global, true) | (Form::Member, false));
        let given: Vec<&IdedExpr> = target.into_iter().chain(arguments).collect();
        if !is_form || given.len() != 1 + usize::from(signature.has_part) {
            let part = if signature.has_part { "text" } else { "" };
            let usage = match signature.form {
                Form::Global => format!("{}(…)", signature.name),
                Form::Member | Form::Both => format!("….{}({part})", signature.name),
            };
            return self.slip(self.token(expression), format!("write it as {usage}"));
        }
        let checked: Vec<_> = given.iter().map(|argument| self.node(argument)).collect();
        let checked = checked.into_iter().collect::<Option<Vec<_>>>()?;
        for (n, (argument, checked)) in given.iter().zip(&checked).enumerate() {
            let takes = if n == 0 { signature.takes } else { &[Kind::Text] };
            if !takes.iter().any(|kind| kind.may_be(checked.kind)) {
                let takes: Vec<&str> = takes.iter().map(|kind| kind.describe()).collect();
                let (name, takes) = (signature.name, takes.join(" or "));
                let message = format!("{name} takes {takes}, but this is {}", checked.kind.describe());
                return self.slip(self.token(argument), message);
            }
        }
        let nodes: Vec<Node> = checked.into_iter().map(|checked| checked.node).collect();
        if let ([argument], [Node::Literal(Literal::Text(text))]) = (given.as_slice(), nodes.as_slice())
            && let Some(moment) = self.moment(argument, signature.function, text)
        {
            return moment;
        }
        Checked::new(Node::Call(signature.function, nodes.into(), self.place(expression)), signature.gives)
    }

    /// A point in time or a duration that is written out is read once; `None` for what is neither.
    fn moment(&mut self, written: &IdedExpr, function: Function, text: &str) -> Option<Option<Checked>> {
        let (literal, kind, example) = match function {
            Function::Timestamp => (
                moment::timestamp(text).map(Literal::Timestamp),
                Kind::Timestamp,
                "a point in time, as 2026-01-31T09:00:00Z",
            ),
            Function::Duration => {
                (moment::duration(text).map(Literal::Duration), Kind::Duration, "a duration, as 90s or 1h30m or 48h")
            }
            _ => return None,
        };
        Some(match literal {
            Some(literal) => Checked::new(Node::Literal(literal), kind),
            None => self.slip(self.token(written), format!("this is not the text of {example}")),
        })
    }

    fn matches(&mut self, expression: &IdedExpr, text: &IdedExpr, pattern: &IdedExpr) -> Option<Checked> {
        let (checked, written) = (self.node(text), self.node(pattern));
        let (checked, written) = checked.zip(written)?;
        if !checked.kind.may_be(Kind::Text) {
            let message = format!("matches takes a text, but this is {}", checked.kind.describe());
            return self.slip(self.token(text), message);
        }
        let Node::Literal(Literal::Text(written)) = written.node else {
            return self.slip(self.token(pattern), "the pattern has to stand here in quotes");
        };
        let token = self.token(pattern);
        match Pattern::compile(&written) {
            Ok(pattern) => {
                let node = Node::Matches(checked.node.into(), pattern.into(), self.place(expression));
                Checked::new(node, Kind::Bool)
            }
            Err(reason) => self.slip(token, format!("this is no regular expression: {reason}")),
        }
    }

    fn each(
        &mut self,
        expression: &IdedExpr,
        what: What,
        kind: Kind,
        over: &IdedExpr,
        arguments: &[IdedExpr],
    ) -> Option<Checked> {
        let (variable, condition, body) = match arguments {
            [variable, body] => (variable, None, body),
            [variable, condition, body] if what == What::Map => (variable, Some(condition), body),
            _ => {
                let message = format!("write it as list.{}(x, what is asked of x)", what.name());
                return self.slip(self.token(expression), message);
            }
        };
        let checked_over = self.node(over);
        let name = self.variable(variable)?;
        self.variables.push(name);
        let checked_condition = condition.map(|condition| self.node(condition));
        let checked_body = self.node(body);
        self.variables.pop();
        let (checked_over, checked_body) = checked_over.zip(checked_body)?;
        let checked_condition = match checked_condition {
            Some(checked) => Some(checked?),
            None => None,
        };
        self.need_elements(over, what, checked_over.kind)?;
        let asked = condition.zip(checked_condition.as_ref()).or((what != What::Map).then_some((body, &checked_body)));
        if let Some((asked, checked)) = asked.filter(|(_, checked)| !checked.kind.may_be(Kind::Bool)) {
            let message = format!("{} asks for yes or no, but this is {}", what.name(), checked.kind.describe());
            return self.slip(self.token(asked), message);
        }
        let condition = checked_condition.map(|checked| checked.node);
        let each = Each { what, over: checked_over.node, condition, body: checked_body.node };
        Checked::new(Node::Each(each.into(), self.place(expression)), kind)
    }

    /// The name that a comprehension gives to the elements.
    fn variable(&mut self, variable: &IdedExpr) -> Option<String> {
        match &variable.expr {
            Expr::Ident(name) if name == "letter" || name == "payload" => {
                self.slip(self.token(variable), format!("`{name}` means something else; choose another name"))
            }
            Expr::Ident(name) if !name.starts_with('.') => Some(name.clone()),
            _ => self.slip(self.token(variable), "the first argument is a name for the elements, as x"),
        }
    }

    fn need_elements(&mut self, over: &IdedExpr, what: What, kind: Kind) -> Option<()> {
        if kind.may_be(Kind::List) || kind == Kind::Map {
            return Some(());
        }
        let message = format!("{} goes through a list or a map, but this is {}", what.name(), kind.describe());
        self.slip(self.token(over), message)
    }
}
