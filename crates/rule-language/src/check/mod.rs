//! What can be known of a rule before any letter comes: that every name in it exists, and that its steps fit each
//! other.

mod calls;
pub(super) mod names;
mod operators;

use cel::common::ast::{EntryExpr, Expr, IdedExpr, LiteralValue, MapExpr, SelectExpr, SourceInfo};

use super::{
    MAX_DEPTH,
    mistake::{Place, Slip},
    node::{Kind, LetterField, Literal, Node, Plan},
    scan::{Token, TokenKind},
};

/// Checks what the parser made of `rule`.
pub(super) fn check(
    rule: &str,
    tokens: &[Token],
    source: &SourceInfo,
    expression: &IdedExpr,
) -> Result<Plan, Vec<Slip>> {
    let mut check =
        Check { rule, tokens, source, variables: Vec::new(), depth: 0, asks_for_payload: false, slips: Vec::new() };
    let root = check.node(expression);
    match root {
        Some(root) if check.slips.is_empty() => {
            if root.kind.may_be(Kind::Bool) {
                return Ok(Plan { root: root.node, asks_for_payload: check.asks_for_payload });
            }
            let message = format!("a rule has to end in yes or no, but this one ends in {}", root.kind.describe());
            Err(vec![Slip::new(0, rule.len(), message)])
        }
        _ => Err(check.slips),
    }
}

/// A step that was checked, and what it comes to.
struct Checked {
    node: Node,
    kind: Kind,
}

impl Checked {
    fn new(node: Node, kind: Kind) -> Option<Self> {
        Some(Self { node, kind })
    }
}

struct Check<'t> {
    rule: &'t str,
    tokens: &'t [Token],
    source: &'t SourceInfo,
    /// Of the comprehensions around the expression at hand, the outermost first.
    variables: Vec<String>,
    depth: usize,
    asks_for_payload: bool,
    slips: Vec<Slip>,
}

impl<'t> Check<'t> {
    /// `None` where there is a mistake, which is noted.
    fn node(&mut self, expression: &IdedExpr) -> Option<Checked> {
        if self.depth == MAX_DEPTH {
            let message = format!("more than {MAX_DEPTH} steps build on each other here; split the rule into several");
            return self.slip(self.token(expression), message);
        }
        self.depth += 1;
        let checked = self.expression(expression);
        self.depth -= 1;
        checked
    }

    fn expression(&mut self, expression: &IdedExpr) -> Option<Checked> {
        match &expression.expr {
            Expr::Literal(literal) => self.literal(expression, literal),
            Expr::Ident(name) => self.name(expression, name),
            Expr::Select(select) => self.select(expression, select),
            Expr::Call(call) => self.call(expression, call),
            Expr::List(list) => {
                let items: Vec<_> = list.elements.iter().map(|item| self.node(item)).collect();
                let items = items.into_iter().map(|item| item.map(|item| item.node)).collect::<Option<Box<_>>>()?;
                Checked::new(Node::List(items), Kind::List)
            }
            Expr::Map(map) => self.map(expression, map),
            Expr::Struct(_) => self.slip(self.token(expression), "rules know no types of messages"),
            Expr::Comprehension(_) | Expr::Unspecified => {
                self.slip(self.token(expression), "this has no meaning in a rule")
            }
        }
    }

    fn literal(&mut self, expression: &IdedExpr, literal: &LiteralValue) -> Option<Checked> {
        let (literal, kind) = match literal {
            LiteralValue::Null => (Literal::Null, Kind::Null),
            LiteralValue::Boolean(yes) => (Literal::Bool(*yes.inner()), Kind::Bool),
            LiteralValue::Int(number) => (Literal::Int((*number.inner()).into()), Kind::Number),
            LiteralValue::UInt(number) => (Literal::Int((*number.inner()).into()), Kind::Number),
            LiteralValue::Double(number) => (Literal::Double(*number.inner()), Kind::Number),
            LiteralValue::String(text) => (Literal::Text(text.inner().into()), Kind::Text),
            LiteralValue::Bytes(_) => return self.slip(self.token(expression), "rules know no bytes"),
        };
        Checked::new(Node::Literal(literal), kind)
    }

    /// A variable, `payload`, or a mistake: `letter` only stands before its fields.
    fn name(&mut self, expression: &IdedExpr, name: &str) -> Option<Checked> {
        if let Some(depth) = self.variables.iter().rposition(|variable| variable == name) {
            return Checked::new(Node::Variable(depth), Kind::Any);
        }
        match name {
            "payload" => {
                self.asks_for_payload = true;
                Checked::new(Node::Payload, Kind::Any)
            }
            "letter" => self.slip(self.token(expression), "name what of the letter is meant, as in letter.queue"),
            _ => {
                let known = self.variables.iter().map(String::as_str).chain(["letter", "payload"]);
                let message = names::unknown(name, known)
                    .unwrap_or_else(|| format!("nothing is called `{name}`; a rule sees `letter` and `payload`"));
                self.slip(self.token(expression), message)
            }
        }
    }

    fn select(&mut self, expression: &IdedExpr, select: &SelectExpr) -> Option<Checked> {
        let token = self.token(expression);
        if self.is_letter(&select.operand) {
            return self.letter_field(token, &select.field);
        }
        let operand = self.node(&select.operand)?;
        if !operand.kind.may_be(Kind::Map) {
            let message = format!("{} has no members, so there is no `{}`", operand.kind.describe(), select.field);
            return self.slip(token, message);
        }
        Checked::new(Node::Member(operand.node.into(), select.field.as_str().into()), Kind::Any)
    }

    fn is_letter(&self, expression: &IdedExpr) -> bool {
        matches!(&expression.expr, Expr::Ident(name) if name == "letter")
    }

    fn letter_field(&mut self, token: Token, name: &str) -> Option<Checked> {
        let Some(field) = names::letter_field(name) else {
            let known = names::LETTER_FIELDS.iter().map(|(name, _)| *name);
            let message = names::unknown(name, known).unwrap_or_else(|| {
                let known: Vec<&str> = names::LETTER_FIELDS.iter().map(|(name, _)| *name).collect();
                format!("a letter has no `{name}`; it has {}", known.join(", "))
            });
            return self.slip(token, message);
        };
        let kind = match field {
            LetterField::Attempts | LetterField::Size => Kind::Number,
            LetterField::Headers => Kind::Map,
            LetterField::FirstFailedAt | LetterField::LastFailedAt => Kind::Timestamp,
            _ => Kind::Text,
        };
        Checked::new(Node::Letter(field), kind)
    }

    fn map(&mut self, expression: &IdedExpr, map: &MapExpr) -> Option<Checked> {
        let mut entries = Vec::new();
        for entry in &map.entries {
            let EntryExpr::MapEntry(entry) = &entry.expr else { continue };
            let (key, value) = (self.node(&entry.key), self.node(&entry.value));
            entries.push(key.zip(value).map(|(key, value)| (key.node, value.node)));
        }
        let entries = entries.into_iter().collect::<Option<Box<_>>>()?;
        Checked::new(Node::Map(entries, self.place(expression)), Kind::Map)
    }

    /// Notes a mistake.
    fn slip<T>(&mut self, token: Token, message: impl Into<String>) -> Option<T> {
        self.slips.push(Slip::new(token.at, token.end, message));
        None
    }

    fn place(&self, expression: &IdedExpr) -> Place {
        Place::of(self.rule, self.token(expression).at)
    }

    /// The token that stands for an expression: its sign, its name.
    fn token(&self, expression: &IdedExpr) -> Token {
        if matches!(&expression.expr, Expr::Select(_)) {
            return self.token_behind(expression);
        }
        let index = self.index(expression);
        let token = self.tokens.get(index).copied();
        // A call stands at its bracket.
        let is_call = matches!(&expression.expr, Expr::Call(call) if call.func_name.starts_with(char::is_alphabetic));
        let name = index.checked_sub(1).and_then(|before| self.tokens.get(before)).filter(|_| is_call);
        let name =
            name.filter(|name| name.kind == TokenKind::Word && token.is_some_and(|token| token.text(self.rule) == "("));
        name.copied().or(token).unwrap_or_else(|| self.whole())
    }

    /// The name behind a dot.
    fn token_behind(&self, select: &IdedExpr) -> Token {
        self.tokens.get(self.index(select) + 1).copied().unwrap_or_else(|| self.whole())
    }

    fn whole(&self) -> Token {
        Token { kind: TokenKind::Sign, at: 0, end: self.rule.len() }
    }

    fn index(&self, expression: &IdedExpr) -> usize {
        let at = self.source.offset_for(expression.id).and_then(|(start, _)| usize::try_from(start).ok()).unwrap_or(0);
        self.tokens.partition_point(|token| token.end <= at)
    }
}
