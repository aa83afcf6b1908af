//! A rule's expression.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

use super::{
    budget::Budget,
    check,
    evaluate::Evaluation,
    facts::Facts,
    failure::{Failure, Fault, Stop},
    mistake::Mistake,
    node::Plan,
    syntax,
};

/// An expression that says of a message whether a rule takes it. Cloning it is cheap.
#[derive(Clone, Debug)]
pub struct Expression {
    plan: Arc<Plan>,
}

impl Expression {
    /// Reads and checks the text of a rule.
    ///
    /// # Errors
    /// What is wrong with it: the first error of syntax, or else all that cannot be right, in the order of the text.
    pub fn compile(text: &str) -> Result<Self, Vec<Mistake>> {
        let plan = syntax::read(text).map_err(|slip| vec![slip]).and_then(|tree| check::check(text, &tree));
        match plan {
            Ok(plan) => Ok(Self { plan: Arc::new(plan) }),
            Err(mut slips) => {
                slips.sort_by_key(|slip| slip.at);
                Err(slips.into_iter().map(|slip| slip.in_text(text)).collect())
            }
        }
    }

    /// Whether the payload can make a difference to it.
    pub fn asks_for_payload(&self) -> bool {
        self.plan.asks_for_payload
    }

    /// Whether it takes the message. What the message does not have makes this `false`.
    ///
    /// # Errors
    /// Why it can't be decided: values do not fit, or it takes too many steps.
    pub fn matches(&self, facts: &Facts<'_>) -> Result<bool, Failure> {
        self.matches_within(facts, &mut Budget::new())
    }

    pub(super) fn matches_within(&self, facts: &Facts<'_>, budget: &mut Budget) -> Result<bool, Failure> {
        budget.begin();
        // Nothing in there panics, as far as we know. If it does, this rule fails and not the intake of all messages.
        let answer = catch_unwind(AssertUnwindSafe(|| Evaluation::new(facts, budget).answer(&self.plan.root)));
        match answer {
            Ok(Ok(is_match)) => Ok(is_match),
            Ok(Err(Stop::Missing)) => Ok(false),
            Ok(Err(Stop::Failed(failure))) => Err(failure),
            Err(_) => Err(Failure { at: None, fault: Fault::Broken }),
        }
    }
}
