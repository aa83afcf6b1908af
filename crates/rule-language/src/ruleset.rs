//! Rules in their order.

use super::{budget::Budget, expression::Expression, facts::Facts, failure::Failure};

/// Rules that are tried one after the other, each with what it comes to: a name, a number, whatever the user of this
/// crate needs of the rule that matches.
#[derive(Debug)]
pub struct Ruleset<T> {
    rules: Vec<(Expression, T)>,
}

/// What rules come to for a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision<'r, T> {
    /// That of the first rule that matches; `None` where none does.
    pub outcome: Option<&'r T>,
    /// The rules before it that could not be decided, by their outcomes.
    pub failures: Vec<(&'r T, Failure)>,
}

impl<T> Default for Ruleset<T> {
    fn default() -> Self {
        Self::new(Vec::new())
    }
}

impl<T> Ruleset<T> {
    /// The first of `rules` is tried first.
    pub const fn new(rules: Vec<(Expression, T)>) -> Self {
        Self { rules }
    }

    /// Whether the payload can make a difference to any of them. Where not, it need not be decoded.
    pub fn asks_for_payload(&self) -> bool {
        self.rules.iter().any(|(expression, _)| expression.asks_for_payload())
    }

    /// The first rule that matches. One that fails does not match, and the next is tried.
    pub fn first(&self, facts: &Facts<'_>) -> Decision<'_, T> {
        let mut budget = Budget::new();
        let mut failures = Vec::new();
        for (expression, outcome) in &self.rules {
            match expression.matches_within(facts, &mut budget) {
                Ok(false) => {}
                Ok(true) => return Decision { outcome: Some(outcome), failures },
                Err(failure) => failures.push((outcome, failure)),
            }
        }
        Decision { outcome: None, failures }
    }
}
