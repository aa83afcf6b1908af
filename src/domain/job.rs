//! Long work that is kept in the database, so that it can be watched.

mod bulk;
mod control;
mod outcome;

use amqp_message::{time::Timestamp, word_enum};
use uuid::Uuid;

pub use self::{
    bulk::{Bulk, Left, NoUndo},
    control::{JobRefusal, check_control},
    outcome::{JobLetters, JobOutcome, NotSent, ToldNotSent, WhyNotSent},
};
use super::{
    actor::Actor,
    command::{Command, CommandReport, Refusal},
    letter::LetterId,
    pacing::Stage,
    rights::QueueScope,
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
    /// Why letters were refused, one sentence each, after its id.
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
    /// The queues that it acts on.
    pub acts_on: QueueScope,
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

    /// Letters that were refused, as far as it lists them, and why.
    pub fn refused(&self) -> impl Iterator<Item = (Option<LetterId>, &str)> {
        self.errors.iter().map(|error| refused(error))
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

/// Which letter one of its errors names, if any, and why it was refused.
fn refused(error: &str) -> (Option<LetterId>, &str) {
    let named = error.split_once(": ").and_then(|(id, why)| Some((id.parse().ok()?, why)));
    named.map_or((None, error), |(letter, why)| (Some(letter), why))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refused_letter_is_named_where_an_error_names_one() {
        let id = "0192f1c4-0000-7000-8000-000000000000";
        let error = format!("{id}: it is retried: see there");
        assert_eq!(refused(&error), (id.parse().ok(), "it is retried: see there"));
        assert_eq!(refused("database: gone"), (None, "database: gone"));
    }
}
