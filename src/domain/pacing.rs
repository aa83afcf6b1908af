//! How fast many letters are retried, and when that stops by itself.
//!
//! A retry that is held back is a sequence of steps. Each follows from what is in the database and from the time, so that
//! any process may take the next one at any moment, and a pause or a restart neither repeats one nor makes up for it.

use std::time::Duration;

use amqp_message::{time::Timestamp, word_enum};

use super::number::{exact, plural};

/// Letters that are sent by one step at most: one commit.
pub const PORTION: u64 = 2_000;
/// The same where each letter is edited: their bodies are in memory together.
pub const EDITED_PORTION: u64 = 200;
/// How late a step may be to be made up for. What is later was held up, and is not sent all at once for that.
pub const CATCH_UP: Duration = Duration::from_secs(1);
/// How long letters may wait for the broker before no more are added to them.
pub const HELD_UP: Duration = Duration::from_secs(2);
/// How often the outcomes of letters are looked at.
pub const LOOK: Duration = Duration::from_millis(250);
/// The same while all that is left goes into queues that are paused: there is nothing to see before one is resumed.
pub const HELD_LOOK: Duration = Duration::from_secs(3);
/// The longest wait for the next walk along letters that are all passed over.
const LONGEST_HELD: Duration = Duration::from_secs(5 * 60);
/// Letters that are looked at in one step where some are passed over: what is behind more of these is found some steps
/// later.
pub const AHEAD: u64 = 2_000;

/// How fast.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pace {
    #[default]
    AtOnce,
    /// So many each second.
    PerSecond(u32),
    /// All of them over so long, evenly.
    Over(Duration),
}

/// The first few go alone; the others follow if these do well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Canary {
    pub first: u64,
    /// How long the last of them has to show whether it fails again.
    pub wait: Duration,
    pub at_most_failed_percent: u8,
}

impl Canary {
    /// Whether so many failures of `of` letters are too many.
    pub fn is_too_much(&self, failed: u64, of: u64) -> bool {
        u128::from(failed) * 100 > u128::from(self.at_most_failed_percent) * u128::from(of)
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pacing {
    pub pace: Pace,
    pub canary: Option<Canary>,
}

word_enum! {
    /// How far a retry that is held back has come.
    Stage, "stage" {
        /// Its letters are being written down.
        Freezing = "freezing",
        /// The first few are sent, and it is seen how they do.
        Canary = "canary",
        /// All others are sent.
        Rest = "rest",
    }
}

/// All that its next step depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    pub stage: Stage,
    /// When the next letter is due.
    pub next_at: Timestamp,
    /// Letters that one step sends at most.
    pub portion: u64,
    /// Letters it is about; those that were released to be sent, and those that refused it.
    pub total: u64,
    pub done: u64,
    pub failed: u64,
    /// Of those released: sent, and of these failed again; and not sent yet, since when.
    pub sent: u64,
    pub failed_again: u64,
    pub waiting: u64,
    pub waiting_since: Option<Timestamp>,
    /// All that wait do so for queues that are paused.
    pub is_held: bool,
    pub last_sent_at: Option<Timestamp>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// So many more letters are sent; the one after them is due then.
    Release { most: u64, next_at: Timestamp },
    /// There is nothing to do before that.
    Wait { next_at: Timestamp },
    /// The first letters did well enough.
    Pass,
    /// They did not.
    Stop,
    /// All were sent.
    End,
}

/// How long to wait where all `letters` that are left are passed over: to walk along very many takes steps of its own.
pub fn held_wait(letters: u64) -> Duration {
    let steps = u32::try_from(letters / AHEAD).unwrap_or(u32::MAX).saturating_add(1);
    HELD_LOOK.saturating_mul(steps).min(LONGEST_HELD)
}

impl Progress {
    /// Letters that were neither sent nor refused.
    pub const fn remaining(&self) -> u64 {
        self.total.saturating_sub(self.done).saturating_sub(self.failed)
    }

    /// Released letters that were not sent in the end: their queue is gone, or somebody has done something else with them.
    pub const fn lost(&self) -> u64 {
        self.done.saturating_sub(self.sent).saturating_sub(self.waiting)
    }

    const fn look(&self) -> Duration {
        if self.is_held { HELD_LOOK } else { LOOK }
    }

    fn is_held_up(&self, now: Timestamp) -> bool {
        self.waiting_since.is_some_and(|since| now.since(since) > HELD_UP)
    }
}

impl Pacing {
    /// Whether there is anything to hold.
    pub const fn holds(&self) -> bool {
        !matches!(self, Self { pace: Pace::AtOnce, canary: None })
    }

    /// What comes first once its letters are known.
    pub const fn first_stage(&self) -> Stage {
        if self.canary.is_some() { Stage::Canary } else { Stage::Rest }
    }

    pub fn step(&self, progress: &Progress, now: Timestamp) -> Step {
        match (progress.stage, self.canary) {
            (Stage::Canary, Some(canary)) => self.canary_step(canary, progress, now),
            _ if progress.remaining() > 0 => self.release(progress, now, u64::MAX),
            _ if progress.waiting > 0 => Step::Wait { next_at: now.plus(progress.look()) },
            _ => Step::End,
        }
    }

    fn canary_step(&self, canary: Canary, progress: &Progress, now: Timestamp) -> Step {
        let look = now.plus(LOOK);
        if canary.is_too_much(progress.failed_again + progress.lost(), canary.first.min(progress.total)) {
            return Step::Stop;
        }
        if progress.done < canary.first && progress.remaining() > 0 {
            return self.release(progress, now, canary.first - progress.done);
        }
        if progress.waiting > 0 {
            return Step::Wait { next_at: now.plus(progress.look()) };
        }
        let decided = progress.last_sent_at.unwrap_or(now).plus(canary.wait);
        match () {
            () if progress.remaining() == 0 => Step::End,
            () if now < decided => Step::Wait { next_at: look.min(decided) },
            () => Step::Pass,
        }
    }

    fn release(&self, progress: &Progress, now: Timestamp, most: u64) -> Step {
        if now < progress.next_at {
            return Step::Wait { next_at: progress.next_at };
        }
        let Some((count, window)) = self.ratio(progress.total) else {
            return Step::Release { most: progress.portion.min(most), next_at: now };
        };
        if progress.is_held_up(now) {
            return Step::Wait { next_at: now.plus(LOOK) };
        }
        let from = if now.since(progress.next_at) > CATCH_UP { now } else { progress.next_at };
        let due = (now.since(from).as_micros() * count / window).saturating_add(1);
        let most = u64::try_from(due).unwrap_or(u64::MAX).min(progress.portion).min(most).min(progress.remaining());
        // Never sooner than it is due.
        let step = (u128::from(most) * window).div_ceil(count);
        let next_at = from.plus(Duration::from_micros(u64::try_from(step).unwrap_or(u64::MAX)));
        Step::Release { most, next_at }
    }

    /// So many letters in so many microseconds; `None`: as fast as they are taken.
    fn ratio(&self, total: u64) -> Option<(u128, u128)> {
        match self.pace {
            Pace::AtOnce => None,
            Pace::PerSecond(rate) => Some((u128::from(rate.max(1)), 1_000_000)),
            Pace::Over(time) => Some((u128::from(total.max(1)), time.as_micros())),
        }
    }

    /// `20 per second; 25 first`
    pub fn in_words(&self) -> String {
        let pace = match self.pace {
            Pace::AtOnce => "all at once".to_owned(),
            Pace::PerSecond(rate) => format!("{rate} per second"),
            Pace::Over(time) => format!("spread over {}", exact(time)),
        };
        let canary = self.canary.map(|canary| {
            let Canary { first, wait, at_most_failed_percent } = canary;
            format!(
                "{} first, the rest {} after these if at most {at_most_failed_percent} % failed again",
                plural(first, "message"),
                exact(wait)
            )
        });
        [canary, Some(pace)].into_iter().flatten().collect::<Vec<_>>().join("; ")
    }
}

#[cfg(test)]
mod tests;
