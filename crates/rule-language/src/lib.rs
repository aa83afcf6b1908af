//! Importance rules: expressions in CEL that say of a letter whether it matters more or less than others.
//!
//! This knows the language of rules and what a letter shows them. It must never know where rules are kept or what is
//! done with a letter that one takes. It has no clock and no I/O.
//!
//! # The language
//! Rules are written in CEL (<https://github.com/google/cel-spec>), as in `letter.queue.startsWith("campaigns.") &&
//! payload.region == "eu"`. [`LetterFacts`] lists what is known of the letter; `letter.error` is its error in one line
//! and `payload` the decoded body as JSON. There are the operators, `has`, `all`, `exists`, `exists_one`, `filter`,
//! `map`, `matches`, `size`, `startsWith`, `endsWith`, `contains`, `lowerAscii`, `upperAscii`, the conversions,
//! `timestamp`, `duration` and, of a timestamp in UTC, `getDayOfWeek`, `getHours` and `getMinutes`. Bytes, types as
//! values and optional values are left out.
//!
//! The parser is that of the `cel` crate. Evaluating is our own, because messages come from anybody and that crate
//! evaluates without bounds. Where it differs from the specification, it is for the sake of whoever writes rules:
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
//! Nobody who writes rules or sends messages can stop the intake of letters.
//! - *The text of a rule*: [`MAX_CHARACTERS`], [`MAX_TOKENS`], [`MAX_BRACKETS`] within each other, [`MAX_DEPTH`] steps
//!   that build on each other, patterns of [`MAX_PATTERN`] bytes compiled. The parser overflows its stack at some
//!   hundred brackets, so they are counted before it sees them (`scan.rs`) and it has a large stack of its own
//!   (`syntax.rs`).
//! - *Time*: every node that is evaluated, every element that is gone through and every 64 bytes of text is a step
//!   (`budget.rs`). A rule has [`MAX_STEPS`], all rules of a letter together [`MAX_STEPS_OF_A_LETTER`], and at least
//!   [`MIN_STEPS`] are left for each. Patterns match in linear time, and what a large one costs is
//!   charged (`pattern.rs`).
//! - *Memory*: what a rule makes costs steps too, and no text it makes is longer than [`MAX_TEXT`]. Nothing of the
//!   letter is copied. The payload is only read when a rule asks for it, up to [`MAX_PAYLOAD`] bytes and
//!   [`MAX_PAYLOAD_VALUES`] values.
//! - *Stack*: evaluating recurses as deep as the rule is, and comparing 128 levels.

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
    MAX_STEPS_OF_A_LETTER, MAX_TEXT, MAX_TOKENS, MIN_STEPS,
};
pub use mistake::{Mistake, Place};
pub use ruleset::{Outcome, Rule, Ruleset};
