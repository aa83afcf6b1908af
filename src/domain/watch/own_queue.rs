//! A queue that we empty ourselves.

use std::time::Duration;

use amqp_message::time::Timestamp;

use super::{Absences, Change, Concern, Growth, Lasting, Look, Settings, growth, lasting};
use crate::domain::queue_level::QueueLevel;

/// What a queue of ours holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OwnRole {
    DeadLetters,
    Obituaries,
}

/// What is remembered of the dead-letter queue or the obituary queue.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OwnQueue {
    /// Whose state this is; another one may be configured meanwhile.
    pub name: String,
    pub growth: Growth,
    /// Whether messages are ready though we are connected.
    pub waiting: Lasting,
    /// How many were ready when last that was reported.
    pub ready: u64,
    pub absences: Absences,
}

impl OwnQueue {
    /// One look; `level` is `None` where it is missing. `role` is what it holds.
    pub(super) fn observe(
        &mut self,
        level: Option<&QueueLevel>,
        role: OwnRole,
        is_consuming: bool,
        look: Look,
        settings: &Settings,
    ) -> Vec<Change> {
        let Some(level) = level else { return self.miss(role, look) };
        self.absences = Absences::default();
        let messages = level.known_messages();
        let grown = self.growth.observe(messages, look, settings.growing_for);
        let mut changes: Vec<Change> =
            grown.map(|turn| self.growth_change(turn, messages.unwrap_or(0))).into_iter().collect();
        let ready = level.known_ready();
        self.ready = ready.unwrap_or(self.ready);
        // While we are not connected they wait for another reason, which is reported elsewhere.
        let waits = ready.map(|ready| ready > 0).filter(|waits| is_consuming || !waits);
        let since = self.waiting.since;
        let turn = self.waiting.observe(waits, look, settings.lags_for);
        changes.extend(turn.map(|turn| self.lag_change(turn, since.unwrap_or(look.at), role)));
        changes
    }

    /// Ends what is reported of it, as when it is not ours any more, and forgets it.
    pub(super) fn end(&mut self, role: OwnRole) -> Vec<Change> {
        let since = self.waiting.since.unwrap_or_default();
        let grown = self.growth.end().map(|turn| self.growth_change(turn, 0));
        let waited = self.waiting.end().map(|turn| self.lag_change(turn, since, role));
        *self = Self::default();
        grown.into_iter().chain(waited).collect()
    }

    /// What is reported of it and not over.
    pub fn concerns(&self, role: OwnRole) -> impl Iterator<Item = Concern> {
        let grown = self.growth.told.then(|| Concern::Growing {
            queue: self.name.clone(),
            from: self.growth.from,
            to: self.growth.peak,
            since: self.growth.since.unwrap_or_default(),
        });
        let waits = self.waiting.told.then(|| self.lag(self.waiting.since.unwrap_or_default(), role));
        grown.into_iter().chain(waits)
    }

    fn miss(&mut self, role: OwnRole, look: Look) -> Vec<Change> {
        if self.absences.one_more() {
            let name = self.name.clone();
            let over = self.end(role);
            *self = Self { name, ..Self::default() };
            return over;
        }
        // Not known, for once.
        self.growth.observe(None, look, Duration::MAX);
        self.waiting.observe(None, look, Duration::MAX);
        Vec::new()
    }

    fn growth_change(&self, turn: growth::Turn, to: u64) -> Change {
        let growing = |from, since| Concern::Growing { queue: self.name.clone(), from, to, since };
        match turn {
            growth::Turn::Begun { from, since } => Change::Raised(growing(from, since)),
            growth::Turn::Over { from, since } => Change::Cleared(growing(from, since)),
        }
    }

    fn lag_change(&self, turn: lasting::Turn, since: Timestamp, role: OwnRole) -> Change {
        match turn {
            lasting::Turn::Begun => Change::Raised(self.lag(since, role)),
            lasting::Turn::Over => Change::Cleared(self.lag(since, role)),
        }
    }

    fn lag(&self, since: Timestamp, role: OwnRole) -> Concern {
        let (queue, ready) = (self.name.clone(), self.ready);
        match role {
            OwnRole::Obituaries => Concern::IntakeLags { queue, ready, since },
            OwnRole::DeadLetters => Concern::RetrierLags { queue, ready, since },
        }
    }
}
