//! Whether the management API answers.

use amqp_message::time::Timestamp;

use super::{Change, Concern};

/// After how many polls in a row without an answer this is a concern.
pub const POLLS_UNANSWERED: u8 = 3;

/// How many answers in a row end it: one alone may be luck.
const POLLS_ANSWERED: u8 = 2;

/// How the last polls went.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reach {
    /// When the first of the polls was that nobody has answered since; `None` when the last was answered.
    pub unanswered_since: Option<Timestamp>,
    /// Polls in a row that nobody answered, and once it is told that were answered. It stops where it no longer matters.
    pub in_a_row: u8,
    pub told: Option<Timestamp>,
}

impl Reach {
    pub(super) fn observe(&mut self, answered: bool, at: Timestamp) -> Option<Change> {
        match (self.told, answered) {
            (None, true) => {
                *self = Self::default();
                None
            }
            (None, false) => {
                let since = *self.unanswered_since.get_or_insert(at);
                self.in_a_row = self.in_a_row.saturating_add(1);
                if self.in_a_row < POLLS_UNANSWERED {
                    return None;
                }
                *self = Self { told: Some(since), ..Self::default() };
                Some(Change::Raised(Concern::Unreachable { since }))
            }
            (Some(_), false) => {
                self.in_a_row = 0;
                None
            }
            (Some(since), true) => {
                self.in_a_row = self.in_a_row.saturating_add(1);
                if self.in_a_row < POLLS_ANSWERED {
                    return None;
                }
                *self = Self::default();
                Some(Change::Cleared(Concern::Unreachable { since }))
            }
        }
    }

    /// What is reported and not over.
    pub fn concern(&self) -> Option<Concern> {
        self.told.map(|since| Concern::Unreachable { since })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `+` is a poll that was answered, `-` one that was not.
    fn check(polls: &str, expected: &str) {
        let mut reach = Reach::default();
        let told = polls.chars().enumerate().map(|(n, poll)| {
            match reach.observe(poll == '+', Timestamp::from_seconds(n as u64)) {
                None => ' ',
                Some(Change::Raised(_)) => 'R',
                Some(Change::Cleared(_)) => 'C',
            }
        });
        assert_eq!(told.collect::<String>(), expected, "{polls}");
    }

    #[test]
    fn three_polls_without_an_answer_are_told_once() {
        check("+--+--+", "       ");
        check("+-------", "   R    ");
    }

    #[test]
    fn it_is_over_after_two_answers_in_a_row() {
        check("---+-+-++", "  R     C");
        check("---++---++", "  R C  R C");
    }

    #[test]
    fn it_began_with_the_first_poll_that_nobody_answered() {
        let mut reach = Reach::default();
        let at = Timestamp::from_seconds;
        let polls = [(0, true), (5, false), (6, false), (7, false)];
        let told: Vec<Change> = polls.iter().filter_map(|(s, answered)| reach.observe(*answered, at(*s))).collect();
        assert_eq!(told, [Change::Raised(Concern::Unreachable { since: at(5) })]);
    }
}
