//! A rule as it is written.

use super::token::Token;
use crate::node::{Arithmetic, Literal, Logic, Order};

/// A step, and the token that stands for it: its sign or its name.
#[derive(Debug)]
pub(crate) struct Expr<'r> {
    pub token: Token,
    pub form: Form<'r>,
}

#[derive(Debug)]
pub(crate) enum Form<'r> {
    Literal(Literal),
    Name(&'r str),
    /// `a.b`
    Select(Box<Expr<'r>>, &'r str),
    /// `a[b]`
    Item(Box<[Expr<'r>; 2]>),
    /// `name(arguments)` or `target.name(arguments)`
    Call {
        name: &'r str,
        target: Option<Box<Expr<'r>>>,
        arguments: Vec<Expr<'r>>,
    },
    List(Vec<Expr<'r>>),
    Map(Vec<(Expr<'r>, Expr<'r>)>),
    Not(Box<Expr<'r>>),
    Negate(Box<Expr<'r>>),
    Binary(Operator, Box<[Expr<'r>; 2]>),
    /// `a ? b : c`
    Choice(Box<[Expr<'r>; 3]>),
}

/// What stands between two operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operator {
    Logic(Logic),
    Equal,
    NotEqual,
    Order(Order),
    In,
    Arithmetic(Arithmetic),
}

impl<'r> Expr<'r> {
    pub(super) const fn new(token: Token, form: Form<'r>) -> Self {
        Self { token, form }
    }
}
