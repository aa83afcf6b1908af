//! What a person may do with a letter.

use std::{fmt, time::Duration};

use super::{
    danger::Danger,
    letter::{Importance, LetterId, Status},
};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// Send it back after `delay`, to `queue` or, where that is `None`, to where its retry goes that waits already; and
    /// without any, to the queue it failed in.
    Retry {
        delay: Duration,
        queue: Option<String>,
    },
    Discard {
        note: Option<String>,
    },
    /// Undo a discard or cancel a scheduled retry.
    Reopen,
    SetImportance(Importance),
    /// An empty note removes it.
    SetNote(String),
    /// Say of which type its message is, by its full name; `None` takes that back.
    SetType(Option<String>),
}

impl Command {
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Retry { .. } => "retry",
            Self::Discard { .. } => "discard",
            Self::Reopen => "reopen",
            Self::SetImportance(_) => "importance",
            Self::SetNote(_) => "note",
            Self::SetType(_) => "type",
        }
    }

    /// What there is to say about it beside its name; empty where there is nothing.
    pub fn detail(&self) -> String {
        match self {
            Self::Retry { delay, queue } => {
                let queue = queue.as_ref().map(|queue| format!("to {queue}"));
                let delay = (!delay.is_zero()).then(|| format!("after {} s", delay.as_secs()));
                [queue, delay].into_iter().flatten().collect::<Vec<_>>().join(", ")
            }
            Self::Discard { note } => note.clone().unwrap_or_default(),
            Self::Reopen => String::new(),
            Self::SetImportance(importance) => importance.to_string(),
            Self::SetNote(note) => note.clone(),
            Self::SetType(message_type) => message_type.clone().unwrap_or_default(),
        }
    }

    /// The statuses in which a letter takes this command.
    pub const fn allowed_in(&self) -> &'static [Status] {
        match self {
            Self::Retry { .. } | Self::Discard { .. } => &[Status::Open, Status::Scheduled],
            Self::Reopen => &[Status::Scheduled, Status::Discarded],
            Self::SetImportance(_) | Self::SetNote(_) | Self::SetType(_) => Status::ALL,
        }
    }
}

/// Why a letter did not take a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    NotFound,
    WrongStatus {
        command: &'static str,
        status: Status,
    },
    /// Nothing says which queue it failed in, so a retry has to name one.
    QueueUnknown,
    /// It is being published at this very moment.
    InFlight,
    /// A retry would do harm.
    Dangerous(Danger),
    /// Another edit of the same message stands, so that this one may not go out too.
    Replaced {
        by: LetterId,
    },
    /// An earlier try was cut short: an edited copy might be the second to arrive.
    PerhapsSent,
    /// The edit cannot be made: a clause that says why.
    Unfit(String),
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotFound => f.write_str("there is no such letter"),
            Self::WrongStatus { command, status } => write!(f, "{command} is not possible: the letter is {status}"),
            Self::QueueUnknown => {
                f.write_str("nothing in the message says which queue it failed in; name one to retry")
            }
            Self::InFlight => f.write_str("it is being sent back at this very moment"),
            Self::Dangerous(danger) => f.write_str(danger.clause()),
            Self::Replaced { by } => {
                write!(f, "letter {by} stands in its place, edited, and never are both sent; discard that one first")
            }
            Self::PerhapsSent => f.write_str(
                "an earlier try to send it back was cut short and may have arrived; wait for its retry, or cancel it \
                 first",
            ),
            Self::Unfit(why) => f.write_str(why),
        }
    }
}

/// What came of a command, letter by letter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CommandReport {
    pub done: Vec<LetterId>,
    pub refused: Vec<(LetterId, Refusal)>,
}
