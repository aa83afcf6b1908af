//! Something that is a concern once it has lasted.

use std::{mem, time::Duration};

use amqp_message::time::Timestamp;

use super::Look;

/// How long something has held without a break, and whether that was reported.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lasting {
    /// The first look at which it held; `None` while it does not.
    pub since: Option<Timestamp>,
    /// How much of the time since then was watched.
    pub lasted: Duration,
    /// Whether it was known to hold at the last look.
    pub held: bool,
    pub told: bool,
}

/// Its result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    Begun,
    Over,
}

impl Lasting {
    /// One look: whether it holds, `None` when that is not known.
    pub(super) fn observe(&mut self, holds: Option<bool>, look: Look, limit: Duration) -> Option<Turn> {
        let held = mem::replace(&mut self.held, holds == Some(true));
        match holds {
            None => None,
            Some(false) => self.end(),
            Some(true) => {
                self.since.get_or_insert(look.at);
                let step = look.step.filter(|_| held).unwrap_or_default();
                self.lasted = self.lasted.saturating_add(step).min(limit);
                let is_news = !self.told && self.lasted >= limit;
                self.told |= is_news;
                is_news.then_some(Turn::Begun)
            }
        }
    }

    /// It is over, whatever it was.
    pub(super) fn end(&mut self) -> Option<Turn> {
        mem::take(self).told.then_some(Turn::Over)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: Duration = Duration::from_secs(60);

    /// One look a minute at what is `+` so, `-` not so, `?` not known; `.` is a minute that nobody watched. The answer
    /// has a `B` or an `O` where it begins or is over, for a limit of two minutes.
    fn check(looks: &str, expected: &str) {
        let (mut lasting, mut step, mut told) = (Lasting::default(), None, String::new());
        for (minute, look) in looks.chars().enumerate() {
            let at = Timestamp::from_seconds(60 * minute as u64);
            let holds = match look {
                '+' => Some(true),
                '-' => Some(false),
                '?' => None,
                _ => {
                    step = None;
                    told.push(' ');
                    continue;
                }
            };
            let turn = lasting.observe(holds, Look { at, step }, 2 * MINUTE);
            step = Some(MINUTE);
            told.push(match turn {
                None => ' ',
                Some(Turn::Begun) => 'B',
                Some(Turn::Over) => 'O',
            });
        }
        assert_eq!(told, expected, "{looks}");
    }

    #[test]
    fn it_is_told_once_it_has_lasted_and_when_it_is_over() {
        check("++++-", "  B O");
        check("++-++-", "      ");
        check("+++-+++-", "  BO  BO");
    }

    #[test]
    fn what_nobody_knows_neither_begins_nor_ends_anything() {
        check("+?+?+?", "      ");
        check("++?++", "    B");
        check("+++??++-", "  B    O");
        check("??", "  ");
    }

    #[test]
    fn time_that_nobody_watched_does_not_count() {
        check("+..+..+", "       ");
        check("++..++", "     B");
    }
}
