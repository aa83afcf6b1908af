#![doc = include_str!("../README.md")]
//!
//! # Where the language differs from CEL
//! For the sake of whoever writes rules:
//! - **What is missing makes a rule not match, and is never an error.** So does null where a value is needed. `a || b`
//!   still matches by `b` alone. A member of what has no members is missing too.
//! - `has` is false where anything on the way is missing, and also takes `has(letter.headers["x-tenant"])` and
//!   `has(payload)`.
//! - There is one kind of number: `5 == 5.0`, and `payload.price * 1.2` works whether the price is written `5` or
//!   `5.0`. Whole numbers go from the least `int` to the greatest `uint`.
//! - **A text of a header or the payload that consists of a whole number's digits compares with numbers as that
//!   number**: the JSON of protobuf writes 64-bit numbers as texts, and many clients write headers so. It compares with
//!   texts as a text as well. To calculate with it, write `int(payload.id)`.
//!
//! # What is bounded, and how
//! - *The text of a rule*: [`MAX_CHARACTERS`], [`MAX_TOKENS`], [`MAX_BRACKETS`] within each other, [`MAX_DEPTH`] steps
//!   that build on each other, patterns of [`MAX_PATTERN`] bytes compiled.
//! - *Time*: every node that is evaluated, every element that is gone through and every 64 bytes of text is a step. A
//!   rule has [`MAX_STEPS`], all rules of a message together [`MAX_STEPS_PER_MESSAGE`], and at least [`MIN_STEPS`] are
//!   left for each. Patterns match in linear time, and what a large one costs is charged.
//! - *Memory*: what a rule makes costs steps too, and no text it makes is longer than [`MAX_TEXT`]. Nothing of the
//!   message is copied. The payload is only read when a rule asks for it, up to [`MAX_PAYLOAD`] bytes and
//!   [`MAX_PAYLOAD_VALUES`] values.
//! - *Stack*: reading recurses by brackets, checking and evaluating as deep as the rule is, and comparing 128 levels.
//!
//! # How it is built
//! `syntax` makes a tree of a text, `check` a plan of the tree (`node`), and `evaluate` decides it for a message.
//! Parser and evaluator are our own: those of the `cel` crate have no bounds, so that each rule would need a thread
//! with a large stack to be read, and could keep the processor busy for hours.

#![warn(missing_docs)]

mod budget;
mod check;
mod evaluate;
mod expression;
mod facts;
mod failure;
mod help;
mod limits;
mod mistake;
mod moment;
mod node;
mod number;
mod pattern;
mod ruleset;
mod syntax;
mod value;

#[cfg(test)]
mod tests;

pub use expression::Expression;
pub use facts::{Decode, Facts, LetterFacts};
pub use failure::{Failure, Fault};
pub use help::{FIELDS, FunctionHelp, functions};
pub use limits::{
    MAX_BRACKETS, MAX_CHARACTERS, MAX_DEPTH, MAX_PATTERN, MAX_PAYLOAD, MAX_PAYLOAD_VALUES, MAX_STEPS,
    MAX_STEPS_PER_MESSAGE, MAX_TEXT, MAX_TOKENS, MIN_STEPS,
};
pub use mistake::{Mistake, Place};
pub use ruleset::{Decision, Ruleset};
