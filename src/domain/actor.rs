//! Who did something.

use std::{
    fmt,
    hash::{Hash, Hasher},
    net::IpAddr,
};

use amqp_message::word_enum;

use super::rights::{Grants, QueueScope, Right};

/// A person or a program by name, or the system itself. Two of the same name are the same, wherever they ask from.
#[derive(Clone)]
pub struct Actor {
    name: String,
    origin: Option<Origin>,
    /// None: everything, as for what the system does by itself.
    grants: Option<Box<Grants>>,
}

/// From where somebody asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Origin {
    pub via: Via,
    /// None where it is on this machine's command line.
    pub address: Option<IpAddr>,
}

word_enum! {
    /// By what somebody asks.
    Via, "way to ask" {
        Page = "page",
        Token = "token",
        CommandLine = "command line",
    }
}

impl Actor {
    /// What the system does by itself is done by `dlo`.
    pub const SYSTEM: &str = "dlo";
    /// Merges groups that grouping rules make alike.
    pub const GROUPING_RULES: &str = "grouping rules";
    /// Whoever uses a system without sign-in, which listens on loopback only.
    pub const LOCAL: &str = "local user";
    /// Whoever has the command line of the server.
    pub const COMMAND_LINE: &str = "command line";

    pub fn system() -> Self {
        Self::named(Self::SYSTEM)
    }

    pub fn local() -> Self {
        Self::named(Self::LOCAL)
    }

    pub fn command_line() -> Self {
        Self::named(Self::COMMAND_LINE).asking_from(Origin { via: Via::CommandLine, address: None })
    }

    pub fn named(name: impl Into<String>) -> Self {
        Self { name: name.into(), origin: None, grants: None }
    }

    /// The same, who asks from there.
    #[must_use]
    pub fn asking_from(self, origin: Origin) -> Self {
        Self { origin: Some(origin), ..self }
    }

    /// The same, who may do this only.
    #[must_use]
    pub fn granted(self, grants: Grants) -> Self {
        Self { grants: Some(Box::new(grants)), ..self }
    }

    /// Whether they may do that with letters of this queue; the empty name is that of one that is unknown.
    pub fn may_at(&self, right: Right, broker: &str, queue: &str) -> bool {
        self.grants.as_ref().is_none_or(|grants| grants.may_at(right, broker, queue))
    }

    /// The queues that a right holds for.
    pub fn scope(&self, right: Right) -> QueueScope {
        self.grants.as_ref().map_or_else(QueueScope::everything, |grants| grants.scope(right).clone())
    }

    /// The queues that what they do [concerns](Grants::concerned).
    pub fn concerned(&self) -> QueueScope {
        self.grants.as_ref().map_or_else(QueueScope::everything, |grants| grants.concerned().clone())
    }

    pub fn as_str(&self) -> &str {
        &self.name
    }

    /// Where that is known; nobody has to sign in to a server on loopback.
    pub const fn origin(&self) -> Option<Origin> {
        self.origin
    }
}

impl PartialEq for Actor {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Actor {}

impl Hash for Actor {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}

/// Versions are made of it: it says only what is kept.
impl fmt::Debug for Actor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Actor").field(&self.name).finish()
    }
}

impl fmt::Display for Actor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}
