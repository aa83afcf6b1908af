//! Who did what.

use amqp_message::{time::Timestamp, word_enum};

use super::{actor::Actor, rights::QueueScope};

word_enum! {
    /// What people act upon.
    Area, "area of activity" {
        Letters = "letters",
        Groups = "groups",
        Rules = "rules",
        GroupingRules = "grouping_rules",
        Policies = "policies",
        Queues = "queues",
        Schemas = "schemas",
        Mappings = "mappings",
        Digests = "digests",
        Markers = "markers",
        Views = "views",
        Users = "users",
        Tokens = "tokens",
    }
}

/// One thing that somebody did.
#[derive(Clone, Debug, PartialEq)]
pub struct AuditEntry {
    pub at: Timestamp,
    pub by: Actor,
    pub area: Area,
    /// A verb: `retry`, `discard`, `set`, `remove`.
    pub action: String,
    /// What it was done to: the id of a letter or group, or a name; empty for many letters.
    pub subject: String,
    /// How many letters it touched.
    pub letters: u64,
    /// A sentence for users; empty when the rest says it all.
    pub detail: String,
    /// Whom it concerns.
    pub concerns: Concerns,
}

/// Whose business an entry is.
#[derive(Clone, Debug, PartialEq)]
pub enum Concerns {
    /// Those of a queue, by broker and name; the empty one is that of an unknown queue.
    Queue(String, String),
    /// Those who see all of these queues.
    All(QueueScope),
}

impl Concerns {
    /// Those of the one queue that all of these are of, or else of all queues that somebody may act on.
    pub fn of<'q>(queues: impl IntoIterator<Item = (&'q str, Option<&'q str>)>, otherwise: QueueScope) -> Self {
        let mut queues = queues.into_iter();
        match queues.next() {
            Some(first) if queues.all(|queue| queue == first) => {
                Self::Queue(first.0.to_owned(), first.1.unwrap_or_default().to_owned())
            }
            _ => Self::All(otherwise),
        }
    }

    /// Whether somebody who sees only some queues sees this.
    pub fn is_seen(&self, scope: &QueueScope) -> bool {
        match self {
            Self::Queue(broker, queue) => scope.includes(broker, queue),
            Self::All(queues) => queues.is_seen_by(scope),
        }
    }
}

impl Area {
    /// Whether it is about what holds for all queues, and so for everybody.
    pub const fn is_for_all(self) -> bool {
        matches!(self, Self::Rules | Self::GroupingRules | Self::Policies | Self::Schemas | Self::Mappings)
    }
}

impl AuditEntry {
    /// Whether somebody who sees only some queues sees this. What was done to all letters at once says how many there are.
    pub fn is_seen(&self, scope: &QueueScope) -> bool {
        scope.is_everything() || self.concerns.is_seen(scope) || self.area.is_for_all() && self.letters == 0
    }

    /// An entry of which there is no more to say.
    pub fn new(at: Timestamp, by: &Actor, area: Area, action: &str, subject: impl Into<String>) -> Self {
        Self {
            at,
            by: by.clone(),
            area,
            action: action.to_owned(),
            subject: subject.into(),
            letters: 0,
            detail: String::new(),
            concerns: Concerns::All(QueueScope::everything()),
        }
    }
}

/// An entry in its place among all: the newest has the highest number.
#[derive(Clone, Debug, PartialEq)]
pub struct ActivityEntry {
    pub seq: i64,
    pub entry: AuditEntry,
}

/// Which entries are meant; an empty list lets all through.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ActivityFilter {
    pub areas: Vec<Area>,
    pub actors: Vec<String>,
    pub subject: Option<String>,
    pub since: Option<Timestamp>,
    pub until: Option<Timestamp>,
}
