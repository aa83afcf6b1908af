//! One thing done with all letters of a list or group: asked once more first, then done in the background.

use std::{sync::Arc, time::Duration};

use amqp_message::{time::Timestamp, word_enum};
use payload_codec::json::MergePatch;

use super::{bulk_preview::take_until, choices::Choice, toast::Toast};
use crate::{
    crash_point,
    domain::{
        access::Right,
        command::Command,
        job::{Bulk, Job, JobState},
        letter::{Importance, Status},
        pacing::Pacing,
    },
    store::StoreError,
    web::{
        error::WebError,
        orders::{
            letters::{Action, BY_RULES, Order, read_merge_patch},
            pacing::PacingOrder,
        },
        query::{Pairs, described::described, form, parameters},
        server::background,
        state::AppState,
        view::{self, number, preflight::PreflightView, report},
        visitor::Visitor,
    },
};

word_enum! {
    /// What can be done with all of them.
    BulkAction, "action" {
        Retry = "retry",
        Reopen = "reopen",
        Discard = "discard",
        Importance = "importance",
    }
}

described!(BulkAction);

impl BulkAction {
    /// As it stands in the address that asks once more.
    pub const fn as_pair(self) -> (&'static str, &'static str) {
        ("all", self.as_str())
    }

    /// What it comes to, as far as it matters which letters take it.
    pub const fn command(self) -> Command {
        match self {
            Self::Retry => Command::Retry { delay: Duration::ZERO, queue: None },
            Self::Reopen => Command::Reopen,
            Self::Discard => Command::Discard { note: None },
            Self::Importance => Command::SetImportance(Importance::Normal),
        }
    }

    /// What an order says that can still be chosen where it is asked about: when, or which importance.
    pub fn chosen(self, order: Order) -> Option<String> {
        match self {
            Self::Retry => order.delay.filter(|delay| delay != NOW),
            Self::Importance => order.importance.map(|word| word.unwrap_or_else(|| BY_RULES.to_owned())),
            Self::Reopen | Self::Discard => None,
        }
    }
}

parameters! {
    /// What is about to be done with all of them.
    pub Asked {
        "all" all: Option<BulkAction> as form::One,
    }
}

/// The answer to the question: what is to be done, with what came in until then, and how it is held back.
pub struct Confirmed {
    pub command: Command,
    pub until: Timestamp,
    /// What is changed in the payload of each.
    pub edit: Option<MergePatch>,
    pub pacing: Pacing,
}

impl Confirmed {
    pub fn take(pairs: &mut Pairs, possible: &[Action], app: &AppState) -> Result<Self, WebError> {
        let until = take_until(pairs)?;
        let edit = pairs.take("merge_patch")?.filter(|typed| !typed.trim().is_empty());
        let pacing = PacingOrder::take(pairs)?;
        let order = Order::take(pairs)?;
        let queue = order.queue.clone().filter(|queue| !queue.is_empty());
        let command = Order { queue, ..order }.command(possible, app)?;
        let is_retry = matches!(command, Command::Retry { .. });
        let pacing = if is_retry { pacing.read()? } else { Pacing::default() };
        let edit = edit.filter(|_| is_retry).map(|typed| read_merge_patch(&typed)).transpose()?;
        Ok(Self { command, until, edit, pacing })
    }
}

/// What sends at once, which is what a retry does that says nothing.
const NOW: &str = "now";

/// When a retry is to go back, as choices. A time that is chosen without being offered comes first.
pub fn delays(chosen: &str) -> Vec<Choice> {
    const OFFERED: [(&str, &str); 5] =
        [(NOW, NOW), ("1m", "in 1 min"), ("10m", "in 10 min"), ("1h", "in 1 h"), ("tomorrow", "tomorrow 09:00 UTC")];
    let is_offered = chosen.is_empty() || OFFERED.iter().any(|(value, _)| *value == chosen);
    let own = (!is_offered).then(|| (chosen, format!("in {chosen}")));
    let offered = OFFERED.iter().map(|(value, label)| (*value, (*label).to_owned()));
    own.into_iter().chain(offered).map(|(value, label)| choice(value, label, chosen)).collect()
}

fn choice(value: &str, label: String, chosen: &str) -> Choice {
    Choice { value: value.to_owned(), label, is_selected: value == chosen }
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
    /// What can be chosen where that is to be set.
    pub importances: &'static [Importance],
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
    /// The delay or importance that is chosen at first; empty for the first that is offered.
    pub chosen: String,
    pub whole: BulkTarget,
    /// What a retry would meet, where it can be held back.
    pub preflight: Option<PreflightView>,
    /// What is meant by now, and stays so.
    pub frozen: String,
}

impl Confirmation {
    /// Whether whoever asks may edit what is sent.
    pub fn may_edit(&self) -> bool {
        self.is_retry && Visitor::need(Right::Payload).is_ok()
    }

    pub fn delays(&self) -> Vec<Choice> {
        delays(&self.chosen)
    }

    pub fn importances(&self) -> Vec<Choice> {
        let words = self.whole.importances.iter().map(|importance| importance.as_str()).chain([BY_RULES]);
        words.map(|word| choice(word, word.to_owned(), &self.chosen)).collect()
    }

    pub fn new(all: BulkAction, whole: BulkTarget) -> Self {
        let (n, of) = (number::thousands(whole.count), &whole.of);
        let frozen = match whole.count {
            1 => "This one is meant, as it is now.".to_owned(),
            _ => format!("These {n} are meant, as they are now."),
        };
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
            (BulkAction::Reopen, _) => (
                format!("Reopen {n}"),
                format!("Reopen {n} discarded of {of}?"),
                "They become open again, but for those of which an edited copy was retried: only one of both is ever sent.",
            ),
            (BulkAction::Importance, _) => (
                format!("Set importance of {n}"),
                format!("Set the importance of {n} of {of}?"),
                "What is set by hand outlives the rules.",
            ),
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
            chosen: String::new(),
            whole,
            preflight: None,
            frozen,
        }
    }
}

/// The same, from a page; the answer is where one goes from here. What is held back has a page of its own.
pub async fn carry_out_from(app: &Arc<AppState>, bulk: Bulk, page: &str) -> Result<(String, Toast), WebError> {
    if !bulk.pacing.holds() {
        return Ok((page.to_owned(), carry_out(app, bulk).await?));
    }
    let job = background::begin(app, bulk).await?.job;
    Ok((view::job::href(job), Toast::done("It has begun. This page shows how it goes.")))
}

/// How long a page waits for the end; a hundred thousand letters take longer.
const PATIENCE: Duration = crash_point::patience(Duration::from_secs(3));

/// Does it in the background, and reports the result so far.
pub async fn carry_out(app: &Arc<AppState>, bulk: Bulk) -> Result<Toast, WebError> {
    let command = bulk.command.clone();
    let status = match &*bulk.filter.statuses {
        [one] => Some(*one),
        _ => None,
    };
    let can_undo = bulk.can_be_undone();
    let ended = background::begin(app, bulk).await?.ended;
    let ended: Option<Result<Job, StoreError>> = tokio::time::timeout(PATIENCE, ended).await.ok().and_then(Result::ok);
    match ended.transpose()? {
        Some(job) if job.state != JobState::Running => {
            let toast = told(&command, status, &job);
            Ok(if can_undo && !toast.is_failure() { toast.undone_by_job(job.id) } else { toast })
        }
        _ => Ok(Toast::done("This takes a while; the page Jobs shows how it goes.")),
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
    let reasons = job.refused().map(|(_, why)| why);
    match report::told(command, status, job.done, job.failed, reasons) {
        Ok(text) => Toast::done(text),
        Err(text) => Toast::failed(text),
    }
}
