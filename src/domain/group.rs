//! Error groups: similar failures.

use amqp_message::{death::Reason, time::Timestamp, word_enum};

pub use super::group_id::GroupId;
use super::{
    actor::Actor,
    filter::Names,
    group_state::{Assignee, GroupCommand, GroupRefusal, GroupState, Phase, Until},
    letter::{Importance, Status},
};

/// What the letters of a group have in common.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupKey {
    pub broker: String,
    /// `None` where nothing says in which queue they failed.
    pub queue: Option<String>,
    pub message_type: Option<String>,
    pub reason: Reason,
    /// Without what differs from letter to letter; empty where no error is recorded.
    pub error: String,
    /// Where a group was [split](super::split) by a field.
    pub part: Option<GroupPart>,
}

/// What the letters of a part of a group have in common.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupPart {
    /// The group that was split.
    pub of: GroupId,
    /// `currency: EUR`
    pub what: String,
}

impl GroupKey {
    /// `TextCreated in texts.persist`
    pub fn title(&self) -> String {
        let short = |name: &str| name.rsplit('.').next().unwrap_or(name).to_owned();
        let what = self.message_type.as_deref().map_or_else(|| "Letters".to_owned(), short);
        let queue = self.queue.as_deref().unwrap_or("an unknown queue");
        let part = self.part.as_ref().map(|part| format!(", {}", part.what)).unwrap_or_default();
        format!("{what} in {queue}{part}")
    }
}

/// A group with its figures.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    pub id: GroupId,
    pub key: GroupKey,
    /// Open letters by importance, in the order of [`Importance::ALL`].
    pub open: [u64; Importance::ALL.len()],
    /// Letters that wait for a retry, that were sent back, and that were discarded.
    pub scheduled: u64,
    pub retried: u64,
    pub discarded: u64,
    pub first_seen: Timestamp,
    pub last_seen: Timestamp,
    pub outcome: Outcome,
    /// When one of its letters was sent back last.
    pub last_sent_at: Option<Timestamp>,
    pub note: Option<Note>,
    /// How far people are with it.
    pub state: GroupState,
    /// The group in whose incident it is told, as long as that is open: its letters were in that one when it began.
    pub told_as: Option<GroupId>,
}

impl Group {
    /// What needs attention of who has it: neither set aside nor done.
    pub const TO_DO: &[Phase] = &[Phase::Open, Phase::Acknowledged];

    /// All letters in it.
    pub fn letters(&self) -> u64 {
        self.n_open() + self.scheduled + self.retried + self.discarded
    }

    /// The state after a command; `None` where it makes no difference.
    ///
    /// # Errors
    /// Why it is not possible.
    pub fn state_after(
        &self,
        command: &GroupCommand,
        by: &Actor,
        now: Timestamp,
    ) -> Result<Option<GroupState>, GroupRefusal> {
        let state = self.state.after(command, by, now)?;
        if let GroupCommand::Undo(at) = command
            && self.last_seen > *at
            && self.state.would_pass_over_letters()
        {
            return Err(GroupRefusal::LettersCame);
        }
        Ok(state.map(|state| match state.progress.until {
            Some(Until::Change) => state.knowing(self.importance()),
            _ => state,
        }))
    }

    pub fn n_open(&self) -> u64 {
        self.open.iter().sum()
    }

    /// The most important among its open letters.
    pub fn importance(&self) -> Option<Importance> {
        let mut counts = Importance::ALL.iter().zip(self.open);
        counts.find(|(_, count)| *count > 0).map(|(importance, _)| *importance)
    }

    /// All its letters, of any status.
    pub fn n_letters(&self) -> u64 {
        Status::ALL.iter().map(|status| self.of_status(*status)).sum()
    }

    /// Where it stands in a list.
    pub fn cursor(&self) -> GroupCursor {
        let (importance, open) = (self.importance(), self.n_open());
        GroupCursor { importance, open, last_seen: self.last_seen, id: self.id }
    }

    pub fn of_status(&self, status: Status) -> u64 {
        match status {
            Status::Open => self.n_open(),
            Status::Scheduled => self.scheduled,
            Status::Retried => self.retried,
            Status::Discarded => self.discarded,
        }
    }
}

/// The outcome of letters that were sent back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// So many times one was sent back.
    pub sent: u64,
    /// So many of them failed again.
    pub failed_again: u64,
    /// So many have not failed again, but it is too early to tell.
    pub pending: u64,
}

impl Outcome {
    /// So many have not failed again for so long that they count as succeeded.
    pub const fn succeeded(&self) -> u64 {
        self.sent.saturating_sub(self.failed_again).saturating_sub(self.pending)
    }
}

/// What a user has to say about a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    pub text: String,
    pub by: Actor,
    pub at: Timestamp,
}

/// Which groups are meant; an empty list in a field lets all through.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GroupFilter {
    /// Only groups with open letters, and where importances are named, of these.
    pub only_open: bool,
    /// How far people are with them.
    pub phases: Vec<Phase>,
    /// Given to one of these.
    pub assignees: Vec<Assignee>,
    pub importances: Vec<Importance>,
    pub brokers: Vec<String>,
    pub queues: Names,
    pub types: Names,
    pub reasons: Vec<Reason>,
}

word_enum! {
    #[derive(Default)]
    GroupSort, "order of groups" {
        /// The most important first, of these the ones with most open letters.
        #[default]
        Importance = "importance",
        /// The most open letters first.
        Biggest = "biggest",
        /// The one that a letter came into last first.
        Newest = "newest",
    }
}

/// One page of groups, and where the next begins.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GroupPage {
    pub items: Vec<Group>,
    /// How many there are on all pages.
    pub total: u64,
    pub next: Option<GroupCursor>,
}

/// The place after which a page begins: what the last group before it was sorted by. That group may have changed since, or
/// be gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupCursor {
    /// The most important among its open letters; `None` where none is open.
    pub importance: Option<Importance>,
    pub open: u64,
    pub last_seen: Timestamp,
    pub id: GroupId,
}

/// How many groups there are, by what they hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GroupCounts {
    pub all: u64,
    /// With open letters.
    pub open: u64,
    /// With open letters of this importance, in the order of [`Importance::ALL`]; one group may count for several.
    pub by_importance: [u64; Importance::ALL.len()],
    /// By how far people are with them, in the order of [`Phase::ALL`]; those that nobody has taken count only with open
    /// letters.
    pub by_phase: [u64; Phase::ALL.len()],
    /// Open or acknowledged, and with open letters.
    pub to_do: u64,
}

/// What came into a group in one hour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hour {
    pub start: Timestamp,
    pub received: u64,
    pub sent: u64,
    pub failed_again: u64,
}
