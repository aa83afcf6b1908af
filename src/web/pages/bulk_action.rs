//! One thing done with all letters of a list or group: asked once more first, then done in the background.

use std::{sync::Arc, time::Duration};

use amqp_message::{time::Timestamp, word_enum};

use super::toast::Toast;
use crate::{
    crash_point,
    domain::{
        command::Command,
        job::{Bulk, Job, JobState},
        letter::Status,
    },
    store::StoreError,
    web::{
        AppState, background,
        error::WebError,
        order::{Action, Order},
        query::{Pairs, described::described, form, parameters},
        view::{number, report},
    },
};

word_enum! {
    /// What can be done with all of them.
    BulkAction, "action" {
        Retry = "retry",
        Reopen = "reopen",
        Discard = "discard",
    }
}

described!(BulkAction);

impl BulkAction {
    /// As it stands in the address that asks once more.
    pub const fn as_pair(self) -> (&'static str, &'static str) {
        ("all", self.as_str())
    }
}

parameters! {
    /// What is about to be done with all of them.
    pub Asked {
        "all" all: Option<BulkAction> as form::One,
    }
}

/// Reads the form that asked once more: what is to be done, with what came in until then.
pub fn take_confirmed(
    pairs: &mut Pairs,
    possible: &[Action],
    app: &AppState,
) -> Result<(Command, Timestamp), WebError> {
    let until: Option<i64> = pairs.take_parsed("until")?;
    let until = until.ok_or_else(|| WebError::bad_request("until is needed: ask on the page first"))?;
    Ok((Order::take(pairs)?.command(possible, app)?, Timestamp::from_micros(until)))
}

/// All letters that it is about, and how they are called.
pub struct BulkTarget {
    /// The one status that all of them have.
    pub status: Status,
    pub count: u64,
    /// `orders (1,200), texts (34) and 3 other queues`
    pub of: String,
    /// Whether a retry has to name a queue, because nothing else does.
    pub needs_queue: bool,
    /// Where the answer goes.
    pub post: String,
    /// Carried along unseen.
    pub fields: Vec<(&'static str, String)>,
    /// What comes in after this is left alone, in microseconds since the epoch.
    pub until: i64,
    pub cancel: String,
}

/// The question before it is done: what, how many, and of which queues.
pub struct Confirmation {
    pub action: &'static str,
    /// `Retry all 1,234 now`
    pub button: String,
    pub is_dangerous: bool,
    /// Whether it may wait, or go somewhere else.
    pub is_retry: bool,
    pub question: String,
    pub consequence: &'static str,
    pub whole: BulkTarget,
}

impl Confirmation {
    pub fn new(all: BulkAction, whole: BulkTarget) -> Self {
        let (n, of) = (number::thousands(whole.count), &whole.of);
        let (button, question, consequence) = match (all, whole.status) {
            (BulkAction::Retry, Status::Scheduled) => (
                format!("Retry all {n} now"),
                format!("Retry {n} of {of} now?"),
                "They are published to their queue as fast as the broker accepts them, whatever their policy says.",
            ),
            (BulkAction::Retry, _) => (
                format!("Retry {n}"),
                format!("Retry {n} of {of}?"),
                "They are published to their queue as fast as the broker accepts them.",
            ),
            (BulkAction::Reopen, Status::Scheduled) => (
                format!("Stop retrying {n}"),
                format!("Stop retrying {n} of {of}?"),
                "They become open and need attention.",
            ),
            (BulkAction::Reopen, _) => {
                (format!("Reopen {n}"), format!("Reopen {n} discarded of {of}?"), "They become open again.")
            }
            (BulkAction::Discard, status) => (
                format!("Discard {}{n}", if status == Status::Scheduled { "all " } else { "" }),
                format!("Discard {n} of {of}?"),
                "Discarded dead letters can be reopened until retention removes them.",
            ),
        };
        Self {
            action: all.as_str(),
            button,
            is_dangerous: all == BulkAction::Discard,
            is_retry: all == BulkAction::Retry && whole.status != Status::Scheduled,
            question,
            consequence,
            whole,
        }
    }
}

/// How long a page waits for the end; a hundred thousand letters take longer.
const PATIENCE: Duration = crash_point::patience(Duration::from_secs(3));

/// Does it in the background, and reports the result so far.
pub async fn carry_out(app: &Arc<AppState>, bulk: Bulk) -> Result<Toast, WebError> {
    let (command, status) = (bulk.command.clone(), bulk.filter.statuses.first().copied());
    let can_undo = bulk.can_be_undone();
    let ended = background::begin(app, bulk).await?.ended;
    let ended: Option<Result<Job, StoreError>> = tokio::time::timeout(PATIENCE, ended).await.ok().and_then(Result::ok);
    match ended.transpose()? {
        Some(job) if job.state != JobState::Running => {
            let toast = told(&command, status, &job);
            Ok(if can_undo && !toast.is_failure() { toast.undone_by_job(job.id) } else { toast })
        }
        _ => Ok(Toast::done("This takes a while; the counts on this page show the progress.")),
    }
}

fn told(command: &Command, status: Option<Status>, job: &Job) -> Toast {
    if (job.done, job.failed) == (0, 0) {
        let none = if status == Some(Status::Scheduled) {
            "No scheduled retries there"
        } else {
            "There is no such dead letter"
        };
        return Toast::failed(format!("{none} any more."));
    }
    // A job tells them letter by letter.
    let reasons = job.errors.iter().map(|error| error.split_once(": ").map_or(error.as_str(), |(_, why)| why));
    match report::told(command, status, job.done, job.failed, reasons) {
        Ok(text) => Toast::done(text),
        Err(text) => Toast::failed(text),
    }
}
