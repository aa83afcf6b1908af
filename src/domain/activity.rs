//! Who did what.

use amqp_message::{time::Timestamp, word_enum};

use super::actor::Actor;

word_enum! {
    /// What people act upon.
    Area, "area of activity" {
        Letters = "letters",
        Groups = "groups",
        Rules = "rules",
        Policies = "policies",
        Schemas = "schemas",
        Mappings = "mappings",
        Digests = "digests",
        Users = "users",
        Tokens = "tokens",
    }
}

/// One thing that somebody did.
#[derive(Clone, Debug, PartialEq, Eq)]
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
}

impl AuditEntry {
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
        }
    }
}

/// An entry in its place among all: the newest has the highest number.
#[derive(Clone, Debug, PartialEq, Eq)]
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
