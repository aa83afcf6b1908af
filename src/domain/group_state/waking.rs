//! What wakes a group that was set aside.

use amqp_message::time::Timestamp;

use super::state::{GroupState, Phase, Progress, Regressed, Until, Why};

/// Letters of a group that was set aside, received since then.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Arrivals {
    /// How many more there are, whatever became of them.
    pub more: i64,
    /// When the first of them was received that needs attention.
    pub open_at: Option<Timestamp>,
    /// When the last of them was received.
    pub last_at: Timestamp,
}

impl GroupState {
    /// The state after letters have come; `None` where they change nothing.
    ///
    /// What is resolved wakes by a letter that needs attention. One that waits for its automatic retry does not wake it: most
    /// of these succeed.
    pub fn after_arrivals(&self, arrivals: &Arrivals) -> Option<Self> {
        match (self.phase(), self.progress.until) {
            (Phase::Resolved, _) => self.woken(arrivals.open_at?, Why::CameAgain),
            (Phase::Snoozed, Some(Until::More { more, come })) => {
                let now = come.saturating_add_signed(arrivals.more);
                if now >= more {
                    return self.woken(arrivals.last_at, Why::More(now));
                }
                let until = Some(Until::More { more, come: now });
                let progress = Progress { until, ..self.progress.clone() };
                (now != come).then(|| Self { progress, ..self.clone() })
            }
            _ => None,
        }
    }

    /// The state at this moment; `None` where it is as it was.
    pub fn after_time(&self, now: Timestamp) -> Option<Self> {
        let is_due = self.wake_at().is_some_and(|at| at <= now);
        is_due.then(|| self.woken(now, Why::Time)).flatten()
    }

    /// The state after it was found that something about its letters is other than when it was snoozed.
    pub fn after_change(&self, what: String, at: Timestamp) -> Option<Self> {
        let waits = self.phase() == Phase::Snoozed && self.progress.until == Some(Until::Change);
        waits.then(|| self.woken(at, Why::Changed(what))).flatten()
    }

    /// Open again; it stays with whom it was given to.
    fn woken(&self, at: Timestamp, why: Why) -> Option<Self> {
        let (by, since) = self.progress.set.clone()?;
        let regressed = Some(Regressed { at, was: self.phase(), by, since, why });
        let progress = Progress { phase: Phase::Open, until: None, set: None, regressed };
        Some(Self { progress, last: None, ..self.clone() })
    }
}
