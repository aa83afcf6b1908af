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
    /// Another process does this; ours has not the role.
    Elsewhere,
}

impl ConnectionState {
    pub const fn is_connected(&self) -> bool {
        matches!(self, Self::Connected { .. })
    }

    /// The problem, in words; `None` when there is none.
    pub fn trouble(&self) -> Option<&str> {
        match self {
            Self::Connecting => Some("not connected yet"),
            Self::Connected { .. } | Self::Elsewhere => None,
            Self::Blocked { why, .. } | Self::Lost { why, .. } => Some(why),
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
}
