//! Long work that is kept in the database, so that it can be watched.

use std::fmt;

use amqp_message::{time::Timestamp, word_enum};
use payload_codec::json::MergePatch;
use uuid::Uuid;

use super::{
    actor::Actor,
    command::{Command, CommandReport, Refusal},
    filter::LetterFilter,
    letter::Status,
    pacing::{Pacing, Stage},
};

/// The action of finding out the types of all letters again.
pub const NAME_TYPES: &str = "name types";
/// The action of trying the rules on all letters that need attention or wait for a retry.
pub const APPLY_RULES: &str = "apply rules";

word_enum! {
    JobState, "job state" {
        Queued = "queued",
        Running = "running",
        /// Somebody has stopped it for a while.
        Paused = "paused",
        Done = "done",
        /// It ended, and some of it could not be done.
        Failed = "failed",
        Cancelled = "cancelled",
        /// Too many of the first letters of a retry failed again: the rest was left as it was.
        Stopped = "stopped",
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job {
    pub id: Uuid,
    /// The name of the command it carries out.
    pub action: String,
    pub state: JobState,
    pub total: u64,
    pub done: u64,
    pub failed: u64,
    /// Letters that were no longer what was meant when it came to them: somebody else had dealt with them.
    pub skipped: u64,
    /// Why letters were refused, one sentence each.
    pub errors: Vec<String>,
}

/// A job, and who asked for it when.
#[derive(Clone, Debug, PartialEq)]
pub struct JobRecord {
    pub job: Job,
    pub by: Actor,
    pub at: Timestamp,
    /// What it does with which letters, where it is about those of a filter.
    pub bulk: Option<Bulk>,
    pub progress: JobProgress,
}

/// How far the retries of a job have come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct JobProgress {
    /// Where it is held back.
    pub stage: Option<Stage>,
    /// When it is looked at next.
    pub next_at: Option<Timestamp>,
    /// The claim of the server that works at it ends then.
    pub claimed_until: Option<Timestamp>,
    /// So many of its letters were sent, and so many of these failed again.
    pub sent: u64,
    pub failed_again: u64,
    pub last_sent_at: Option<Timestamp>,
    /// How its first letters did when it was decided whether the rest follows.
    pub verdict: Option<Verdict>,
}

/// How the first letters of a retry did: sent, and failed again or not sent after all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verdict {
    pub sent: u64,
    pub failed: u64,
}

/// The outcomes of the retries of a job by now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct JobOutcome {
    pub to_send: u64,
    /// Sent, and it is too early to tell.
    pub pending: u64,
    pub succeeded: u64,
    pub failed_again: u64,
    /// Neither sent nor to be sent: skipped, refused, taken out by somebody, or their queue did not take them.
    pub not_sent: u64,
}

/// What is known of the letters of a job that is neither counted nor over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct JobLetters {
    /// Released and not sent yet; the oldest that no server sends was due then.
    pub waiting: u64,
    pub waiting_since: Option<Timestamp>,
    /// Sent lately, and not seen since.
    pub pending: u64,
    /// Some of those that wait are being sent: the first claim of a server on them ends then.
    pub claimed_until: Option<Timestamp>,
}

impl JobRecord {
    pub fn is_retry(&self) -> bool {
        self.bulk.as_ref().map_or(self.job.action == "retry", |bulk| matches!(bulk.command, Command::Retry { .. }))
    }

    /// How many of the letters that were sent after `since` were not seen since, where its figures tell that; otherwise
    /// they have to be counted.
    pub fn pending_since(&self, since: Timestamp) -> Option<u64> {
        let JobProgress { sent, failed_again, last_sent_at, .. } = self.progress;
        if last_sent_at <= Some(since) {
            return Some(0);
        }
        (self.at > since).then(|| sent.saturating_sub(failed_again))
    }

    /// The outcomes of its retries.
    pub fn outcome(&self, letters: &JobLetters) -> JobOutcome {
        let JobProgress { sent, failed_again, .. } = self.progress;
        let unreleased = self.job.total.saturating_sub(self.job.over());
        let to_send = letters.waiting + if self.job.goes_on() { unreleased } else { 0 };
        let pending = letters.pending.min(sent.saturating_sub(failed_again));
        JobOutcome {
            to_send,
            pending,
            succeeded: sent.saturating_sub(failed_again).saturating_sub(pending),
            failed_again,
            not_sent: self.job.total.saturating_sub(sent).saturating_sub(to_send),
        }
    }
}

/// A job's place among all, the newest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JobPlace {
    pub at: Timestamp,
    pub id: Uuid,
}

impl Job {
    /// A job lists the first few refusals; thousands of equal sentences help nobody.
    const ERRORS: usize = 100;

    pub fn begun(id: Uuid, action: &str) -> Self {
        Self {
            id,
            action: action.to_owned(),
            state: JobState::Running,
            total: 0,
            done: 0,
            failed: 0,
            skipped: 0,
            errors: Vec::new(),
        }
    }

    /// Counts a part of it that was carried out.
    pub fn add(&mut self, report: &CommandReport) {
        self.count(report, |_| false);
    }

    /// The same of a job on letters of a filter.
    pub fn add_of(&mut self, bulk: &Bulk, report: &CommandReport) {
        self.count(report, |refusal| bulk.is_overtaken(refusal));
    }

    fn count(&mut self, report: &CommandReport, is_overtaken: impl Fn(&Refusal) -> bool) {
        let (skipped, failed): (Vec<_>, Vec<_>) = report.refused.iter().partition(|(_, refusal)| is_overtaken(refusal));
        self.done += report.done.len() as u64;
        self.failed += failed.len() as u64;
        self.skipped += skipped.len() as u64;
        self.total = self.total.max(self.over());
        let room = Self::ERRORS.saturating_sub(self.errors.len());
        self.errors.extend(failed.iter().take(room).map(|(letter, refusal)| format!("{letter}: {refusal}")));
    }

    /// Letters that it has come to.
    pub const fn over(&self) -> u64 {
        self.done + self.failed + self.skipped
    }

    /// Refusals that it does not list.
    pub fn errors_left_out(&self) -> u64 {
        if self.errors.len() < Self::ERRORS { 0 } else { self.failed.saturating_sub(Self::ERRORS as u64) }
    }

    pub fn end(&mut self) {
        self.state = if self.failed == 0 { JobState::Done } else { JobState::Failed };
    }

    /// Whether it may still do something by itself.
    pub const fn goes_on(&self) -> bool {
        matches!(self.state, JobState::Queued | JobState::Running | JobState::Paused)
    }

    /// What was cut short stays so.
    pub fn cancel_unless_ended(&mut self) {
        if self.state == JobState::Running {
            self.state = JobState::Cancelled;
        }
    }
}

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
    /// With a retry that is due then.
    Due(Timestamp),
}

/// Why a job is not taken back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoUndo {
    Unknown,
    Running,
    Final,
}

impl fmt::Display for NoUndo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unknown => "There is no such action on all dead letters of a group or filter.",
            Self::Running => "It has not ended yet; cancel it first.",
            Self::Final => "It cannot be undone.",
        })
    }
}

impl Bulk {
    /// Whether letters of that status are none that are meant.
    pub fn leaves_out(&self, status: Status) -> bool {
        !self.filter.statuses.is_empty() && !self.filter.statuses.contains(&status)
    }

    /// Whether a letter was refused because it is no longer what was meant: somebody else has dealt with it meanwhile.
    fn is_overtaken(&self, refusal: &Refusal) -> bool {
        match refusal {
            Refusal::NotFound => true,
            Refusal::WrongStatus { status, .. } => self.leaves_out(*status),
            Refusal::InFlight => matches!(self.command, Command::Retry { .. }) || self.leaves_out(Status::Scheduled),
            _ => false,
        }
    }

    pub fn can_be_undone(&self) -> bool {
        self.undone(Timestamp::default(), &self.by).is_some()
    }

    /// What takes it back, where that is possible: letters that were moved by nobody else since are reopened. What is
    /// sent at once is gone. `begun` is when the job was asked for.
    pub fn undone(&self, begun: Timestamp, by: &Actor) -> Option<Self> {
        let (status, left) = match &self.command {
            Command::Discard { .. } => (Status::Discarded, Left::Discarded(begun)),
            Command::Retry { delay, .. } if !delay.is_zero() && !self.pacing.holds() => {
                (Status::Scheduled, Left::Due(begun.plus(*delay)))
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
