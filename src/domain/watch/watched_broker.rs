//! All that is watched of one broker.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    mem,
    time::Duration,
};

use amqp_message::time::Timestamp;

use super::{
    Change, Concern, Lasting, Look, OwnQueue, OwnRole, Poll, Reach, SETTLED, SettingHint, Settings, Watched, hints,
    lasting,
};
use crate::domain::queue_level::QueueLevel;

/// What is remembered of a broker from look to look. The caller keeps it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BrokerWatch {
    /// When it was last asked.
    pub polled_at: Option<Timestamp>,
    /// When it last answered.
    pub looked_at: Option<Timestamp>,
    /// The queues of which consumers were ever seen.
    pub queues: BTreeMap<String, Watched>,
    pub dead_letters: OwnQueue,
    pub obituaries: OwnQueue,
    /// Whether retries are overdue.
    pub overdue: Lasting,
    /// How overdue the oldest of them was when last that was known.
    pub overdue_by: Duration,
    pub reach: Reach,
    /// Settings that are likely missing, by the last look.
    pub hints: Vec<SettingHint>,
    /// Queues whose messages were requeued again and again at the last look.
    pub requeuing: BTreeSet<String>,
}

impl BrokerWatch {
    /// One look, and what there is to report after it.
    pub fn observe(&mut self, settings: &Settings, poll: &Poll<'_>) -> Vec<Change> {
        let mut changes: Vec<Change> = self.reach.observe(poll.queues.is_some(), poll.at).into_iter().collect();
        let moments = [poll.begun, poll.at];
        let asked = Look::new(moments, self.polled_at.replace(poll.at), settings.interval);
        changes.extend(self.observe_overdue(poll, asked, settings));
        let Some(levels) = poll.queues else { return changes };
        self.hints = hints(settings, levels, poll.feeds, &mut self.requeuing);
        let before = self.looked_at.replace(poll.at);
        let look = Look::new(moments, before, settings.interval);
        let levels: HashMap<&str, &QueueLevel> = levels.iter().map(|level| (level.name.as_str(), level)).collect();
        changes.extend(self.observe_own(&levels, poll, look, settings));
        changes.extend(self.observe_consumers(&levels, look, before, settings));
        changes
    }

    /// Everything that is reported and not over.
    pub fn concerns(&self) -> impl Iterator<Item = Concern> {
        let overdue = self
            .overdue
            .told
            .then(|| Concern::RetriesOverdue { by: self.overdue_by, since: self.overdue.since.unwrap_or_default() });
        let without = self.queues.iter().filter_map(|(name, watched)| watched.concern(name));
        self.reach
            .concern()
            .into_iter()
            .chain(overdue)
            .chain(self.dead_letters.concerns(OwnRole::DeadLetters))
            .chain(self.obituaries.concerns(OwnRole::Obituaries))
            .chain(without)
    }

    /// Retries have to have been overdue for a while: by a clock that was set forward all of them are for a moment.
    fn observe_overdue(&mut self, poll: &Poll<'_>, look: Look, settings: &Settings) -> Option<Change> {
        let since = self.overdue.since.unwrap_or(poll.at);
        // Once it is reported it has to get well better to be over.
        let limit = if self.overdue.told { settings.lags_for / 2 } else { settings.lags_for };
        let holds = poll.overdue.map(|overdue| overdue > limit);
        self.overdue_by = poll.overdue.unwrap_or(self.overdue_by);
        let turn = self.overdue.observe(holds, look, SETTLED.min(settings.lags_for))?;
        let concern = Concern::RetriesOverdue { by: self.overdue_by, since };
        Some(match turn {
            lasting::Turn::Begun => Change::Raised(concern),
            lasting::Turn::Over => Change::Cleared(concern),
        })
    }

    fn observe_own(
        &mut self,
        levels: &HashMap<&str, &QueueLevel>,
        poll: &Poll<'_>,
        look: Look,
        settings: &Settings,
    ) -> Vec<Change> {
        let mut changes = Vec::new();
        let own = [
            (&mut self.dead_letters, &settings.dead_letter_queue, OwnRole::DeadLetters),
            (&mut self.obituaries, &settings.obituary_queue, OwnRole::Obituaries),
        ];
        let mut seen = None;
        for (queue, name, role) in own {
            if queue.name != *name {
                changes.extend(queue.end(role));
                queue.name.clone_from(name);
            }
            // Both may be one and the same.
            if seen.replace(name) != Some(name) {
                let level = levels.get(name.as_str()).copied();
                changes.extend(queue.observe(level, role, poll.is_consuming, look, settings));
            }
        }
        changes
    }

    fn observe_consumers(
        &mut self,
        levels: &HashMap<&str, &QueueLevel>,
        look: Look,
        before: Option<Timestamp>,
        settings: &Settings,
    ) -> Vec<Change> {
        let mut changes = Vec::new();
        let limit = settings.no_consumers_for;
        for (name, mut watched) in mem::take(&mut self.queues) {
            let level = levels.get(name.as_str()).copied();
            let is_over = match level {
                None => watched.miss(),
                Some(level) => !settings.watches(level),
            };
            if is_over {
                changes.extend(watched.concern(&name).map(Change::Cleared));
                continue;
            }
            if let Some(level) = level {
                changes.extend(watched.observe(&name, level.known_consumers(), look, before, limit));
            }
            self.queues.insert(name, watched);
        }
        for level in levels.values().filter(|level| settings.watches(level)) {
            self.begin(level);
        }
        changes
    }

    /// A queue is watched from when consumers are first seen.
    fn begin(&mut self, level: &QueueLevel) {
        let Some(had @ 1..) = level.known_consumers() else { return };
        if !self.queues.contains_key(&level.name) {
            let watched = Watched { consumers: Some(had), had, ..Watched::default() };
            self.queues.insert(level.name.clone(), watched);
        }
    }
}
