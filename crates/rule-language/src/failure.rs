//! Why a rule could not be decided for a message.

use std::fmt;

use super::{
    limits::{MAX_PAYLOAD, MAX_TEXT},
    mistake::Place,
};

/// A fault and where in the rule it came up. Its text holds nothing of the message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// `None` where it concerns the whole rule.
    pub at: Option<Place>,
    /// What went wrong.
    pub fault: Fault,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.at {
            Some(at) => write!(f, "{at}: {}", self.fault),
            None => self.fault.fmt(f),
        }
    }
}

impl std::error::Error for Failure {}

/// What went wrong. Displays as a clause that begins with a small letter and has no full stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// An operation can't be applied to a value of this kind.
    #[error("{operation} can't be applied to {operand}")]
    Operand {
        /// The operator or function, as it is written.
        operation: &'static str,
        /// The kind of the value, as "a text".
        operand: &'static str,
    },
    /// An operation can't be applied to values of these two kinds.
    #[error("{operation} can't be applied to {left} and {right}")]
    Operands {
        /// The operator, as it is written.
        operation: &'static str,
        /// The kind of the value on its left, as "a text".
        left: &'static str,
        /// The kind of the value on its right.
        right: &'static str,
    },
    /// The rule came to a value of this kind, and not to true or false.
    #[error("a rule has to end in yes or no, but this one ended in {0}")]
    Answer(&'static str),
    /// A whole number was divided by zero.
    #[error("this divides by zero")]
    DivisionByZero,
    /// A whole number is less than the least `int` or greater than the greatest `uint`.
    #[error("the result is too large a number")]
    Overflow,
    /// A text was to be converted to something that it is not, as "a whole number".
    #[error("this is not the text of {0}")]
    Unreadable(&'static str),
    /// A map that the rule makes has a key twice.
    #[error("a key stands twice in this map")]
    DoubleKey,
    /// A text that the rule makes is longer than [`MAX_TEXT`].
    #[error("the text it makes is longer than {MAX_TEXT} bytes")]
    TextTooLong,
    /// The budget of steps is used up.
    #[error("the rule takes too many steps for this letter; let it look at fewer or shorter values")]
    TooCostly,
    /// Values that are compared hold others in more than 128 levels.
    #[error("the values within each other are too deep to compare")]
    TooDeep,
    /// The payload is larger than [`MAX_PAYLOAD`], or has more values than rules read.
    #[error("the payload is too large for rules, which read up to {} KiB of JSON", MAX_PAYLOAD / 1024)]
    PayloadTooLarge,
    /// The evaluation panicked, which is a defect of this crate.
    #[error("the rule broke; this is a fault of the program, please report it with the rule")]
    Broken,
}

impl Fault {
    pub(super) const fn at(self, place: Place) -> Stop {
        Stop::Failed(Failure { at: Some(place), fault: self })
    }
}

/// What ends the evaluation of a step before it has a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    /// The message does not have what the rule asks for.
    Missing,
    Failed(Failure),
}

/// The value of a step.
pub(super) type Step<T> = Result<T, Stop>;

/// What concerns the whole rule.
impl From<Fault> for Stop {
    fn from(fault: Fault) -> Self {
        Self::Failed(Failure { at: None, fault })
    }
}
