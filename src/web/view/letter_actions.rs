//! What can be done with a letter as it stands.

use amqp_message::time::Timestamp;
use failure_conventions::danger::Danger;

use super::{text, time::Moment};
use crate::{
    domain::{
        command::Command,
        letter::{Importance, LetterSummary, Status},
        queue_pause::QueuePause,
    },
    web::query::queue_path,
};

/// What can be done with it as it stands.
pub struct Actions {
    pub retry: bool,
    /// Why a retry would do harm: a clause; empty where it does not.
    pub danger: &'static str,
    /// Why its queue is none to send to, while others are: a clause; empty where it is one.
    pub not_allowed: String,
    /// Retries into the queue it goes to are paused.
    pub pause: Option<PauseView>,
    pub discard: bool,
    /// What reopening means here: nothing where it is not possible.
    pub reopen: Option<&'static str>,
    pub importances: Vec<(&'static str, bool)>,
}

/// A pause of the queue that a letter goes back to.
#[derive(Debug)]
pub struct PauseView {
    /// The page of the queue.
    pub href: String,
    pub queue: String,
    pub by: String,
    pub at: Moment,
    /// What ends it: a clause.
    pub until: &'static str,
}

impl PauseView {
    fn new(pause: &QueuePause, now: Timestamp) -> Self {
        Self {
            href: queue_path::href(&pause.broker, &pause.queue),
            queue: text::one_line(&pause.queue),
            by: text::one_line(pause.by.as_str()),
            at: Moment::new(pause.at, now),
            until: if pause.until_consumers { "the queue has a consumer" } else { "somebody resumes them" },
        }
    }
}

/// What stands in the way of a retry.
#[derive(Default)]
pub struct Obstacles {
    /// Why it must not be retried, when it must not.
    pub danger: Option<Danger>,
    /// Why it must not be retried to where a retry goes: a clause.
    pub not_allowed: Option<String>,
    /// Retries into the queue it goes to are paused.
    pub pause: Option<QueuePause>,
    /// An edited copy stands in its place.
    pub is_replaced: bool,
}

impl Actions {
    pub fn new(letter: &LetterSummary, is_by_policy: bool, obstacles: &Obstacles, now: Timestamp) -> Self {
        let is_replaced = obstacles.is_replaced;
        let allowed = |command: Command| command.allowed_in().contains(&letter.status);
        let reopen = match letter.status {
            Status::Scheduled if is_by_policy => "Stop retrying",
            Status::Scheduled => "Cancel the retry",
            _ => "Reopen",
        };
        Self {
            retry: !is_replaced && allowed(Command::Retry { delay: std::time::Duration::ZERO, queue: None }),
            danger: obstacles.danger.map(Danger::clause).unwrap_or_default(),
            not_allowed: obstacles.not_allowed.as_deref().map(text::one_line).unwrap_or_default(),
            pause: obstacles.pause.as_ref().map(|pause| PauseView::new(pause, now)),
            discard: allowed(Command::Discard { note: None }),
            reopen: (!is_replaced && allowed(Command::Reopen)).then_some(reopen),
            importances: Importance::ALL.iter().map(|one| (one.as_str(), *one == letter.importance)).collect(),
        }
    }
}
