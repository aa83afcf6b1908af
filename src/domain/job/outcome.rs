//! What the retries of a job have led to.

use std::{cmp::Reverse, fmt};

use amqp_message::time::Timestamp;

use super::{Bulk, JobProgress, JobRecord, JobState};

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
    /// Released and not sent yet; the oldest that no server sends, and nothing holds, was due then.
    pub waiting: u64,
    pub waiting_since: Option<Timestamp>,
    /// Some of its letters are due, and held or not even released: their queue is paused.
    pub is_held: bool,
    /// Sent lately, and not seen since.
    pub pending: u64,
    /// Some of those that wait are being sent: the first claim of a server on them ends then.
    pub claimed_until: Option<Timestamp>,
}

/// Letters of a retry that were not sent, all for one reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotSent {
    pub why: WhyNotSent,
    pub letters: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WhyNotSent {
    /// The job was stopped before it came to them.
    NotReached(JobState),
    /// They were to be sent, and somebody has taken them back before.
    TakenBack,
    /// They were no longer what was meant when it came to them.
    Skipped,
    /// Each by itself; the errors of the job say why.
    Refused,
    /// In the words of what stopped them.
    Told(String),
    /// More reasons than are told apart.
    Others,
}

impl fmt::Display for WhyNotSent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotReached(state) => {
                write!(f, "the job was {state} before it came to them: they were left as they were")
            }
            Self::TakenBack => f.write_str("taken back before they were sent"),
            Self::Skipped => f.write_str("somebody else had dealt with them meanwhile, or they had come in again"),
            Self::Refused => f.write_str("refused, as the errors of the job say"),
            Self::Told(why) => f.write_str(why),
            Self::Others => f.write_str("other reasons"),
        }
    }
}

/// What was written down of the letters of a job that were not sent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToldNotSent {
    /// In words; of very many reasons the commonest.
    pub reasons: Vec<NotSent>,
    /// All letters that were refused when the job came to them.
    pub refused: u64,
    /// All that could not be sent when they were due.
    pub unsent: u64,
}

impl JobRecord {
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

    /// Whether some of its letters may be as it has left them.
    pub fn may_be_undone(&self, outcome: &JobOutcome) -> bool {
        let is_left = if self.is_retry() { outcome.to_send > 0 } else { self.job.done > 0 };
        is_left && !self.job.goes_on() && self.bulk.as_ref().is_some_and(Bulk::can_be_undone)
    }

    /// Why letters were not sent, the commonest reason first.
    pub fn not_sent(&self, letters: &JobLetters, told: ToldNotSent) -> Vec<NotSent> {
        let job = &self.job;
        let not_reached = if job.goes_on() { 0 } else { job.total.saturating_sub(job.over()) };
        let gone = job.done.saturating_sub(self.progress.sent).saturating_sub(letters.waiting);
        let told_apart: u64 = told.reasons.iter().map(|reason| reason.letters).sum();
        let others = [
            (WhyNotSent::NotReached(job.state), not_reached),
            (WhyNotSent::TakenBack, gone.saturating_sub(told.unsent)),
            (WhyNotSent::Skipped, job.skipped),
            (WhyNotSent::Refused, job.failed.saturating_sub(told.refused)),
            (WhyNotSent::Others, (told.refused + told.unsent).saturating_sub(told_apart)),
        ];
        let others = others.into_iter().filter(|(_, letters)| *letters > 0);
        let mut found = told.reasons;
        found.extend(others.map(|(why, letters)| NotSent { why, letters }));
        found.sort_by_key(|reason| Reverse(reason.letters));
        found
    }
}
