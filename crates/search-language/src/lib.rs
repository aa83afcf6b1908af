#![doc = include_str!("../README.md")]

mod completion;
mod field;
mod limits;
mod mistake;
mod node;
mod parse;
mod scan;

#[cfg(test)]
mod tests;

pub use completion::Cursor;
pub use field::{Field, Language};
pub use limits::{MAX_DEPTH, MAX_LENGTH, MAX_TERMS};
pub use mistake::Mistake;
pub use node::{Comparison, Kind, Node, Term, Value};
