//! What opens a group again.

use amqp_message::time::Timestamp;

use super::{
    known::Known,
    state::{GroupState, Phase, Progress, Reopened, Until, Why},
};
use crate::domain::letter::Importance;

/// What opens a resolved group whose last letters were retried and cannot be sent.
const NOT_SENT: &str = "a retry could not be sent after it was resolved";

/// Letters that came into a group that was acknowledged or set aside, received since then.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Arrivals {
    /// How many more there are, whatever became of them.
    pub more: i64,
    /// When the first of them was received that needs attention.
    pub open_at: Option<Timestamp>,
    /// When it turned out first that a letter cannot be sent, whose retry was under way.
    pub unsent_at: Option<Timestamp>,
    /// When the last of them was received.
    pub last_at: Timestamp,
    /// The most important among all its open letters, before they came and now.
    pub before: Option<Importance>,
    pub now: Option<Importance>,
}

impl GroupState {
    /// The state after letters have come; `None` where they change nothing.
    ///
    /// What is resolved wakes by a letter that needs attention, also where its retry cannot be sent. One that waits for
    /// its automatic retry does not wake it: most of these succeed. Who has acknowledged it is working on the letters that
    /// were open: what begins anew, or is more important, is for somebody to acknowledge again.
    pub fn after_arrivals(&self, arrivals: &Arrivals) -> Option<Self> {
        match (self.phase(), self.progress.until) {
            (Phase::Acknowledged, _) => match (arrivals.before, arrivals.now?) {
                (None, _) => self.woken(arrivals.last_at, Why::CameAgain),
                (Some(before), now) if now < before => self.woken(arrivals.last_at, Why::MoreImportant(now)),
                _ => None,
            },
            (Phase::Resolved, _) => match arrivals.open_at {
                Some(at) => self.woken(at, Why::CameAgain),
                None => self.woken(arrivals.unsent_at?, Why::Changed(NOT_SENT.to_owned())),
            },
            (Phase::Snoozed, Some(Until::More { more, arrived })) => {
                let now = arrived.saturating_add_signed(arrivals.more);
                if now >= more {
                    return self.woken(arrivals.last_at, Why::More(now));
                }
                let until = Some(Until::More { more, arrived: now });
                let progress = Progress { until, ..self.progress.clone() };
                (now != arrived).then(|| Self { progress, ..self.clone() })
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

    /// The state that keeps what was known of its letters when it was snoozed; `None` where it does so already, or waits for
    /// something else.
    pub fn with_known(&self, known: Known) -> Option<Self> {
        let has_traits = self.progress.known.as_ref().is_some_and(|known| known.traits.is_some());
        if has_traits || self.progress.until != Some(Until::Change) {
            return None;
        }
        let progress = Progress { known: Some(known), ..self.progress.clone() };
        Some(Self { progress, ..self.clone() })
    }

    /// The state where it was changed by a clock that was ahead: as if it was changed now. `None` where it was not.
    pub fn with_clock_put_back(&self, now: Timestamp) -> Option<Self> {
        let mut state = self.clone();
        let Progress { until, set, reopened, .. } = &mut state.progress;
        if let Some((_, at)) = set
            && *at > now
        {
            if let Some(Until::Time(end)) = until {
                *end = end.minus(at.since(now));
            }
            *at = now;
        }
        if let Some(reopened) = reopened {
            reopened.at = reopened.at.min(now);
            reopened.since = reopened.since.min(now);
        }
        // Whether letters came since could not be told.
        state.last = state.last.filter(|last| last.at <= now);
        (state != *self).then_some(state)
    }

    /// Open again; it stays with whom it was given to.
    fn woken(&self, at: Timestamp, why: Why) -> Option<Self> {
        let (by, since) = self.progress.set.clone()?;
        // A letter may have moved that was received before.
        let reopened = Some(Reopened { at: at.max(since), was: self.phase(), by, since, why });
        let progress = Progress { reopened, ..Progress::default() };
        Some(Self { progress, last: None, ..self.clone() })
    }
}
