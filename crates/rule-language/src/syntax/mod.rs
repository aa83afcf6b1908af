//! From the text of a rule to a tree of its steps. What the steps mean is not known here.

mod cursor;
mod literal;
mod parse;
mod scan;
mod token;
mod tree;

use crate::mistake::Slip;
pub(super) use token::Token;
pub(super) use tree::{Expr, Form, Operator};

/// Reads a rule.
///
/// # Errors
/// The first mistake in its syntax.
pub(super) fn read(rule: &str) -> Result<Expr<'_>, Slip> {
    parse::parse(rule, &scan::scan(rule)?)
}
