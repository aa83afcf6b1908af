//! Who may do what.

mod names;
mod session;
mod token;
mod user;

pub use names::check_name;
pub use session::{Session, SessionLimits};
pub use token::{Token, TokenId};
pub use user::{Source, User, UserId};

pub use super::rights::{
    Grants, Membership, QueueScope, Right, Role, Scope, TeamQueues, check_team, read_memberships, write_memberships,
};
