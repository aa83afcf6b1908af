//! What programs sign in with.

use amqp_message::time::Timestamp;
use uuid::Uuid;

use super::{Scope, User};
use crate::domain::actor::Actor;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TokenId(Uuid);

impl TokenId {
    pub const fn from_uuid(id: Uuid) -> Self {
        Self(id)
    }

    pub const fn as_uuid(self) -> Uuid {
        self.0
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    pub id: TokenId,
    pub name: String,
    pub scopes: Vec<Scope>,
    /// Who has made it, and what it may at most; none where it was made on the command line.
    pub owner: Option<User>,
    /// Only for the queues of these; none: for all that its owner sees.
    pub teams: Vec<String>,
    pub created_at: Timestamp,
    /// None: it does not expire.
    pub expires_at: Option<Timestamp>,
    pub used_at: Option<Timestamp>,
    /// From where it was used last.
    pub used_from: String,
}

impl Token {
    pub fn is_valid(&self, now: Timestamp) -> bool {
        let is_expired = self.expires_at.is_some_and(|at| at <= now);
        !is_expired && self.owner.as_ref().is_none_or(User::may_come_in)
    }

    /// Under what name it acts: no user and no other token has the same.
    pub fn actor(&self) -> Actor {
        Actor::named(match &self.owner {
            Some(owner) => format!("{} (token of {})", self.name, owner.name),
            None => format!("{} (token)", self.name),
        })
    }
}
