//! What people do with groups.

use std::{fmt, time::Duration};

use amqp_message::time::Timestamp;

use super::{
    known::Known,
    state::{Before, GroupState, LastChange, Phase, Progress, Until},
    work::Assignee,
};
use crate::domain::{actor::Actor, letter::Importance, merge::MergeRefusal, number};

/// Later than this is surely a slip.
pub const LONGEST_SNOOZE: Duration = Duration::from_secs(366 * 24 * 60 * 60);
/// Letters that a snooze waits for at most.
pub const MOST_LETTERS: u64 = 1_000_000_000;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GroupCommand {
    /// Somebody is working on it.
    Acknowledge,
    /// Set it aside until something happens.
    Snooze(Until),
    /// It is done.
    Resolve,
    /// Take back any of these.
    Reopen,
    /// Give it to somebody, or take it from whoever has it.
    Assign(Option<Assignee>),
    /// Say where its ticket is, or that it has none.
    SetTicket(Option<String>),
    /// Take back what was changed last, if it was changed at that moment.
    Undo(Timestamp),
}

/// Why a group does not take a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GroupRefusal {
    NotFound,
    /// It may be seen, but not acted on.
    NotAllowed,
    /// It is that already, since somebody made it so.
    Already {
        phase: Phase,
        by: Option<Actor>,
    },
    /// It is resolved, which this cannot follow.
    Resolved,
    /// The time of a snooze has to lie ahead, but not too far.
    BadTime,
    BadCount,
    /// Somebody has changed it since.
    Overtaken,
    /// Letters came since, so that it would not be true any more.
    LettersCame,
    /// That it was merged is not undone.
    Merged(MergeRefusal),
}

impl fmt::Display for GroupRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotFound => f.write_str("there is no such group"),
            Self::NotAllowed => f.write_str("your teams do not let you act on this group"),
            Self::Already { phase: Phase::Open, .. } => f.write_str("it is open already"),
            Self::Already { phase, by: Some(by) } => write!(f, "it is {phase} already, by {by}"),
            Self::Already { phase, by: None } => write!(f, "it is {phase} already"),
            Self::Resolved => f.write_str("it is resolved; reopen it first"),
            Self::BadTime => f.write_str("a snooze ends in the future, and within a year"),
            Self::BadCount => write!(f, "a snooze waits for 1 to {} dead letters", number::thousands(MOST_LETTERS)),
            Self::Overtaken => f.write_str("it was changed since, so that nothing was undone"),
            Self::LettersCame => f.write_str("a dead letter came since, so that nothing was undone"),
            Self::Merged(refusal) => refusal.fmt(f),
        }
    }
}

impl GroupCommand {
    /// As the activity calls it.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Acknowledge => "acknowledge",
            Self::Snooze(_) => "snooze",
            Self::Resolve => "resolve",
            Self::Reopen => "reopen",
            Self::Assign(_) => "assign",
            Self::SetTicket(_) => "ticket",
            Self::Undo(_) => "undo",
        }
    }

    /// What there is to say about it beside its name; empty where there is nothing.
    pub fn detail(&self) -> String {
        match self {
            Self::Snooze(until) => until.in_words(),
            Self::Assign(assignee) => assignee.as_ref().map(|it| format!("to {}", it.in_words())).unwrap_or_default(),
            Self::SetTicket(ticket) => ticket.clone().unwrap_or_default(),
            _ => String::new(),
        }
    }

    /// Whether it can be taken back by [`GroupCommand::Undo`].
    pub const fn can_be_undone(&self) -> bool {
        !matches!(self, Self::SetTicket(_) | Self::Undo(_))
    }
}

impl Until {
    /// `until 2026-11-24T09:00:00Z`, `until 100 more dead letters come`, `until something about it changes`
    pub fn in_words(self) -> String {
        match self {
            Self::Time(at) => {
                let at = jiff::Timestamp::from_microsecond(at.as_micros()).unwrap_or(jiff::Timestamp::MAX);
                format!("until {}", at.strftime("%Y-%m-%dT%H:%M:%SZ"))
            }
            Self::More { more: 1, .. } => "until 1 more dead letter comes".to_owned(),
            Self::More { more, .. } => format!("until {} come", number::plural(more, "more dead letter")),
            Self::Change => "until something about it changes".to_owned(),
        }
    }

    /// The same, where it is possible.
    ///
    /// # Errors
    /// A time that is over or too far away, or a number of letters that is.
    pub fn checked(self, now: Timestamp) -> Result<Self, GroupRefusal> {
        match self {
            Self::Time(at) if at <= now || at > now.plus(LONGEST_SNOOZE) => Err(GroupRefusal::BadTime),
            Self::More { more, .. } if !(1..=MOST_LETTERS).contains(&more) => Err(GroupRefusal::BadCount),
            _ => Ok(self),
        }
    }
}

impl GroupState {
    /// The state after a command; `None` where it makes no difference.
    ///
    /// # Errors
    /// Why it is not possible.
    pub fn after(&self, command: &GroupCommand, by: &Actor, now: Timestamp) -> Result<Option<Self>, GroupRefusal> {
        let phase = self.phase();
        let next = match command {
            GroupCommand::Acknowledge if phase == Phase::Resolved => return Err(GroupRefusal::Resolved),
            GroupCommand::Acknowledge => self.in_phase(Phase::Acknowledged, by, now)?,
            GroupCommand::Resolve => self.in_phase(Phase::Resolved, by, now)?,
            GroupCommand::Reopen => self.in_phase(Phase::Open, by, now)?,
            GroupCommand::Snooze(_) if phase == Phase::Resolved => return Err(GroupRefusal::Resolved),
            GroupCommand::Snooze(until) => self.snoozed(*until, by, now)?,
            GroupCommand::Assign(assignee) => Self { assignee: assignee.clone(), ..self.clone() },
            GroupCommand::SetTicket(ticket) => Self { ticket: ticket.clone(), ..self.clone() },
            GroupCommand::Undo(at) => return self.before(*at).map(Some),
        };
        if next == *self {
            return Ok(None);
        }
        let before = match command {
            GroupCommand::Assign(_) => Before::Assignee(self.assignee.clone()),
            _ => Before::Progress(Box::new(self.progress.clone())),
        };
        let last = command.can_be_undone().then_some(LastChange { at: now, before });
        Ok(Some(Self { last, ..next }))
    }

    fn in_phase(&self, phase: Phase, by: &Actor, now: Timestamp) -> Result<Self, GroupRefusal> {
        if self.phase() == phase {
            return Err(GroupRefusal::Already { phase, by: self.progress.set.as_ref().map(|(by, _)| by.clone()) });
        }
        // That it came again matters until it is set aside once more.
        let reopened = self.progress.reopened.clone().filter(|_| phase != Phase::Resolved);
        let progress = Progress { phase, set: Some((by.clone(), now)), reopened, ..Progress::default() };
        Ok(Self { progress, ..self.clone() })
    }

    fn snoozed(&self, until: Until, by: &Actor, now: Timestamp) -> Result<Self, GroupRefusal> {
        let until = match until.checked(now)? {
            Until::More { more, .. } => Until::More { more, arrived: 0 },
            until => until,
        };
        let set = Some((by.clone(), now));
        let progress = Progress { phase: Phase::Snoozed, until: Some(until), set, ..Progress::default() };
        Ok(Self { progress, ..self.clone() })
    }

    fn before(&self, at: Timestamp) -> Result<Self, GroupRefusal> {
        let last = self.last.as_ref().filter(|last| last.at == at).ok_or(GroupRefusal::Overtaken)?;
        let state = Self { last: None, ..self.clone() };
        Ok(match last.before.clone() {
            Before::Progress(progress) => Self { progress: *progress, ..state },
            Before::Assignee(assignee) => Self { assignee, ..state },
        })
    }

    /// Whether letters that came since the last change would have made what was before that another.
    pub(crate) fn would_pass_over_letters(&self) -> bool {
        let Some(LastChange { before: Before::Progress(before), .. }) = &self.last else { return false };
        match before.phase {
            Phase::Resolved => true,
            // What would have ended it does not end a snooze.
            Phase::Acknowledged => self.phase() == Phase::Snoozed,
            Phase::Open | Phase::Snoozed => matches!(before.until, Some(Until::More { .. })),
        }
    }

    /// The same, which keeps how important its letters were unless it does so already.
    pub(crate) fn knowing(mut self, importance: Option<Importance>) -> Self {
        self.progress.known.get_or_insert(Known { importance, traits: None });
        self
    }
}
