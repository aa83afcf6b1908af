//! Who did something.

use std::fmt;

/// A person by name, or the system itself.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Actor(String);

impl Actor {
    /// What the system does by itself is done by `dlo`.
    pub const SYSTEM: &str = "dlo";
    /// Whoever uses an system without sign-in, which listens on loopback only.
    pub const LOCAL: &str = "local user";

    pub fn system() -> Self {
        Self(Self::SYSTEM.to_owned())
    }

    pub fn local() -> Self {
        Self(Self::LOCAL.to_owned())
    }

    pub fn named(name: impl Into<String>) -> Self {
        Self(name.into())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Actor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
