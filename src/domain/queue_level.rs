//! How a queue of a broker stands, as far as the broker says.

use amqp_message::{time::Timestamp, word_enum};

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
    /// It belongs to one connection and goes with it.
    pub exclusive: bool,
    /// It goes with its last consumer.
    pub auto_delete: bool,
    /// Messages a second.
    pub publish_rate: Option<f64>,
    /// Messages a second, both to consumers and to those who ask for one.
    pub deliver_rate: Option<f64>,
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

    fn is_up(&self) -> bool {
        self.state.is_none_or(QueueState::is_up)
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
    fn a_queue_whose_state_is_not_told_is_taken_at_its_word() {
        let level = QueueLevel { consumers: Some(0), ..QueueLevel::default() };
        assert_eq!((level.known_consumers(), level.known_ready()), (Some(0), None));
    }
}
