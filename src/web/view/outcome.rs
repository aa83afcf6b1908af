//! Retry outcomes, as a bar and in words.

use super::number;
use crate::domain::group::Outcome;

/// The bar is a hundred wide.
const WIDTH: u64 = 100;

#[derive(Debug)]
pub struct OutcomeView {
    /// Whether anything was sent back at all.
    pub is_any: bool,
    /// Nothing is known of any of it yet.
    pub is_pending: bool,
    pub shares: [Share; 3],
    /// How much of it succeeded: `64 %`.
    pub percent: String,
    /// `41 retried: 5 succeeded, 24 failed again, 12 pending`
    pub told: String,
}

/// A piece of the bar.
#[derive(Debug, PartialEq, Eq)]
pub struct Share {
    pub name: &'static str,
    pub class: &'static str,
    pub count: String,
    pub x: u64,
    pub width: u64,
}

impl OutcomeView {
    pub fn new(outcome: &Outcome) -> Self {
        let sent = outcome.sent;
        let counts = [
            ("succeeded", "ok", outcome.succeeded()),
            ("failed again", "warn", outcome.failed_again),
            ("pending", "open-end", outcome.pending),
        ];
        let mut x = 0;
        let shares = counts.map(|(name, class, count)| {
            let width = width(count, sent).min(WIDTH - x);
            let share = Share { name, class, count: number::thousands(count), x, width };
            x += width;
            share
        });
        let told: Vec<_> = shares.iter().map(|share| format!("{} {}", share.count, share.name)).collect();
        let told = format!("{} retried: {}", number::thousands(sent), told.join(", "));
        let succeeded = u128::from(outcome.succeeded()) * 100 / u128::from(sent.max(1));
        Self {
            is_any: sent > 0,
            is_pending: sent > 0 && outcome.pending >= sent,
            percent: format!("{succeeded} %"),
            told: if sent > 0 { told } else { "none retried".to_owned() },
            shares,
        }
    }
}

/// What is there at all is seen, and leaves room for the others to be.
fn width(count: u64, sent: u64) -> u64 {
    const LEAST: u64 = 3;
    if count == 0 {
        return 0;
    }
    let share = u128::from(count) * u128::from(WIDTH) / u128::from(sent.max(1));
    u64::try_from(share).unwrap_or(WIDTH).clamp(LEAST, if count < sent { WIDTH - 2 * LEAST } else { WIDTH })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_piece_is_seen_and_all_fit() {
        let check = |sent, failed_again, pending, expected: [u64; 3], percent| {
            let view = OutcomeView::new(&Outcome { sent, failed_again, pending });
            assert_eq!(view.shares.each_ref().map(|share| share.width), expected);
            assert_eq!(view.percent, percent);
            assert!(view.shares.iter().all(|share| share.x + share.width <= WIDTH));
        };
        check(100, 20, 10, [70, 20, 10], "70 %");
        check(10_000, 1, 0, [94, 3, 0], "99 %");
        check(10_000, 9_999, 0, [3, 94, 0], "0 %");
        check(3, 3, 0, [0, 100, 0], "0 %");
        check(0, 0, 0, [0, 0, 0], "0 %");
        check(u64::MAX, u64::MAX / 2, 7, [49, 49, 2], "49 %");
    }

    #[test]
    fn it_is_told_in_words() {
        let told = |sent, failed_again, pending| OutcomeView::new(&Outcome { sent, failed_again, pending }).told;
        assert_eq!(told(1_041, 24, 12), "1,041 retried: 1,005 succeeded, 24 failed again, 12 pending");
        assert_eq!(told(0, 0, 0), "none retried");
    }
}
