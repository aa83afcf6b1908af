//! Who may sign in: users, their sessions and the tokens of programs.

mod sessions;
mod setup;
mod tokens;
mod users;
mod vouched;

pub use sessions::NewSession;
pub use tokens::NewToken;
pub use users::{NewUser, UserError};
pub use vouched::Vouched;

use amqp_message::time::Timestamp;
use sqlx_macros::FromRow;
use uuid::Uuid;

use super::{StoreError, letters::rows::parse};
use crate::domain::access::{Membership, User, UserId, read_memberships};

/// What is kept of a secret that somebody else holds.
pub type SecretHash = [u8; 32];

#[derive(FromRow)]
struct UserRow {
    user_id: Uuid,
    name: String,
    source: String,
    role: String,
    teams: String,
    disabled: bool,
    withdrawn: bool,
    user_created_at: i64,
    signed_in_at: Option<i64>,
}

impl TryFrom<UserRow> for User {
    type Error = StoreError;

    fn try_from(row: UserRow) -> Result<Self, StoreError> {
        Ok(Self {
            id: UserId::from_uuid(row.user_id),
            name: row.name,
            source: parse("a way to sign in", &row.source)?,
            role: parse("a role", &row.role)?,
            teams: memberships(&row.teams)?,
            is_disabled: row.disabled,
            is_withdrawn: row.withdrawn,
            created_at: Timestamp::from_micros(row.user_created_at),
            signed_in_at: row.signed_in_at.map(Timestamp::from_micros),
        })
    }
}

fn memberships(text: &str) -> Result<Vec<Membership>, StoreError> {
    read_memberships(text).map_err(|why| StoreError::Unreadable { what: "somebody's teams", why })
}
