//! One thing that is done with many letters, and what takes it back.

use std::fmt;

use amqp_message::time::Timestamp;
use payload_codec::json::MergePatch;
use uuid::Uuid;

use super::control::JobRefusal;
use crate::domain::{
    actor::Actor,
    command::{Command, Refusal},
    filter::LetterFilter,
    letter::Status,
    pacing::Pacing,
};

/// One thing that is done with all letters that match and that were received until then.
#[derive(Clone, Debug, PartialEq)]
pub struct Bulk {
    pub filter: LetterFilter,
    /// What was received later is left alone.
    pub until: Timestamp,
    /// Only those that a job has left so.
    pub left: Option<Left>,
    pub command: Command,
    /// Of a retry: what is changed in the payload of each letter before it is sent.
    pub edit: Option<MergePatch>,
    /// How a retry is held back.
    pub pacing: Pacing,
    pub by: Actor,
}

/// How a job has left letters: all that it moves have the moment when it was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Left {
    /// Discarded at that moment.
    Discarded(Timestamp),
    /// With a retry that is due then, by that job: where the clock was put back, those of others may be due then too.
    /// An older version has not kept the job.
    Due(Timestamp, Option<Uuid>),
}

/// Why a job is not taken back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoUndo {
    Refused(JobRefusal),
    /// It is about no letters of a filter.
    Unknown,
    Running,
    Final,
    /// None of its letters is as it has left it.
    NothingLeft,
}

impl fmt::Display for NoUndo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let why = match self {
            Self::Refused(refusal) => return write!(f, "{refusal}"),
            Self::Unknown => "There is no such action on all dead letters of a group or filter.",
            Self::Running => "It has not ended yet; cancel it first.",
            Self::Final => "It cannot be undone.",
            Self::NothingLeft => {
                "There is nothing left to undo: its dead letters were reopened, sent or changed since, or are not kept any more."
            }
        };
        f.write_str(why)
    }
}

impl Bulk {
    /// Whether letters of that status are none that are meant.
    fn leaves_out(&self, status: Status) -> bool {
        !self.filter.statuses.is_empty() && !self.filter.statuses.contains(&status)
    }

    /// The same of letters that are written down as its own: of those that it has scheduled and taken back all are open.
    pub fn still_means(&self, status: Status) -> bool {
        let may_be_taken_back = status == Status::Open && matches!(self.command, Command::Retry { .. });
        may_be_taken_back || !self.leaves_out(status)
    }

    /// Whether a letter was refused because it is no longer what was meant: somebody else has dealt with it meanwhile.
    pub(super) fn is_overtaken(&self, refusal: &Refusal) -> bool {
        match refusal {
            Refusal::NotFound => true,
            Refusal::WrongStatus { status, .. } => self.leaves_out(*status),
            Refusal::InFlight => matches!(self.command, Command::Retry { .. }) || self.leaves_out(Status::Scheduled),
            _ => false,
        }
    }

    pub fn can_be_undone(&self) -> bool {
        self.undone(Uuid::nil(), Timestamp::default(), &self.by).is_some()
    }

    /// What takes it back, where that is possible: letters that were moved by nobody else since are reopened. What is
    /// sent at once is gone. `begun` is when the job was asked for.
    pub fn undone(&self, job: Uuid, begun: Timestamp, by: &Actor) -> Option<Self> {
        let (status, left) = match &self.command {
            Command::Discard { .. } => (Status::Discarded, Left::Discarded(begun)),
            Command::Retry { delay, .. } if !delay.is_zero() && !self.pacing.holds() => {
                (Status::Scheduled, Left::Due(begun.plus(*delay), Some(job)))
            }
            _ => return None,
        };
        let filter = LetterFilter { statuses: vec![status], ..self.filter.clone() };
        Some(Self {
            filter,
            until: self.until,
            left: Some(left),
            command: Command::Reopen,
            edit: None,
            pacing: Pacing::default(),
            by: by.clone(),
        })
    }
}
