//! What there is to report, and in which words.

use std::{fmt, time::Duration};

use amqp_message::{time::Timestamp, word_enum};

use crate::domain::number::{plural, span, thousands};

/// Something users should know of a broker and its queues.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Concern {
    /// It had so many consumers and has none.
    NoConsumers { queue: String, since: Timestamp, had: u64, interrupted: bool },
    /// A queue of ours grows.
    Growing { queue: String, from: u64, to: u64, since: Timestamp },
    /// Obituaries wait, though we are connected.
    IntakeLags { queue: String, ready: u64, since: Timestamp },
    /// Dead letters wait, though we are connected.
    RetrierLags { queue: String, ready: u64, since: Timestamp },
    /// Retries should have been published so long ago.
    RetriesOverdue { by: Duration, since: Timestamp },
    /// The management API does not answer.
    Unreachable { since: Timestamp },
}

word_enum! {
    ConcernKind, "concern" {
        NoConsumers = "no_consumers",
        Growing = "growing",
        IntakeLags = "intake_lags",
        RetrierLags = "retrier_lags",
        RetriesOverdue = "retries_overdue",
        Unreachable = "unreachable",
    }
}

/// By what a concern is known from when it is raised until it is cleared. One broker has each but once.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConcernKey {
    pub kind: ConcernKind,
    pub queue: Option<String>,
}

/// What a look brought. A concern's key is raised, then cleared, then raised again: never the same twice in a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    Raised(Concern),
    Cleared(Concern),
}

impl Change {
    pub const fn concern(&self) -> &Concern {
        match self {
            Self::Raised(concern) | Self::Cleared(concern) => concern,
        }
    }
}

impl Concern {
    pub const fn kind(&self) -> ConcernKind {
        match self {
            Self::NoConsumers { .. } => ConcernKind::NoConsumers,
            Self::Growing { .. } => ConcernKind::Growing,
            Self::IntakeLags { .. } => ConcernKind::IntakeLags,
            Self::RetrierLags { .. } => ConcernKind::RetrierLags,
            Self::RetriesOverdue { .. } => ConcernKind::RetriesOverdue,
            Self::Unreachable { .. } => ConcernKind::Unreachable,
        }
    }

    pub fn queue(&self) -> Option<&str> {
        match self {
            Self::NoConsumers { queue, .. }
            | Self::Growing { queue, .. }
            | Self::IntakeLags { queue, .. }
            | Self::RetrierLags { queue, .. } => Some(queue),
            Self::RetriesOverdue { .. } | Self::Unreachable { .. } => None,
        }
    }

    pub fn key(&self) -> ConcernKey {
        ConcernKey { kind: self.kind(), queue: self.queue().map(str::to_owned) }
    }

    /// The key of its incident, see [`Incident::key`](crate::domain::incident::Incident::key). A queue of ours that is stuck is
    /// both growing and lagging: that is one incident.
    pub fn incident_key(&self, broker: &str) -> String {
        let what = match (self.kind(), self.queue()) {
            (ConcernKind::Growing | ConcernKind::IntakeLags | ConcernKind::RetrierLags, Some(queue)) => {
                format!("stuck:{queue}")
            }
            _ => self.key().to_string(),
        };
        format!("watch:{broker}:{what}")
    }

    pub const fn since(&self) -> Timestamp {
        match self {
            Self::NoConsumers { since, .. }
            | Self::Growing { since, .. }
            | Self::IntakeLags { since, .. }
            | Self::RetrierLags { since, .. }
            | Self::RetriesOverdue { since, .. }
            | Self::Unreachable { since } => *since,
        }
    }

    /// A headline, without a full stop.
    pub fn title(&self) -> String {
        match self {
            Self::NoConsumers { queue, .. } => format!("{} has no consumers", shown(queue)),
            Self::Growing { queue, .. } => format!("{} grows", shown(queue)),
            Self::IntakeLags { .. } => "Dead letters are not stored as fast as they arrive".to_owned(),
            Self::RetrierLags { .. } => "Dead letters are not processed as fast as they arrive".to_owned(),
            Self::RetriesOverdue { .. } => "Retries are overdue".to_owned(),
            Self::Unreachable { .. } => "The management API does not answer".to_owned(),
        }
    }

    /// The problem, in a sentence.
    pub fn sentence(&self, now: Timestamp) -> String {
        let long = span(now.since(self.since()));
        match self {
            Self::NoConsumers { queue, had, interrupted: false, .. } => {
                format!("{} has had no consumer for {long}; it had {}.", shown(queue), thousands(*had))
            }
            Self::NoConsumers { queue, had, interrupted: true, .. } => {
                format!(
                    "{} has been without a consumer for most of {long}: they come and go. It had {}.",
                    shown(queue),
                    thousands(*had)
                )
            }
            Self::Growing { queue, from, to, .. } => {
                format!(
                    "{} has grown from {} to {} in {long} and is not being emptied.",
                    shown(queue),
                    thousands(*from),
                    plural(*to, "message")
                )
            }
            Self::IntakeLags { queue, ready, .. } | Self::RetrierLags { queue, ready, .. } => {
                let are = if *ready == 1 { "is" } else { "are" };
                format!(
                    "{} {are} waiting in {}, which has not been empty for {long}.",
                    plural(*ready, "message"),
                    shown(queue)
                )
            }
            Self::RetriesOverdue { by, .. } => format!("The oldest retry should have been sent {} ago.", span(*by)),
            Self::Unreachable { .. } => {
                format!("There has been no answer for {long}, so no queue is watched.")
            }
        }
    }
}

impl fmt::Display for ConcernKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.queue {
            None => write!(f, "{}", self.kind),
            Some(queue) => write!(f, "{}:{queue}", self.kind),
        }
    }
}

/// A name for people. It may hold anything, line breaks too, which would make a sentence say something else.
fn shown(queue: &str) -> String {
    queue.chars().map(|c| if c.is_control() { char::REPLACEMENT_CHARACTER } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEGUN: Timestamp = Timestamp::from_micros(1_000_000_000);

    fn check(concern: &Concern, lasted: u64, expected: &str) {
        assert_eq!(concern.sentence(BEGUN.plus(Duration::from_secs(lasted))), expected);
    }

    fn no_consumers(queue: &str, interrupted: bool) -> Concern {
        Concern::NoConsumers { queue: queue.to_owned(), since: BEGUN, had: 3, interrupted }
    }

    #[test]
    fn sentences_say_what_is_the_matter() {
        let queue = || "dlo.obituaries".to_owned();
        check(&no_consumers("texts.persist", false), 900, "texts.persist has had no consumer for 15 min; it had 3.");
        check(
            &no_consumers("texts.persist", true),
            1_800,
            "texts.persist has been without a consumer for most of 30 min: they come and go. It had 3.",
        );
        check(
            &Concern::Growing { queue: queue(), from: 10, to: 9_000, since: BEGUN },
            90_000,
            "dlo.obituaries has grown from 10 to 9,000 messages in 1 d and is not being emptied.",
        );
        check(
            &Concern::IntakeLags { queue: queue(), ready: 1, since: BEGUN },
            300,
            "1 message is waiting in dlo.obituaries, which has not been empty for 5 min.",
        );
        check(
            &Concern::RetriesOverdue { by: Duration::from_secs(400), since: BEGUN },
            60,
            "The oldest retry should have been sent 6 min ago.",
        );
    }

    #[test]
    fn a_clock_that_was_set_back_makes_no_odd_sentence() {
        let told = no_consumers("q", false).sentence(Timestamp::default());
        assert_eq!(told, "q has had no consumer for 0 s; it had 3.");
    }

    #[test]
    fn a_name_cannot_write_sentences_of_its_own() {
        let odd = no_consumers("q\nAll is well.\r\u{1b}[31m", false);
        for text in [odd.title(), odd.sentence(BEGUN)] {
            assert!(text.starts_with("q\u{fffd}All is well.\u{fffd}\u{fffd}[31m") && !text.contains('\n'), "{text:?}");
        }
    }

    #[test]
    fn keys_are_words_and_tell_queues_apart() {
        assert_eq!(no_consumers("a:b", false).key().to_string(), "no_consumers:a:b");
        assert_eq!(Concern::Unreachable { since: BEGUN }.key().to_string(), "unreachable");
        let later = Concern::NoConsumers { queue: "q".into(), since: Timestamp::MAX, had: 9, interrupted: true };
        assert_eq!(no_consumers("q", false).key(), later.key());
        assert_ne!(no_consumers("q", false).key(), no_consumers("p", false).key());
    }
}
