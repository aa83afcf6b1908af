//! What the retries of a job have led to.

use std::fmt;

use amqp_message::time::Timestamp;

use super::{JobProgress, JobRecord, JobState};

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
        }
    }
}

/// How many letters of a job were not sent for a reason that was written down.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToldNotSent {
    pub why: String,
    pub letters: u64,
    /// They were refused when the job came to them; otherwise they could not be sent when they were due.
    pub is_refusal: bool,
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

    /// Why letters were not sent, the commonest reason first.
    pub fn not_sent(&self, outcome: &JobOutcome, letters: &JobLetters, told: Vec<ToldNotSent>) -> Vec<NotSent> {
        let job = &self.job;
        let of = |is_refusal| told.iter().filter(|it| it.is_refusal == is_refusal).map(|it| it.letters).sum::<u64>();
        let not_reached = if job.goes_on() { 0 } else { job.total.saturating_sub(job.over()) };
        let gone = job.done.saturating_sub(self.progress.sent).saturating_sub(letters.waiting);
        let reasons = [
            (WhyNotSent::NotReached(job.state), not_reached),
            (WhyNotSent::TakenBack, gone.saturating_sub(of(false))),
            (WhyNotSent::Skipped, job.skipped),
            (WhyNotSent::Refused, job.failed.saturating_sub(of(true))),
        ];
        let mut found: Vec<NotSent> = told
            .into_iter()
            .map(|it| (WhyNotSent::Told(it.why), it.letters))
            .chain(reasons)
            .filter(|(_, letters)| *letters > 0 && outcome.not_sent > 0)
            .map(|(why, letters)| NotSent { why, letters })
            .collect();
        found.sort_by_key(|reason| std::cmp::Reverse(reason.letters));
        found
    }
}
