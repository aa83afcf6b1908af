//! What users may do with a letter.

use std::{fmt, time::Duration};

use failure_conventions::danger::Danger;

use super::{
    edit::EditPart,
    letter::{Importance, LetterId, Status},
    number::exact,
};

/// Characters of a note, of a letter or of a group.
pub const LONGEST_NOTE: usize = 8_000;

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
    /// Take back the importance that was set by hand: the rules decide again.
    ReleaseImportance,
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
            Self::SetImportance(_) | Self::ReleaseImportance => "importance",
            Self::SetNote(_) => "note",
            Self::SetType(_) => "type",
        }
    }

    /// How long it waits before it does anything.
    pub const fn delay(&self) -> Duration {
        match self {
            Self::Retry { delay, .. } => *delay,
            _ => Duration::ZERO,
        }
    }

    /// The queue that it names to send to.
    pub fn queue(&self) -> Option<&str> {
        match self {
            Self::Retry { queue, .. } => queue.as_deref(),
            _ => None,
        }
    }

    /// What there is to say about it beside its name, whichever letters take it; empty where there is nothing.
    pub fn detail(&self) -> String {
        match self {
            Self::Retry { delay, queue: None } => in_time(*delay),
            Self::Retry { delay, queue: Some(queue) } => format!("to {queue}, {}", in_time(*delay)),
            Self::Discard { note } => note.clone().unwrap_or_default(),
            Self::Reopen => String::new(),
            Self::SetImportance(importance) => format!("to {importance}"),
            Self::ReleaseImportance => "back to the rules".to_owned(),
            Self::SetNote(note) => note.clone(),
            Self::SetType(Some(message_type)) => format!("to {message_type}"),
            Self::SetType(None) => String::new(),
        }
    }

    /// The statuses in which a letter takes this command.
    pub const fn allowed_in(&self) -> &'static [Status] {
        match self {
            Self::Retry { .. } | Self::Discard { .. } => &[Status::Open, Status::Scheduled],
            Self::Reopen => &[Status::Scheduled, Status::Discarded],
            Self::SetImportance(_) | Self::ReleaseImportance | Self::SetNote(_) | Self::SetType(_) => Status::ALL,
        }
    }
}

/// `at once`, `in 1 min 40 s`, `in 4.7 s`: to a tenth of a second from one second on.
pub fn in_time(delay: Duration) -> String {
    match u64::try_from(delay.as_millis()).unwrap_or(u64::MAX) {
        0 => "at once".to_owned(),
        1..1_000 => format!("in {}", exact(delay)),
        millis => format!("in {}", exact(Duration::from_millis(millis.saturating_add(50) / 100 * 100))),
    }
}

/// Why a letter did not take a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    NotFound,
    /// Whoever asks sees it, and may only look.
    NotAllowed,
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
    /// The same, where a part of it is to blame.
    UnfitPart {
        part: EditPart,
        why: String,
    },
    /// What is set by hand is not as it was expected.
    Changed,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotFound => f.write_str("there is no such dead letter"),
            Self::NotAllowed => f.write_str("your role in the team of its queue may only look"),
            Self::WrongStatus { command, status } => match status {
                Status::Retried => write!(f, "{command} is not possible: it was already retried"),
                Status::Open | Status::Scheduled | Status::Discarded => {
                    write!(f, "{command} is not possible: the letter is {status}")
                }
            },
            Self::QueueUnknown => {
                f.write_str("nothing in the message says which queue it failed in; name one to retry")
            }
            Self::InFlight => f.write_str("it is being retried at this very moment"),
            Self::Dangerous(danger) => f.write_str(danger.clause()),
            Self::Replaced { by } => {
                write!(
                    f,
                    "dead letter {by}, an edited copy, takes its place, and only one of them is ever sent; discard that one first"
                )
            }
            Self::PerhapsSent => f.write_str(
                "an earlier retry was interrupted and may have arrived; wait for its next attempt, or cancel it first",
            ),
            Self::Unfit(why) | Self::UnfitPart { why, .. } => f.write_str(why),
            Self::Changed => f.write_str("somebody has changed its importance, note or type meanwhile"),
        }
    }
}

/// The result of a command, letter by letter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CommandReport {
    pub done: Vec<LetterId>,
    pub refused: Vec<(LetterId, Refusal)>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn says_what_its_name_does_not() {
        let check = |command: Command, expected: &str| assert_eq!(command.detail(), expected);
        let retry = |millis, queue: Option<&str>| Command::Retry {
            delay: Duration::from_millis(millis),
            queue: queue.map(str::to_owned),
        };
        check(retry(0, None), "at once");
        check(retry(4_739, None), "in 4.7 s");
        check(retry(9_960, None), "in 10 s");
        check(retry(1_500, None), "in 1.5 s");
        check(retry(100_400, Some("texts.persist")), "to texts.persist, in 1 min 40 s");
        check(retry(90_000_000, None), "in 1 d 1 h");
        check(Command::Discard { note: Some("twice".to_owned()) }, "twice");
        check(Command::Discard { note: None }, "");
        check(Command::SetImportance(Importance::High), "to high");
        check(Command::SetType(Some("acme.Text".to_owned())), "to acme.Text");
        check(Command::SetType(None), "");
    }
}
