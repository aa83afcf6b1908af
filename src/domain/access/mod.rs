//! Who may do what.

mod names;
mod role;
mod session;
mod token;
mod user;

pub use names::check_name;
pub use role::{Right, Role, Scope};
pub use session::{Session, SessionLimits};
pub use token::{Token, TokenId};
pub use user::{Source, User, UserId};
