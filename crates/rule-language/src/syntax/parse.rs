//! The parser: from words and signs to the tree that they make.
//!
//! It recurses where a bracket opens, and by the strengths of operators. The scanner lets no more than
//! [`MAX_BRACKETS`](crate::limits::MAX_BRACKETS) stand within each other, so that any thread's stack is enough.

use std::mem;

use super::{
    cursor::{Cursor, is_keyword, is_reserved},
    literal,
    token::{Token, TokenKind},
    tree::{Expr, Form, Operator},
};
use crate::{
    mistake::Slip,
    node::{Arithmetic, Literal, Logic, Order},
};

/// Reads the tokens of `rule`.
///
/// # Errors
/// The first token that does not fit.
pub(super) fn parse<'r>(rule: &'r str, tokens: &[Token]) -> Result<Expr<'r>, Slip> {
    let mut parser = Parser { tokens: Cursor::new(rule, tokens) };
    let expr = parser.expression()?;
    if parser.tokens.token(0).is_some() { Err(parser.tokens.unexpected()) } else { Ok(expr) }
}

/// How strongly operators bind; those of the same strength go from left to right.
const OPERATORS: [(&str, u8, Operator); 14] = [
    ("||", 1, Operator::Logic(Logic::Or)),
    ("&&", 2, Operator::Logic(Logic::And)),
    ("==", 3, Operator::Equal),
    ("!=", 3, Operator::NotEqual),
    ("<", 3, Operator::Order(Order::Less)),
    ("<=", 3, Operator::Order(Order::LessOrEqual)),
    (">", 3, Operator::Order(Order::Greater)),
    (">=", 3, Operator::Order(Order::GreaterOrEqual)),
    ("in", 3, Operator::In),
    ("+", 4, Operator::Arithmetic(Arithmetic::Add)),
    ("-", 4, Operator::Arithmetic(Arithmetic::Subtract)),
    ("*", 5, Operator::Arithmetic(Arithmetic::Multiply)),
    ("/", 5, Operator::Arithmetic(Arithmetic::Divide)),
    ("%", 5, Operator::Arithmetic(Arithmetic::Remainder)),
];

type Parsed<'r> = Result<Expr<'r>, Slip>;

struct Parser<'t, 'r> {
    tokens: Cursor<'t, 'r>,
}

impl<'r> Parser<'_, 'r> {
    fn expression(&mut self) -> Parsed<'r> {
        let mut choices = Vec::new();
        let mut last = self.operation(0)?;
        while let Some(sign) = self.tokens.take("?") {
            let yes = self.operation(0)?;
            self.tokens.expect(":")?;
            let condition = mem::replace(&mut last, self.operation(0)?);
            choices.push((sign, condition, yes));
        }
        let choice = |no, (sign, condition, yes)| Expr::new(sign, Form::Choice([condition, yes, no].into()));
        Ok(choices.into_iter().rev().fold(last, choice))
    }

    /// Operators that bind more strongly than `strength`, and what stands between them.
    fn operation(&mut self, strength: u8) -> Parsed<'r> {
        let mut left = self.unary()?;
        while let Some((sign, strength, operator)) = self.operator(strength) {
            let right = self.operation(strength)?;
            left = match operator {
                Operator::Logic(logic) => self.terms(logic, strength, left, (sign, right))?,
                _ => Expr::new(sign, Form::Binary(operator, [left, right].into())),
            };
        }
        Ok(left)
    }

    fn operator(&mut self, strength: u8) -> Option<(Token, u8, Operator)> {
        let text = self.tokens.text(0);
        let (_, found, operator) = OPERATORS.into_iter().find(|(sign, found, _)| *sign == text && *found > strength)?;
        self.tokens.next().map(|sign| (sign, found, operator))
    }

    /// The terms behind the first two.
    fn terms(&mut self, logic: Logic, strength: u8, first: Expr<'r>, second: (Token, Expr<'r>)) -> Parsed<'r> {
        let mut others = vec![second];
        while let Some(sign) = self.tokens.take(logic.sign()) {
            others.push((sign, self.operation(strength)?));
        }
        Ok(balanced(logic, first, others))
    }

    /// Two signs of a kind before an operand cancel each other.
    fn unary(&mut self) -> Parsed<'r> {
        let sign = self.tokens.text(0);
        let Some(first) = self.tokens.token(0).filter(|_| matches!(sign, "!" | "-") && !self.is_negative_number())
        else {
            return self.member();
        };
        let mut is_odd = false;
        while self.tokens.take(sign).is_some() {
            is_odd = !is_odd;
        }
        let operand = self.member()?;
        Ok(match sign {
            _ if !is_odd => operand,
            "!" => Expr::new(first, Form::Not(operand.into())),
            _ => Expr::new(first, Form::Negate(operand.into())),
        })
    }

    /// One minus sign before a number belongs to it.
    fn is_negative_number(&self) -> bool {
        let is_number = self.tokens.token(1).is_some_and(|token| token.kind == TokenKind::Number);
        self.tokens.text(0) == "-" && is_number && !self.tokens.text(1).ends_with(['u', 'U'])
    }

    /// An operand with its fields, calls and indexes.
    fn member(&mut self) -> Parsed<'r> {
        let mut of = self.primary()?;
        loop {
            of = if let Some(open) = self.tokens.take("[") {
                let index = self.expression()?;
                self.tokens.expect("]")?;
                Expr::new(open, Form::Item([of, index].into()))
            } else if self.tokens.take(".").is_some() {
                self.behind_dot(of)?
            } else {
                return Ok(of);
            };
        }
    }

    fn behind_dot(&mut self, of: Expr<'r>) -> Parsed<'r> {
        let (token, name) = (self.tokens.token(0).filter(|token| token.kind == TokenKind::Word), self.tokens.text(0));
        let Some(token) = token.filter(|_| !is_keyword(name)) else { return Err(self.tokens.unexpected()) };
        self.tokens.skip();
        if let Some(escaped) = name.strip_prefix('`') {
            let name = escaped.trim_end_matches('`');
            return Ok(Expr::new(token, Form::Select(of.into(), name)));
        }
        self.named(token, name, Some(of))
    }

    /// A call, or else a field or a name.
    fn named(&mut self, token: Token, name: &'r str, target: Option<Expr<'r>>) -> Parsed<'r> {
        let target = target.map(Box::new);
        if self.tokens.take("(").is_some() {
            let arguments = self.items(")", Self::expression)?;
            return Ok(Expr::new(token, Form::Call { name, target, arguments }));
        }
        if self.tokens.text(0) == "{" {
            return Err(self.tokens.mistake("rules know no types of messages"));
        }
        Ok(Expr::new(token, target.map_or(Form::Name(name), |of| Form::Select(of, name))))
    }

    fn primary(&mut self) -> Parsed<'r> {
        let text = self.tokens.text(0);
        let Some(token) = self.tokens.token(0) else { return Err(self.tokens.unexpected()) };
        let form = match (token.kind, text) {
            (TokenKind::Number, _) => return self.number(token, false),
            (TokenKind::Text, _) => Form::Literal(Literal::Text(literal::text(text).into())),
            (_, "null") => Form::Literal(Literal::Null),
            (_, "true" | "false") => Form::Literal(Literal::Bool(text == "true")),
            (TokenKind::Word, _) => return self.name(token, text),
            (_, "(") => return self.bracketed(),
            (_, "[") => return self.list(token),
            (_, "{") => return self.map(token),
            (_, "-") if self.is_negative_number() => return self.negative(),
            (_, ".") => return Err(self.tokens.mistake("something is missing before this dot")),
            _ => return Err(self.tokens.unexpected()),
        };
        self.tokens.skip();
        Ok(Expr::new(token, form))
    }

    fn name(&mut self, token: Token, name: &'r str) -> Parsed<'r> {
        if is_reserved(name) || is_keyword(name) || name.starts_with('`') {
            return Err(self.tokens.unexpected());
        }
        self.tokens.skip();
        self.named(token, name, None)
    }

    fn negative(&mut self) -> Parsed<'r> {
        self.tokens.skip();
        match self.tokens.token(0) {
            Some(number) => self.number(number, true),
            None => Err(self.tokens.unexpected()),
        }
    }

    fn number(&mut self, token: Token, is_negative: bool) -> Parsed<'r> {
        let text = self.tokens.text(0);
        let Some(number) = literal::number(text, is_negative) else {
            return Err(self.tokens.mistake(format!("`{text}` is no number that 64 bits can hold")));
        };
        self.tokens.skip();
        Ok(Expr::new(token, Form::Literal(number)))
    }

    fn bracketed(&mut self) -> Parsed<'r> {
        self.tokens.skip();
        let inside = self.expression()?;
        self.tokens.expect(")")?;
        Ok(inside)
    }

    fn list(&mut self, open: Token) -> Parsed<'r> {
        self.tokens.skip();
        Ok(Expr::new(open, Form::List(self.items("]", Self::expression)?)))
    }

    fn map(&mut self, open: Token) -> Parsed<'r> {
        self.tokens.skip();
        Ok(Expr::new(open, Form::Map(self.items("}", Self::entry)?)))
    }

    fn entry(&mut self) -> Result<(Expr<'r>, Expr<'r>), Slip> {
        let key = self.expression()?;
        self.tokens.expect(":")?;
        Ok((key, self.expression()?))
    }

    /// Items with commas between them, up to a closing bracket. Before those of lists and maps may be one more comma.
    fn items<T>(&mut self, close: &str, item: fn(&mut Self) -> Result<T, Slip>) -> Result<Vec<T>, Slip> {
        let may_trail = close != ")";
        let mut items = Vec::new();
        if self.tokens.text(0) != close && !(may_trail && self.tokens.text(0) == ",") {
            items.push(item(self)?);
            while self.tokens.text(0) == "," && !(may_trail && self.tokens.text(1) == close) {
                self.tokens.skip();
                items.push(item(self)?);
            }
        }
        if may_trail {
            self.tokens.take(",");
        }
        self.tokens.expect(close)?;
        Ok(items)
    }
}

/// A tree of terms that is as flat as can be, so that their number does not count as depth.
fn balanced<'r>(logic: Logic, first: Expr<'r>, mut others: Vec<(Token, Expr<'r>)>) -> Expr<'r> {
    let mut behind = others.split_off(others.len() / 2).into_iter();
    let Some((sign, next)) = behind.next() else { return first };
    let sides = [balanced(logic, first, others), balanced(logic, next, behind.collect())];
    Expr::new(sign, Form::Binary(Operator::Logic(logic), sides.into()))
}
