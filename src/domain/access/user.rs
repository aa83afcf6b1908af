//! People who sign in.

use amqp_message::{time::Timestamp, word_enum};
use uuid::Uuid;

use super::{Membership, Right, Role, Scope};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct UserId(Uuid);

impl UserId {
    pub const fn from_uuid(id: Uuid) -> Self {
        Self(id)
    }

    pub const fn as_uuid(self) -> Uuid {
        self.0
    }
}

word_enum! {
    /// Who vouches for somebody.
    Source, "way to sign in" {
        /// They have a password here.
        Password = "password",
        /// An OpenID provider.
        Oidc = "oidc",
        /// A proxy in front.
        Proxy = "proxy",
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User {
    pub id: UserId,
    /// What is done is recorded under it; no two have the same.
    pub name: String,
    pub source: Source,
    pub role: Role,
    /// Who is in any sees the queues of these only, unless they are an admin.
    pub teams: Vec<Membership>,
    pub is_disabled: bool,
    /// Whoever vouched for them gives them no role any more.
    pub is_withdrawn: bool,
    pub created_at: Timestamp,
    pub signed_in_at: Option<Timestamp>,
}

impl User {
    /// Whether a token of theirs could do anything by that scope.
    pub fn has_use_of(&self, scope: Scope) -> bool {
        let may = |role: Role| Right::ALL.iter().any(|right| scope.may(*right) && role.may(*right));
        may(self.role) || self.teams.iter().filter_map(|membership| membership.role).any(may)
    }

    /// Whether they may, whatever their role is.
    pub const fn may_come_in(&self) -> bool {
        !self.is_disabled && !self.is_withdrawn
    }
}
