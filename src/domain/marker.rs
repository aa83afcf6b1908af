//! Markers: what happened at a moment that may explain why messages fail.

use std::time::Duration;

use amqp_message::{glob::Globs, time::Timestamp, word_enum};
use uuid::Uuid;

use super::{
    activity::{Area, AuditEntry, Concerns},
    actor::Actor,
    rights::{QueueScope, Right},
};

word_enum! {
    /// What happened.
    #[derive(Default)]
    MarkerKind, "kind of marker" {
        #[default]
        Deploy = "deploy",
        Flag = "flag",
        Incident = "incident",
    }
}

/// Characters of a title.
pub const LONGEST_TITLE: usize = 200;
/// Characters of the name of a service.
pub const LONGEST_SERVICE: usize = 100;
/// Patterns for queues.
pub const MOST_QUEUES: usize = 50;
/// A marker says what has happened; clocks may differ by as much.
pub const FURTHEST_AHEAD: Duration = Duration::from_secs(24 * 60 * 60);

#[derive(Clone, Debug, PartialEq)]
pub struct Marker {
    pub id: Uuid,
    pub kind: MarkerKind,
    /// A version, the name of a flag, what broke.
    pub title: String,
    pub at: Timestamp,
    pub service: Option<String>,
    /// Patterns for the queues that it is about; none: all of them.
    pub queues: Vec<String>,
    /// Where there is more about it.
    pub link: Option<String>,
    /// The queues of who has set it: it is about no others.
    pub within: QueueScope,
    pub by: Actor,
    pub set_at: Timestamp,
}

impl Marker {
    /// `deploy 4711 of billing`
    pub fn name(&self) -> String {
        let service = self.service.as_ref().map(|service| format!(" of {service}")).unwrap_or_default();
        format!("{} {}{service}", self.kind, self.title)
    }

    /// Which queues it is about.
    pub fn reach(&self) -> Reach<'_> {
        Reach { queues: Globs::new(&self.queues), within: &self.within }
    }

    /// Whether it is about every queue, of whatever team.
    pub fn is_for_all(&self) -> bool {
        self.queues.is_empty() && self.within.is_everything()
    }

    /// Whether they could have set it: nobody else removes it.
    pub fn is_removed_by(&self, who: &Actor) -> bool {
        self.within.is_within(&who.scope(Right::Mark))
    }

    /// What is written down about setting or removing it.
    pub fn entry(&self, action: &str, by: &Actor, at: Timestamp) -> AuditEntry {
        let concerns = Concerns::All(self.within.clone());
        AuditEntry { concerns, ..AuditEntry::new(at, by, Area::Markers, action, self.name()) }
    }
}

/// The queues that a marker is about.
pub struct Reach<'m> {
    queues: Globs,
    within: &'m QueueScope,
}

impl Reach<'_> {
    /// The empty name is that of a queue that is unknown, which only markers of all queues are about.
    pub fn includes(&self, broker: &str, queue: &str) -> bool {
        self.queues.matches(queue) && self.within.includes(broker, queue)
    }

    /// Whether it is about a queue of that name on whatever broker.
    pub fn names(&self, queue: &str) -> bool {
        self.queues.matches(queue)
    }
}

/// Which markers are meant; an empty list lets all through.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MarkerFilter {
    pub kinds: Vec<MarkerKind>,
    /// At or after.
    pub since: Option<Timestamp>,
    /// Before.
    pub until: Option<Timestamp>,
}

/// A place in the list of markers, the newest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MarkerPlace {
    pub at: Timestamp,
    pub id: Uuid,
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::domain::rights::TeamQueues;

    fn marker(queues: &[&str], within: QueueScope) -> Marker {
        Marker {
            id: Uuid::nil(),
            kind: MarkerKind::Deploy,
            title: "4711".to_owned(),
            at: Timestamp::default(),
            service: Some("billing".to_owned()),
            queues: queues.iter().map(|queue| (*queue).to_owned()).collect(),
            link: None,
            within,
            by: Actor::local(),
            set_at: Timestamp::default(),
        }
    }

    #[test]
    fn it_is_about_the_queues_it_names_that_are_its_makers() {
        let team = QueueScope::of(vec![Arc::new(TeamQueues::new(&[], &["billing.*".to_owned()]))]);
        let check = |queues: &[&str], within: &QueueScope, queue: &str, expected: bool| {
            let marker = marker(queues, within.clone());
            assert_eq!(marker.reach().includes("main", queue), expected, "{queues:?}, {queue}");
        };
        check(&[], &QueueScope::everything(), "texts", true);
        check(&["billing.*"], &QueueScope::everything(), "billing.pay", true);
        check(&["billing.*"], &QueueScope::everything(), "texts", false);
        check(&["billing.*"], &QueueScope::everything(), "", false);
        check(&[], &team, "billing.pay", true);
        check(&[], &team, "texts", false);
        check(&["*"], &team, "texts", false);
        assert!(marker(&[], QueueScope::everything()).is_for_all());
        assert!(!marker(&[], team).is_for_all());
    }

    #[test]
    fn it_is_called_by_what_happened() {
        assert_eq!(marker(&[], QueueScope::everything()).name(), "deploy 4711 of billing");
    }
}
