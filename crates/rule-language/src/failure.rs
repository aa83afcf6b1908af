//! Why a rule could not be decided for a letter.

use std::fmt;

use super::{
    limits::{MAX_PAYLOAD, MAX_TEXT},
    mistake::Place,
};

/// A fault and where in the rule it came up. Its text holds nothing of the letter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// `None` where it concerns the whole rule.
    pub at: Option<Place>,
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

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    #[error("{operation} can't be applied to {operand}")]
    Operand { operation: &'static str, operand: &'static str },
    #[error("{operation} can't be applied to {left} and {right}")]
    Operands { operation: &'static str, left: &'static str, right: &'static str },
    #[error("a rule has to end in yes or no, but this one ended in {0}")]
    Answer(&'static str),
    #[error("this divides by zero")]
    DivisionByZero,
    #[error("the result is too large a number")]
    Overflow,
    #[error("this is not the text of {0}")]
    Unreadable(&'static str),
    #[error("a key stands twice in this map")]
    DoubleKey,
    #[error("the text it makes is longer than {MAX_TEXT} bytes")]
    TextTooLong,
    #[error("the rule takes too many steps for this letter; let it look at fewer or shorter values")]
    TooCostly,
    #[error("the values within each other are too deep to compare")]
    TooDeep,
    #[error("the payload is too large for rules, which read up to {} KiB of JSON", MAX_PAYLOAD / 1024)]
    PayloadTooLarge,
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
    /// The letter does not have what the rule asks for.
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
