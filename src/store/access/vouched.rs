//! People whom somebody else vouches for.

use amqp_message::time::Timestamp;
use uuid::Uuid;

use super::{
    UserError, UserRow,
    users::{end_sessions, find, insert, need, standing, write},
};
use crate::{
    domain::{
        access::{Membership, Role, Source, User, UserId, write_memberships},
        actor::Actor,
    },
    store::{
        Store, StoreError, StoreReader,
        db::{Tx, on},
    },
};

/// Somebody whom an OpenID provider or a proxy vouches for.
pub struct Vouched<'a> {
    /// For the case that they are new here.
    pub id: UserId,
    pub source: Source,
    /// What the one who vouches calls them; it stays the same when the name changes.
    pub subject: &'a str,
    pub name: &'a str,
    pub role: Role,
    pub teams: &'a [Membership],
}

impl StoreReader {
    /// A user as an OpenID provider or a proxy calls them.
    pub async fn vouched(&self, source: Source, subject: &str) -> Result<Option<User>, StoreError> {
        const SELECT: &str =
            "SELECT id AS user_id, name, source, role, teams, disabled, withdrawn, created_at AS user_created_at, signed_in_at
            FROM users WHERE source = $1 AND subject = $2";
        let row: Option<UserRow> = on!(self.db.reader(), |pool| sqlx::query_as(SELECT)
            .bind(source.as_str())
            .bind(subject)
            .fetch_optional(pool)
            .await?);
        row.map(User::try_from).transpose()
    }
}

impl Store {
    /// Somebody whom another vouches for, with the name and role that one says. The answer is the user as it is now.
    pub async fn vouch(&self, vouched: &Vouched<'_>, at: Timestamp) -> Result<User, UserError> {
        const UPDATE: &str =
            "UPDATE users SET name = $1, role = $2, signed_in_at = $3, teams = $4, withdrawn = FALSE WHERE id = $5";
        let mut tx = self.db.begin().await?;
        let before = find_vouched(&mut tx, vouched).await?;
        let id = before.as_ref().map_or(vouched.id, |before| before.id);
        if find(&mut tx, vouched.name).await?.is_some_and(|other| other.id != id) {
            return Err(UserError::Taken(vouched.name.to_owned()));
        }
        let action = match before {
            None => {
                insert(&mut tx, vouched, "", at).await?;
                Some("add")
            }
            Some(before) => {
                if before.name != vouched.name {
                    take_views_along(&mut tx, &before.name, vouched.name).await?;
                }
                let is_new = before.role != vouched.role || before.teams != vouched.teams || before.is_withdrawn;
                is_new.then_some("role")
            }
        };
        if let Some(action) = action {
            write(&mut tx, at, &Actor::system(), action, vouched.name, &standing(vouched.role, vouched.teams)).await?;
        }
        on!(&mut tx, |tx| sqlx::query(UPDATE)
            .bind(vouched.name)
            .bind(vouched.role.as_str())
            .bind(at.as_micros())
            .bind(write_memberships(vouched.teams))
            .bind(id.as_uuid())
            .execute(&mut **tx)
            .await
            .map(drop)?);
        let user = need(&mut tx, vouched.name).await?;
        tx.commit().await?;
        Ok(user)
    }
}

impl Store {
    /// Whoever vouched for somebody gives them no role any more: their sessions end, and their tokens are good for nothing
    /// until they have one again. The answer is whether they could come in before.
    pub async fn withdraw(&self, source: Source, subject: &str, at: Timestamp) -> Result<bool, StoreError> {
        const WITHDRAW: &str =
            "UPDATE users SET withdrawn = TRUE WHERE source = $1 AND subject = $2 AND NOT withdrawn RETURNING id, name";
        let mut tx = self.db.begin().await?;
        let known: Option<(Uuid, String)> = on!(&mut tx, |tx| sqlx::query_as(WITHDRAW)
            .bind(source.as_str())
            .bind(subject)
            .fetch_optional(&mut **tx)
            .await?);
        let Some((id, name)) = known else { return Ok(false) };
        end_sessions(&mut tx, UserId::from_uuid(id)).await?;
        write(&mut tx, at, &Actor::system(), "role", &name, "none").await?;
        tx.commit().await?;
        Ok(true)
    }
}

/// What somebody has saved stays theirs under another name: whoever has the old one next is somebody else.
async fn take_views_along(tx: &mut Tx, before: &str, now: &str) -> Result<(), StoreError> {
    const MOVE: &str = "UPDATE views SET owner = $1 WHERE owner = $2";
    on!(tx, |tx| sqlx::query(MOVE).bind(now).bind(before).execute(&mut **tx).await.map(drop)?);
    Ok(())
}

async fn find_vouched(tx: &mut Tx, vouched: &Vouched<'_>) -> Result<Option<User>, StoreError> {
    const SELECT: &str =
        "SELECT id AS user_id, name, source, role, teams, disabled, withdrawn, created_at AS user_created_at, signed_in_at
        FROM users WHERE source = $1 AND subject = $2";
    let row: Option<UserRow> = on!(tx, |tx| sqlx::query_as(SELECT)
        .bind(vouched.source.as_str())
        .bind(vouched.subject)
        .fetch_optional(&mut **tx)
        .await?);
    row.map(User::try_from).transpose()
}
