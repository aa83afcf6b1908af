//! How a queue of a broker stands, as far as the broker says.

use std::fmt;

use amqp_message::{time::Timestamp, word_enum};

use super::number::plural;

/// One queue at one look.
///
/// `None` is "not told", never zero: counts are missing while a queue is new, after its node was restarted, and where
/// an operator has turned statistics off.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct QueueLevel {
    pub name: String,
    pub kind: QueueKind,
    pub state: Option<QueueState>,
    pub messages_ready: Option<u64>,
    pub messages_unacknowledged: Option<u64>,
    /// Ready and unacknowledged together.
    pub messages: Option<u64>,
    pub consumers: Option<u64>,
    /// Since when nothing was published to it, delivered or acknowledged; only while that is so.
    pub idle_since: Option<Timestamp>,
    /// The name of the policy that applies to it.
    pub policy: Option<String>,
    /// How many ready messages it holds at most, by its argument or a policy.
    pub max_length: Option<u64>,
    /// How many milliseconds a message is kept at most, by its argument or a policy.
    pub message_ttl: Option<u64>,
    /// It belongs to one connection and goes with it.
    pub exclusive: bool,
    /// It goes with its last consumer.
    pub auto_delete: bool,
    /// Messages a second.
    pub publish_rate: Option<f64>,
    /// Messages a second, both to consumers and to those who ask for one.
    pub deliver_rate: Option<f64>,
    /// Messages a second that were delivered before.
    pub redeliver_rate: Option<f64>,
    /// Messages a second.
    pub acknowledge_rate: Option<f64>,
    /// By so many messages a second more come than are dealt with, where that is so and some wait: what is kept of the rates.
    pub grows_by: Option<u64>,
    /// Where what is rejected there goes.
    pub dead_letters: DeadLetterRoute,
}

/// Where a queue sends what is rejected.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeadLetterRoute {
    pub exchange: Option<String>,
    pub routing_key: Option<String>,
    /// By an argument of the queue, which no policy changes.
    pub by_argument: bool,
}

impl QueueLevel {
    /// How many consumers it has, where that can be relied on: what is reported of a queue that is down is how it was
    /// before.
    pub fn known_consumers(&self) -> Option<u64> {
        self.consumers.filter(|_| self.is_up())
    }

    /// How many messages are ready, where that can be relied on.
    pub fn known_ready(&self) -> Option<u64> {
        self.messages_ready.filter(|_| self.is_up())
    }

    /// How many messages there are, where that can be relied on.
    pub fn known_messages(&self) -> Option<u64> {
        self.messages.filter(|_| self.is_up())
    }

    /// What keeps its messages from being processed at this moment; nothing of what is not told.
    pub fn troubles(&self) -> Vec<Trouble> {
        if let Some(state) = self.state.filter(|state| !state.is_up()) {
            return vec![Trouble::NotRunning(state)];
        }
        let ready = self.messages_ready.or(self.messages).unwrap_or(0);
        // A stream keeps what was read, and whoever reads it need not be there.
        let lacks_consumers = self.consumers == Some(0) && ready > 0 && self.kind != QueueKind::Stream;
        let full = self.max_length.filter(|limit| (1..=ready).contains(limit));
        let full = full.map(|limit| Trouble::Full { limit });
        lacks_consumers.then_some(Trouble::NoConsumers { ready }).into_iter().chain(full).collect()
    }

    /// By how many messages a second it grows, as its rates say; nothing while its consumers are about to keep up.
    pub fn growth(&self) -> Option<u64> {
        /// Seconds of what comes in that have to wait: rates are of a few seconds, and vary.
        const BACKLOG: f64 = 10.0;
        let (come, ready) = (self.publish_rate?, self.known_ready()?);
        // Without acknowledgements what is delivered is done.
        let done = self.acknowledge_rate.unwrap_or_default().max(self.deliver_rate.unwrap_or_default());
        let by = come - done;
        (by >= 1.0 && by > come / 10.0 && ready as f64 >= come * BACKLOG).then_some(by.round() as u64)
    }

    fn is_up(&self) -> bool {
        self.state.is_none_or(QueueState::is_up)
    }
}

/// What keeps the messages of a queue from being processed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// So many messages are ready, and nobody consumes them.
    NoConsumers { ready: u64 },
    /// As many messages are ready as it holds: for each that comes one is dead-lettered, dropped or refused.
    Full { limit: u64 },
    /// Its process does not run.
    NotRunning(QueueState),
}

impl fmt::Display for Trouble {
    /// A sentence.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoConsumers { ready } => {
                let wait = if *ready == 1 { "waits" } else { "wait" };
                write!(f, "No consumers; {} {wait}.", plural(*ready, "message"))
            }
            Self::Full { limit } => write!(f, "Full: it holds {} at most.", plural(*limit, "message")),
            Self::NotRunning(state) => write!(f, "Not running: {state}."),
        }
    }
}

word_enum! {
    #[derive(Default)]
    QueueKind, "type of queue" {
        Classic = "classic",
        Quorum = "quorum",
        Stream = "stream",
        /// One of a plugin, say MQTT's.
        #[default]
        Other = "other",
    }
}

word_enum! {
    QueueState, "state of a queue" {
        Running = "running",
        /// What 3.x calls a queue that runs where statistics are off.
        Live = "live",
        /// It holds up those who publish to it.
        Flow = "flow",
        /// Too few of its members are there.
        Minority = "minority",
        Stopped = "stopped",
        Down = "down",
        Crashed = "crashed",
        Terminated = "terminated",
        Other = "other",
    }
}

impl QueueState {
    /// Whether its process runs, so that what is reported of it is how it stands.
    pub const fn is_up(self) -> bool {
        matches!(self, Self::Running | Self::Live | Self::Flow | Self::Other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_told_of_a_queue_that_is_down_is_not_relied_on() {
        for &state in QueueState::ALL {
            let level = QueueLevel {
                state: Some(state),
                consumers: Some(1),
                messages_ready: Some(2),
                messages: Some(3),
                ..QueueLevel::default()
            };
            let is_up = !matches!(state.as_str(), "minority" | "stopped" | "down" | "crashed" | "terminated");
            let known = (level.known_consumers(), level.known_ready(), level.known_messages());
            assert_eq!(known, if is_up { (Some(1), Some(2), Some(3)) } else { (None, None, None) }, "{state}");
        }
    }

    #[test]
    fn a_queue_grows_where_more_comes_than_is_done() {
        let check = |come, done, ready, expected| {
            let level = QueueLevel {
                publish_rate: Some(come),
                acknowledge_rate: Some(done),
                messages_ready: Some(ready),
                ..QueueLevel::default()
            };
            assert_eq!(level.growth(), expected, "{level:?}");
        };
        check(12.0, 9.4, 500, Some(3));
        check(12.0, 9.4, 119, None);
        check(12.0, 12.0, 500, None);
        check(100.0, 95.0, 5_000, None);
        check(0.5, 0.0, 500, None);
        assert_eq!(QueueLevel { messages_ready: Some(500), ..QueueLevel::default() }.growth(), None);
    }

    #[test]
    fn what_keeps_messages_from_being_processed() {
        let check = |level: QueueLevel, expected: &str| {
            let said: Vec<_> = level.troubles().iter().map(Trouble::to_string).collect();
            assert_eq!(said.join(" "), expected, "{level:?}");
        };
        let level = |consumers, ready, max_length| QueueLevel {
            consumers,
            messages_ready: ready,
            max_length,
            ..QueueLevel::default()
        };
        check(level(Some(0), Some(1), None), "No consumers; 1 message waits.");
        check(
            level(Some(0), Some(1_780), Some(1_000)),
            "No consumers; 1,780 messages wait. Full: it holds 1,000 messages at most.",
        );
        check(level(Some(2), Some(10), Some(10)), "Full: it holds 10 messages at most.");
        check(
            QueueLevel { state: Some(QueueState::Minority), ..level(Some(0), Some(9), Some(9)) },
            "Not running: minority.",
        );
        for fine in [level(Some(0), Some(0), Some(0)), level(None, Some(9), Some(10)), level(Some(1), None, Some(1))] {
            check(fine, "");
        }
        check(QueueLevel { kind: QueueKind::Stream, ..level(Some(0), Some(9), None) }, "");
    }

    #[test]
    fn a_queue_whose_state_is_not_told_is_taken_at_its_word() {
        let level = QueueLevel { consumers: Some(0), ..QueueLevel::default() };
        assert_eq!((level.known_consumers(), level.known_ready()), (Some(0), None));
    }
}
