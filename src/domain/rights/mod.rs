//! Rights: what roles, scopes and teams give.

mod grants;
mod role;
mod team;

pub use grants::Grants;
pub use role::{Right, Role, Scope};
pub use team::{Membership, QueueScope, TeamQueues, check_team, read_memberships, write_memberships};
