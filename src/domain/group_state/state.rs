//! What is known of how far people are with a group.

use amqp_message::{time::Timestamp, word_enum};
use serde::{Deserialize, Serialize};

use super::{
    known::Known,
    stored::{micros, name, set},
    work::Assignee,
};
use crate::domain::{actor::Actor, letter::Importance, number};

word_enum! {
    /// How far people are with a group, in one word.
    #[derive(Default, Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    Phase, "state of a group" {
        /// Nobody has taken it yet.
        #[default]
        Open = "open",
        /// Somebody is working on it: nobody is reminded of it.
        Acknowledged = "acknowledged",
        /// Set aside until something happens: nobody is notified of it before.
        Snoozed = "snoozed",
        /// Done, unless it comes again.
        Resolved = "resolved",
    }
}

/// What ends a snooze.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Until {
    #[serde(with = "micros")]
    Time(Timestamp),
    /// So many more letters; so many have arrived by now.
    More {
        more: u64,
        #[serde(rename = "come")]
        arrived: u64,
    },
    /// Something about its letters is other than it was.
    Change,
}

/// How far people are with a group, and what they have made of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GroupState {
    pub progress: Progress,
    pub assignee: Option<Assignee>,
    /// The address of its ticket, by http or https.
    pub ticket: Option<String>,
    /// What somebody has changed last, to undo it.
    pub last: Option<LastChange>,
}

/// Its phase, and how it came to that.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Progress {
    pub phase: Phase,
    /// What a snoozed one waits for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<Until>,
    /// What was known of its letters, where that is what they are compared with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub known: Option<Known>,
    /// Who made it so, and when; nobody has where it is open from the beginning, or again by itself.
    #[serde(with = "set", skip_serializing_if = "Option::is_none")]
    pub set: Option<(Actor, Timestamp)>,
    /// That it is open again by itself, until it is set aside once more.
    #[serde(rename = "regressed", skip_serializing_if = "Option::is_none")]
    pub reopened: Option<Reopened>,
}

/// That it was acknowledged, snoozed or resolved, and is open again by itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reopened {
    /// Since when it is open again.
    #[serde(with = "micros")]
    pub at: Timestamp,
    /// What it was, who had made it that, and when.
    pub was: Phase,
    #[serde(with = "name")]
    pub by: Actor,
    #[serde(with = "micros")]
    pub since: Timestamp,
    pub why: Why,
}

/// Why it is open again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Why {
    /// A letter came that needs attention: it was resolved, or acknowledged and no other was open.
    CameAgain,
    /// It was acknowledged, and a letter is more important than any that was open.
    MoreImportant(Importance),
    /// The time of the snooze is over.
    Time,
    /// So many letters have come since.
    More(u64),
    /// This is other than it was: `a value of the header app-version is new`.
    Changed(String),
}

/// A change, and how what was changed was before.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastChange {
    #[serde(with = "micros")]
    pub at: Timestamp,
    pub before: Before,
}

/// What it was.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Before {
    Progress(Box<Progress>),
    Assignee(Option<Assignee>),
}

impl GroupState {
    pub const fn phase(&self) -> Phase {
        self.progress.phase
    }

    /// Since when it is snoozed or resolved.
    pub fn set_aside_since(&self) -> Option<Timestamp> {
        let is_set_aside = matches!(self.phase(), Phase::Snoozed | Phase::Resolved);
        self.progress.set.as_ref().filter(|_| is_set_aside).map(|(_, at)| *at)
    }

    /// When the clock wakes it.
    pub const fn wake_at(&self) -> Option<Timestamp> {
        match self.progress.until {
            Some(Until::Time(at)) => Some(at),
            _ => None,
        }
    }
}

impl Reopened {
    /// `a dead letter came after it was resolved`
    pub fn reason(&self) -> String {
        match &self.why {
            Why::CameAgain if self.was == Phase::Acknowledged => "a dead letter came when none was open".to_owned(),
            Why::CameAgain => "a dead letter came after it was resolved".to_owned(),
            Why::MoreImportant(importance) => format!("a dead letter is {importance}, more important than any before"),
            Why::Time => "the time of its snooze is over".to_owned(),
            Why::More(1) => "1 more dead letter came".to_owned(),
            Why::More(n) => format!("{} more dead letters came", number::thousands(*n)),
            Why::Changed(what) => what.clone(),
        }
    }
}
