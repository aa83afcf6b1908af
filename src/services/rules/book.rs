//! The rules as they stand, ready to be tried.

use std::collections::HashMap;

use rule_language::{Decode, Expression, Facts, Failure, LetterFacts, Mistake, Ruleset};

use crate::domain::{
    letter::{Importance, Letter},
    lifecycle::LetterState,
    rule::{ActiveRule, RuleId},
};

/// `importance_by` of a letter that no rule takes.
pub const DEFAULT: &str = LetterState::BY_DEFAULT;
/// What stands before a rule's name in `importance_by`.
pub const BY_RULE: &str = "rule:";

/// The rules as they stand, and ready to be tried.
#[derive(Debug, Default)]
pub struct RuleBook {
    active: Vec<ActiveRule>,
    /// Of each of them what it says, or why it cannot be tried.
    compiled: Vec<Result<Expression, Vec<Mistake>>>,
    /// Those that can be tried, with their places in `active`.
    ruleset: Ruleset<usize>,
}

/// What the rules say of a letter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ruled {
    /// The rule that takes it.
    pub rule: Option<RuleId>,
    pub importance: Importance,
    /// `rule:<name>` or `default`.
    pub by: String,
    /// Rules that could not be tried, and why.
    pub failures: Vec<RuledOut>,
}

/// A rule that could not be tried on a letter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuledOut {
    pub rule: RuleId,
    pub name: String,
    pub why: String,
}

impl RuleBook {
    /// Reads all that are not written as in `before`. It can take milliseconds for each, as patterns are compiled.
    pub(crate) fn new(active: Vec<ActiveRule>, before: &Self) -> Self {
        let known: HashMap<&str, &Result<Expression, Vec<Mistake>>> =
            before.active.iter().map(|active| &*active.rule.expression).zip(&before.compiled).collect();
        let compile = |active: &ActiveRule| {
            let expression = &*active.rule.expression;
            known.get(expression).map_or_else(|| Expression::compile(expression), |known| (*known).clone())
        };
        let compiled: Vec<_> = active.iter().map(compile).collect();
        // What was saved was right then; a later version may think otherwise, and says so on the page.
        let readable = |(place, expression): (usize, &Result<Expression, _>)| Some((expression.clone().ok()?, place));
        let ruleset = Ruleset::new(compiled.iter().enumerate().filter_map(readable).collect());
        Self { active, compiled, ruleset }
    }

    pub fn active(&self) -> &[ActiveRule] {
        &self.active
    }

    pub fn find(&self, id: RuleId) -> Option<&ActiveRule> {
        self.active.iter().find(|active| active.id == id)
    }

    /// Why a rule cannot be tried; empty for one that can.
    pub fn mistakes(&self, id: RuleId) -> &[Mistake] {
        self.compiled(id).and_then(|compiled| compiled.as_ref().err()).map_or(&[], Vec::as_slice)
    }

    /// What a rule says, if it can be tried.
    pub(crate) fn expression(&self, id: RuleId) -> Option<&Expression> {
        self.compiled(id)?.as_ref().ok()
    }

    fn compiled(&self, id: RuleId) -> Option<&Result<Expression, Vec<Mistake>>> {
        self.compiled.get(self.active.iter().position(|active| active.id == id)?)
    }

    /// Tries the rules on a letter.
    pub fn evaluate(&self, facts: &Facts<'_>) -> Ruled {
        let decision = self.ruleset.first(facts);
        let ruled_out = |(place, why): &(&usize, Failure)| {
            let ActiveRule { id, rule, .. } = self.active.get(**place)?;
            Some(RuledOut { rule: *id, name: rule.name.clone(), why: why.to_string() })
        };
        let failures = decision.failures.iter().filter_map(ruled_out).collect();
        match decision.outcome.and_then(|place| self.active.get(*place)) {
            Some(ActiveRule { id, rule, .. }) => {
                let by = format!("{BY_RULE}{}", rule.name);
                Ruled { rule: Some(*id), importance: rule.importance, by, failures }
            }
            None => Ruled { rule: None, importance: Importance::Normal, by: DEFAULT.to_owned(), failures },
        }
    }
}

/// What rules see of a letter. `payload` decodes its body, for a rule that asks for it.
pub fn facts<'a>(letter: &'a Letter, message_type: Option<&'a str>, payload: &'a Decode<'a>) -> Facts<'a> {
    let summary = &letter.summary;
    let letter = LetterFacts {
        broker: &summary.broker,
        queue: summary.queue.as_deref(),
        exchange: &summary.exchange,
        routing_key: &summary.routing_key,
        reason: summary.reason,
        attempts: summary.attempts,
        message_type,
        headers: &letter.message.headers,
        error_type: summary.error_type.as_deref(),
        error_message: summary.error_message.as_deref(),
        size: summary.size,
        first_failed_at: summary.first_failed_at,
        last_failed_at: summary.last_failed_at,
    };
    Facts::decoding(letter, payload)
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;
    use crate::domain::rule::Rule;

    fn active(n: u128, expression: &str) -> ActiveRule {
        let rule = Rule { name: format!("rule {n}"), expression: expression.to_owned(), importance: Importance::High };
        ActiveRule { id: RuleId::from_uuid(Uuid::from_u128(n)), rule, set: None }
    }

    #[test]
    fn a_rule_that_cannot_be_read_stands_beside_those_that_can() {
        let book = RuleBook::new(vec![active(1, "letter.quue == 1"), active(2, "true")], &RuleBook::default());
        let [wrong, right] = [1, 2].map(|n| RuleId::from_uuid(Uuid::from_u128(n)));
        assert_eq!((book.active().len(), book.mistakes(wrong).len(), book.mistakes(right).len()), (2, 1, 0));
        assert!(book.expression(wrong).is_none() && book.expression(right).is_some());
    }
}
