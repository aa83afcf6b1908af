//! Why a rule is not as somebody wished.

use std::path::PathBuf;

use rule_language::Mistake;
use thiserror::Error;

use crate::{
    domain::{rule::ActiveRule, version::Changed},
    store::{ChangeError, OrderError, StoreError},
};

#[derive(Debug, Error)]
pub enum RuleError {
    /// The name cannot be given: why.
    #[error("{0}")]
    Name(String),
    /// The expression is wrong, in these places.
    #[error("{}", describe(.0))]
    Expression(Vec<Mistake>),
    #[error("there are {max} rules already; remove one first", max = super::MAX_RULES)]
    TooMany,
    #[error("the rules are in the file {}; change them there", .0.display())]
    InFile(PathBuf),
    #[error("there is no such rule any more")]
    Gone,
    #[error("somebody else has changed the rule")]
    Changed(Changed<ActiveRule>),
    #[error("Somebody has put the rules into another order meanwhile.")]
    Reordered,
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<ChangeError<ActiveRule>> for RuleError {
    fn from(error: ChangeError<ActiveRule>) -> Self {
        match error {
            ChangeError::Changed(Changed(None)) => Self::Gone,
            ChangeError::Changed(changed) => Self::Changed(changed),
            ChangeError::Store(error) => Self::Store(error),
        }
    }
}

impl From<OrderError> for RuleError {
    fn from(error: OrderError) -> Self {
        match error {
            ChangeError::Changed(_) => Self::Reordered,
            ChangeError::Store(error) => Self::Store(error),
        }
    }
}

pub(crate) fn describe(mistakes: &[Mistake]) -> String {
    mistakes.iter().map(Mistake::to_string).collect::<Vec<_>>().join("; ")
}
