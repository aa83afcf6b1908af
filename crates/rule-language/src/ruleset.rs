//! Rules in their order.

use super::{budget::Budget, expression::Expression, facts::Facts, failure::Failure};

/// One rule, and what it gives to what it matches.
#[derive(Debug)]
pub struct Rule<T> {
    pub name: String,
    pub outcome: T,
    pub expression: Expression,
}

/// The rules in force, the first to be tried first.
#[derive(Debug)]
pub struct Ruleset<T> {
    rules: Vec<Rule<T>>,
}

/// Which rule takes a letter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Its place in the ruleset, from 0; `None` where no rule matches.
    pub rule: Option<usize>,
    /// The rules before it that could not be decided, by their places.
    pub failures: Vec<(usize, Failure)>,
}

impl<T> Default for Ruleset<T> {
    fn default() -> Self {
        Self { rules: Vec::new() }
    }
}

impl<T> Ruleset<T> {
    pub const fn new(rules: Vec<Rule<T>>) -> Self {
        Self { rules }
    }

    pub fn rules(&self) -> &[Rule<T>] {
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
