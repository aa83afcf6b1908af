//! Rules that say how important a letter is.

use std::{fmt, str::FromStr};

use amqp_message::time::Timestamp;
use uuid::Uuid;

use super::{
    actor::Actor,
    letter::{Importance, LetterId},
};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RuleId(Uuid);

impl RuleId {
    pub const fn from_uuid(id: Uuid) -> Self {
        Self(id)
    }

    pub const fn as_uuid(self) -> Uuid {
        self.0
    }
}

impl fmt::Display for RuleId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for RuleId {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Uuid::try_parse(text).map(Self).map_err(|_| format!("{text:?} is no rule's id; it takes a UUID"))
    }
}

/// One rule. They are tried in order, and the first that matches decides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    pub name: String,
    /// In CEL (<https://cel.dev>), over the letter and its decoded payload.
    pub expression: String,
    pub importance: Importance,
}

/// A rule in force.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ActiveRule {
    pub id: RuleId,
    pub rule: Rule,
    /// Who wrote it as it is; `None`: it stands in a file.
    pub set: Option<(Actor, Timestamp)>,
}

/// That a rule could not be tried on letters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleFailures {
    pub count: u64,
    pub last_at: Timestamp,
    pub last_letter: LetterId,
    pub last_error: String,
}
