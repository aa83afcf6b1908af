//! Long work that is kept in the database, so that it can be watched.

use amqp_message::{time::Timestamp, word_enum};
use uuid::Uuid;

use super::{
    actor::Actor,
    command::{Command, CommandReport},
    filter::LetterFilter,
};

/// The action of finding out the types of all letters again.
pub const NAME_TYPES: &str = "name types";
/// The action of trying the rules on all letters that need attention or wait for a retry.
pub const APPLY_RULES: &str = "apply rules";

word_enum! {
    JobState, "job state" {
        Queued = "queued",
        Running = "running",
        Done = "done",
        /// It ended, and some of it could not be done.
        Failed = "failed",
        Cancelled = "cancelled",
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
    /// Why letters were refused, one sentence each.
    pub errors: Vec<String>,
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
            errors: Vec::new(),
        }
    }

    /// Counts a part of it that was carried out.
    pub fn add(&mut self, report: &CommandReport) {
        self.done += report.done.len() as u64;
        self.failed += report.refused.len() as u64;
        self.total = self.total.max(self.done + self.failed);
        let room = Self::ERRORS.saturating_sub(self.errors.len());
        let errors = report.refused.iter().take(room).map(|(letter, refusal)| format!("{letter}: {refusal}"));
        self.errors.extend(errors);
    }

    pub fn end(&mut self) {
        self.state = if self.failed == 0 { JobState::Done } else { JobState::Failed };
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
    pub command: Command,
    pub by: Actor,
}
