//! Rules in their order.

use super::{budget::Budget, expression::Expression, facts::Facts, failure::Failure};
use crate::domain::letter::Importance;

/// One importance rule.
#[derive(Debug)]
pub struct Rule {
    pub name: String,
    /// Of the letters it matches.
    pub importance: Importance,
    pub expression: Expression,
}

/// The rules in force, the first to be tried first.
#[derive(Debug, Default)]
pub struct Ruleset {
    rules: Vec<Rule>,
}

/// Which rule takes a letter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Its place in the ruleset, from 0; `None` where no rule matches.
    pub rule: Option<usize>,
    /// The rules before it that could not be decided, by their places.
    pub failures: Vec<(usize, Failure)>,
}

impl Ruleset {
    pub const fn new(rules: Vec<Rule>) -> Self {
        Self { rules }
    }

    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// Whether the payload can make a difference to any of them. Where not, nobody needs to decode it.
    pub fn asks_for_payload(&self) -> bool {
        self.rules.iter().any(|rule| rule.expression.asks_for_payload())
    }

    /// The first rule that matches. One that fails does not match, and the next is tried.
    pub fn first(&self, facts: &Facts<'_>) -> Outcome {
        let mut budget = Budget::new();
        let mut failures = Vec::new();
        for (place, rule) in self.rules.iter().enumerate() {
            match rule.expression.matches_within(facts, &mut budget) {
                Ok(false) => {}
                Ok(true) => return Outcome { rule: Some(place), failures },
                Err(failure) => failures.push((place, failure)),
            }
        }
        Outcome { rule: None, failures }
    }
}
