//! What is known of how far people are with a group.

use amqp_message::{time::Timestamp, word_enum};

use super::work::Assignee;
use crate::domain::{actor::Actor, number};

word_enum! {
    /// How far people are with a group, in one word.
    Phase, "state of a group" {
        /// Nobody has taken it yet.
        Open = "open",
        /// Somebody is at it: nobody is reminded of it.
        Acknowledged = "acknowledged",
        /// Set aside until something happens: nobody is notified of it before.
        Snoozed = "snoozed",
        /// Done, unless it comes again.
        Resolved = "resolved",
    }
}

/// What ends a snooze.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    Time(Timestamp),
    /// So many more letters; so many have come by now.
    More {
        more: u64,
        come: u64,
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
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Progress {
    pub phase: Phase,
    /// What a snoozed one waits for.
    pub until: Option<Until>,
    /// Who made it so, and when; nobody has where it is open from the beginning, or again by itself.
    pub set: Option<(Actor, Timestamp)>,
    /// That it was set aside and came again, until it is set aside once more.
    pub regressed: Option<Regressed>,
}

impl Default for Progress {
    fn default() -> Self {
        Self { phase: Phase::Open, until: None, set: None, regressed: None }
    }
}

/// That it was snoozed or resolved, and is open again by itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Regressed {
    /// Since when it is open again.
    pub at: Timestamp,
    /// What it was, who had made it that, and when.
    pub was: Phase,
    pub by: Actor,
    pub since: Timestamp,
    pub why: Why,
}

/// Why it is open again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Why {
    /// It was resolved, and a letter came that needs attention.
    CameAgain,
    /// The time of the snooze is over.
    Time,
    /// So many letters have come since.
    More(u64),
    /// This is other than it was: `a value of the header app-version is new`.
    Changed(String),
}

/// A change, and how it was before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LastChange {
    pub at: Timestamp,
    pub before: Box<(Progress, Option<Assignee>)>,
}

impl GroupState {
    pub const fn phase(&self) -> Phase {
        self.progress.phase
    }

    /// Since when it is snoozed or resolved.
    pub fn aside_since(&self) -> Option<Timestamp> {
        let is_aside = matches!(self.phase(), Phase::Snoozed | Phase::Resolved);
        self.progress.set.as_ref().filter(|_| is_aside).map(|(_, at)| *at)
    }

    /// When the clock wakes it.
    pub const fn wake_at(&self) -> Option<Timestamp> {
        match self.progress.until {
            Some(Until::Time(at)) => Some(at),
            _ => None,
        }
    }
}

impl Regressed {
    /// `a dead letter came after it was resolved`
    pub fn reason(&self) -> String {
        match &self.why {
            Why::CameAgain => "a dead letter came after it was resolved".to_owned(),
            Why::Time => "the time of its snooze is over".to_owned(),
            Why::More(1) => "1 more dead letter came".to_owned(),
            Why::More(n) => format!("{} more dead letters came", number::thousands(*n)),
            Why::Changed(what) => what.clone(),
        }
    }
}
