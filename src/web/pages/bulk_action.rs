//! One thing done with all letters of a list or group: asked once more first, then done in the background.

use std::{collections::BTreeSet, str::FromStr, sync::Arc, time::Duration};

use tokio::sync::oneshot;

use super::{
    actions::{done, take_command},
    toast::Toast,
};
use crate::{
    crash_point,
    domain::{
        command::Command,
        job::{Bulk, Job, JobState},
        letter::Status,
    },
    store::StoreError,
    web::{
        AppState,
        error::WebError,
        query::Pairs,
        view::{number, text},
    },
};

/// What can be done with all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BulkAction {
    Retry,
    Reopen,
    Discard,
}

impl FromStr for BulkAction {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        let known = Self::ALL.into_iter().find(|all| all.as_str() == word);
        known.ok_or_else(|| format!("{word:?} is not possible; it takes one of retry, reopen, discard"))
    }
}

impl BulkAction {
    pub const ALL: [Self; 3] = [Self::Retry, Self::Reopen, Self::Discard];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Retry => "retry",
            Self::Reopen => "reopen",
            Self::Discard => "discard",
        }
    }

    /// As it stands in the address that asks once more.
    pub const fn as_pair(self) -> (&'static str, &'static str) {
        ("all", self.as_str())
    }

    /// Reads what the form that asked once more says besides.
    pub fn take_command(self, app: &AppState, pairs: &mut Pairs) -> Result<Command, WebError> {
        take_command(self.as_str(), pairs, app.clock.now())
    }
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

/// Does it in the background, and says what came of it so far.
pub async fn carry_out(app: &Arc<AppState>, bulk: Bulk) -> Result<Toast, WebError> {
    let (command, status) = (bulk.command.clone(), bulk.filter.statuses.first().copied());
    let claimed = app.triage.begin(bulk).await?;
    let (tell, ended) = oneshot::channel();
    let worker = Arc::clone(app);
    app.tasks.spawn(async move {
        let job = worker.triage.work_at(claimed, &worker.settings.closing).await;
        // Nobody waits for it any more.
        if let Err(Err(error)) = tell.send(job) {
            tracing::error!(error = %error, "a bulk action was interrupted; it continues");
        }
    });
    let ended: Option<Result<Job, StoreError>> = tokio::time::timeout(PATIENCE, ended).await.ok().and_then(Result::ok);
    match ended.transpose()? {
        Some(job) if job.state != JobState::Running => Ok(told(&command, status, &job)),
        _ => Ok(Toast::done("This takes a while; the counts on this page show the progress.".to_owned(), Vec::new())),
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
    let refused = match job.failed {
        0 => String::new(),
        failed => format!(" {} not: {}.", number::thousands(failed), reasons(job)),
    };
    if job.done == 0 {
        return Toast::failed(format!("Nothing done.{refused}"));
    }
    Toast::done(format!("{}{refused}", done(command, status, job.done)), Vec::new())
}

/// Why letters were refused, each reason once; a job tells them letter by letter.
fn reasons(job: &Job) -> String {
    const TOLD: usize = 3;
    let reason = |error: &String| error.split_once(": ").map_or_else(|| error.clone(), |(_, why)| why.to_owned());
    let reasons: BTreeSet<String> = job.errors.iter().map(reason).collect();
    text::one_line(&reasons.into_iter().take(TOLD).collect::<Vec<_>>().join("; "))
}
