//! How much work a rule may be.

use super::{
    failure::Fault,
    limits::{MAX_STEPS, MAX_STEPS_PER_MESSAGE, MIN_STEPS},
};

/// The steps that are left. A step is one node of a rule, one element of a list, or a few dozen bytes of a text: some
/// forty nanoseconds.
#[derive(Debug)]
pub(super) struct Budget {
    left: usize,
    /// For all the rules that are still to be tried on the message.
    all_left: usize,
}

impl Budget {
    pub(super) const fn new() -> Self {
        Self { left: MAX_STEPS, all_left: MAX_STEPS_PER_MESSAGE }
    }

    /// Begins the next rule. Even where costly rules have used up what a message may cost, it can do a little: most
    /// rules do not need more.
    pub(super) fn begin(&mut self) {
        self.left = self.all_left.clamp(MIN_STEPS, MAX_STEPS);
    }

    /// What is short of steps gets none any more, so that nothing goes on as if it had not happened.
    pub(super) fn charge(&mut self, n_steps: usize) -> Result<(), Fault> {
        let granted = n_steps.min(self.left);
        self.left -= granted;
        self.all_left = self.all_left.saturating_sub(granted);
        if granted < n_steps { Err(Fault::TooCostly) } else { Ok(()) }
    }

    /// Of a text of this many bytes that is gone through once.
    pub(super) fn charge_text(&mut self, n_bytes: usize) -> Result<(), Fault> {
        self.charge(n_bytes / 64)
    }

    /// For tests and figures: the steps that all rules have taken so far.
    #[cfg(test)]
    pub(super) const fn used(&self) -> usize {
        MAX_STEPS_PER_MESSAGE - self.all_left
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_that_is_too_costly_ends_for_good() {
        let mut budget = Budget::new();
        assert_eq!(budget.charge(MAX_STEPS - 1), Ok(()));
        assert_eq!(budget.charge(2), Err(Fault::TooCostly));
        assert_eq!(budget.charge(1), Err(Fault::TooCostly));
    }

    #[test]
    fn the_last_rule_of_a_costly_letter_still_has_a_little() {
        let mut budget = Budget::new();
        for _ in 0..MAX_STEPS_PER_MESSAGE / MAX_STEPS {
            budget.begin();
            assert_eq!(budget.charge(MAX_STEPS), Ok(()));
        }
        budget.begin();
        assert_eq!(budget.charge(MIN_STEPS), Ok(()));
        assert_eq!(budget.charge(1), Err(Fault::TooCostly));
        assert_eq!(budget.used(), MAX_STEPS_PER_MESSAGE);
    }
}
