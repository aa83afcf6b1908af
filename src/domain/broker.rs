//! How dlo stands with a broker.

use amqp_message::time::Timestamp;

/// What one of our connections to a broker is doing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConnectionState {
    /// Not reached yet since the start.
    Connecting,
    Connected {
        since: Timestamp,
    },
    /// The broker is in alarm (memory or disk) and reads nothing from us until it is over.
    Blocked {
        since: Timestamp,
        why: String,
    },
    Lost {
        since: Timestamp,
        why: String,
    },
    /// It can be reached, and refuses what is asked of it, or has taken it away.
    Refused {
        since: Timestamp,
        why: String,
    },
    /// Another process does this; ours has not the role.
    Elsewhere,
}

impl ConnectionState {
    pub const fn is_connected(&self) -> bool {
        matches!(self, Self::Connected { .. })
    }

    /// The worse of two. Together they are well since the last one is, and in trouble since the first one is.
    pub fn worse<'a>(&'a self, other: &'a Self) -> &'a Self {
        if other.weight() > self.weight() { other } else { self }
    }

    /// The heavier, the worse.
    const fn weight(&self) -> (u8, i64) {
        match self {
            Self::Elsewhere => (0, 0),
            Self::Connected { since } => (1, since.as_micros()),
            Self::Blocked { since, .. } => (2, -since.as_micros()),
            Self::Connecting => (3, 0),
            Self::Refused { since, .. } | Self::Lost { since, .. } => (4, -since.as_micros()),
        }
    }

    /// The problem, in words; `None` when there is none.
    pub fn trouble(&self) -> Option<&str> {
        match self {
            Self::Connecting => Some("not connected yet"),
            Self::Connected { .. } | Self::Elsewhere => None,
            Self::Blocked { why, .. } | Self::Refused { why, .. } | Self::Lost { why, .. } => Some(why),
        }
    }
}

/// The state of everything we do with one broker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BrokerHealth {
    pub name: String,
    /// Host, port and vhost; never the password.
    pub address: String,
    pub consuming: ConnectionState,
    pub publishing: ConnectionState,
    /// Since when and why deliveries are held instead of stored, when they are.
    pub holding: Option<Holding>,
}

/// Deliveries that are held: neither stored nor acknowledged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holding {
    pub since: Timestamp,
    pub why: String,
    /// The database has said that there is no room.
    pub is_full: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: u64) -> Timestamp {
        Timestamp::from_seconds(second)
    }

    fn connected(second: u64) -> ConnectionState {
        ConnectionState::Connected { since: at(second) }
    }

    fn lost(second: u64) -> ConnectionState {
        ConnectionState::Lost { since: at(second), why: String::new() }
    }

    #[test]
    fn two_stand_as_the_worse_of_them() {
        fn check(worse: ConnectionState, better: ConnectionState) {
            assert_eq!((better.worse(&worse), worse.worse(&better)), (&worse, &worse));
        }
        check(connected(1), ConnectionState::Elsewhere);
        check(ConnectionState::Connecting, connected(1));
        check(lost(1), ConnectionState::Connecting);
        check(lost(9), connected(9));
        check(connected(2), connected(1));
        check(lost(1), lost(2));
    }
}
