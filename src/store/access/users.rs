//! People who sign in.

use amqp_message::time::Timestamp;
use sqlx_macros::FromRow;
use thiserror::Error;

use super::{UserRow, Vouched};
use crate::{
    domain::{
        access::{Membership, Role, Source, User, UserId, write_memberships},
        activity::{Area, AuditEntry},
        actor::Actor,
    },
    store::{
        Store, StoreError, StoreReader, audit,
        db::{Either, Tx, on},
    },
};

/// Somebody who is to be added.
pub struct NewUser<'a> {
    pub id: UserId,
    pub name: &'a str,
    /// Its hash.
    pub password: &'a str,
    pub role: Role,
    pub teams: &'a [Membership],
}

impl<'a> NewUser<'a> {
    const fn vouched(&self) -> Vouched<'a> {
        let Self { id, name, role, teams, .. } = *self;
        Vouched { id, source: Source::Password, subject: name, name, role, teams }
    }
}

/// Why a user is not added or changed.
#[derive(Debug, Error)]
pub enum UserError {
    /// The name that it has, which may differ by capital letters.
    #[error("there is a user {0:?} already")]
    Taken(String),
    #[error("there is an admin already; sign in, or have them add you")]
    HasAdmin,
    #[error("there is no user {0:?}")]
    Unknown(String),
    #[error("{0:?} is the only admin who can sign in")]
    LastAdmin(String),
    #[error("{0:?} has no password here")]
    NoPassword(String),
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<sqlx::Error> for UserError {
    fn from(error: sqlx::Error) -> Self {
        Self::Store(error.into())
    }
}

#[derive(FromRow)]
struct WithPassword {
    #[sqlx(flatten)]
    user: UserRow,
    password: String,
}

impl StoreReader {
    /// Users by name, behind that one, `limit` at most.
    pub async fn users(&self, after: &str, limit: u32) -> Result<Vec<User>, StoreError> {
        const SELECT: &str =
            "SELECT id AS user_id, name, source, role, teams, disabled, withdrawn, created_at AS user_created_at, signed_in_at
            FROM users WHERE name > $1 ORDER BY name LIMIT $2";
        let limit = i64::from(limit);
        let rows: Vec<UserRow> =
            on!(self.db.reader(), |pool| sqlx::query_as(SELECT).bind(after).bind(limit).fetch_all(pool).await?);
        rows.into_iter().map(User::try_from).collect()
    }

    /// Whether there is an admin who has a password here.
    pub async fn has_admin(&self) -> Result<bool, StoreError> {
        let count: i64 = on!(self.db.reader(), |pool| sqlx::query_scalar(COUNT_ADMINS).fetch_one(pool).await?);
        Ok(count > 0)
    }

    /// A user by name.
    pub async fn user(&self, name: &str) -> Result<Option<User>, StoreError> {
        Ok(self.user_with_password(name).await?.map(|(user, _)| user))
    }

    /// A user with the hash of the password; it is empty where there is none.
    pub async fn user_with_password(&self, name: &str) -> Result<Option<(User, String)>, StoreError> {
        const SELECT: &str =
            "SELECT id AS user_id, name, source, role, teams, disabled, withdrawn, created_at AS user_created_at, signed_in_at, password
            FROM users WHERE name = $1";
        let row: Option<WithPassword> =
            on!(self.db.reader(), |pool| sqlx::query_as(SELECT).bind(name).fetch_optional(pool).await?);
        row.map(|row| Ok((row.user.try_into()?, row.password))).transpose()
    }
}

const COUNT_ADMINS: &str = "SELECT COUNT(*) FROM users WHERE source = 'password' AND role = 'admin' AND NOT disabled";
const INSERT: &str = "INSERT INTO users (id, name, source, subject, password, role, disabled, created_at,
    teams) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT DO NOTHING";

impl Store {
    /// Adds somebody who has a password here.
    pub async fn add_user(&self, new: &NewUser<'_>, by: &Actor, at: Timestamp) -> Result<(), UserError> {
        let mut tx = self.db.begin().await?;
        is_free(&mut tx, new.name).await?;
        insert(&mut tx, &new.vouched(), new.password, at).await?;
        write(&mut tx, at, by, "add", new.name, &standing(new.role, new.teams)).await?;
        Ok(tx.commit().await?)
    }

    /// Adds the first admin, in whose name nobody has done anything yet.
    ///
    /// # Errors
    /// [`UserError::HasAdmin`] where there is an admin by now.
    pub async fn add_first_user(&self, new: &NewUser<'_>, by: &Actor, at: Timestamp) -> Result<(), UserError> {
        const FORGET: &str = "DELETE FROM setup_links";
        let mut tx = self.db.begin().await?;
        // Whoever else is about to do the same waits here.
        let ended = on!(&mut tx, |tx| sqlx::query(FORGET).execute(&mut **tx).await?.rows_affected());
        let count: i64 = on!(&mut tx, |tx| sqlx::query_scalar(COUNT_ADMINS).fetch_one(&mut **tx).await?);
        if count > 0 || ended == 0 {
            return Err(UserError::HasAdmin);
        }
        is_free(&mut tx, new.name).await?;
        insert(&mut tx, &new.vouched(), new.password, at).await?;
        write(&mut tx, at, by, "add", new.name, &standing(new.role, new.teams)).await?;
        Ok(tx.commit().await?)
    }

    /// Gives somebody another role.
    pub async fn set_role(&self, name: &str, role: Role, by: &Actor, at: Timestamp) -> Result<(), UserError> {
        const SET: &str = "UPDATE users SET role = $1 WHERE name = $2";
        let mut tx = self.db.begin().await?;
        lock_admins(&mut tx).await?;
        let user = need(&mut tx, name).await?;
        if user.role == role {
            return Ok(());
        }
        on!(&mut tx, |tx| sqlx::query(SET).bind(role.as_str()).bind(name).execute(&mut **tx).await.map(drop)?);
        leaves_an_admin(&mut tx, &user).await?;
        write(&mut tx, at, by, "role", name, role.as_str()).await?;
        Ok(tx.commit().await?)
    }

    /// Confines somebody to the queues of these teams, or with none of them lets them see all.
    pub async fn set_teams(
        &self,
        name: &str,
        teams: &[Membership],
        by: &Actor,
        at: Timestamp,
    ) -> Result<(), UserError> {
        const SET: &str = "UPDATE users SET teams = $1 WHERE name = $2";
        let mut tx = self.db.begin().await?;
        if need(&mut tx, name).await?.teams == teams {
            return Ok(());
        }
        let written = write_memberships(teams);
        on!(&mut tx, |tx| sqlx::query(SET).bind(&*written).bind(name).execute(&mut **tx).await.map(drop)?);
        write(&mut tx, at, by, "teams", name, if written.is_empty() { "none" } else { &written }).await?;
        Ok(tx.commit().await?)
    }

    /// Keeps somebody out, or lets them in again. Who is kept out has no session any more.
    pub async fn disable_user(
        &self,
        name: &str,
        is_disabled: bool,
        by: &Actor,
        at: Timestamp,
    ) -> Result<(), UserError> {
        const SET: &str = "UPDATE users SET disabled = $1 WHERE name = $2";
        let mut tx = self.db.begin().await?;
        lock_admins(&mut tx).await?;
        let user = need(&mut tx, name).await?;
        if user.is_disabled == is_disabled {
            return Ok(());
        }
        on!(&mut tx, |tx| sqlx::query(SET).bind(is_disabled).bind(name).execute(&mut **tx).await.map(drop)?);
        leaves_an_admin(&mut tx, &user).await?;
        end_sessions(&mut tx, user.id).await?;
        write(&mut tx, at, by, if is_disabled { "disable" } else { "enable" }, name, "").await?;
        Ok(tx.commit().await?)
    }

    /// Removes somebody with all that is theirs: sessions, tokens and private views. What they have done stays in the activity.
    pub async fn remove_user(&self, name: &str, by: &Actor, at: Timestamp) -> Result<(), UserError> {
        const TOKENS: &str = "DELETE FROM api_tokens WHERE owner = $1";
        const REMOVE: &str = "DELETE FROM users WHERE id = $1";
        // Whoever has the same name later is somebody else. What is shared stays.
        const VIEWS: &str = "DELETE FROM views WHERE owner = $1 AND shared = 0";
        let mut tx = self.db.begin().await?;
        lock_admins(&mut tx).await?;
        let user = need(&mut tx, name).await?;
        end_sessions(&mut tx, user.id).await?;
        for statement in [TOKENS, REMOVE] {
            on!(&mut tx, |tx| sqlx::query(statement).bind(user.id.as_uuid()).execute(&mut **tx).await.map(drop)?);
        }
        on!(&mut tx, |tx| sqlx::query(VIEWS).bind(&*user.name).execute(&mut **tx).await.map(drop)?);
        leaves_an_admin(&mut tx, &user).await?;
        write(&mut tx, at, by, "remove", name, "").await?;
        Ok(tx.commit().await?)
    }

    /// Sets another password; all sessions end.
    pub async fn set_password(&self, name: &str, password: &str, by: &Actor, at: Timestamp) -> Result<(), UserError> {
        const SET: &str = "UPDATE users SET password = $1 WHERE name = $2";
        let mut tx = self.db.begin().await?;
        let user = need(&mut tx, name).await?;
        if user.source != Source::Password {
            return Err(UserError::NoPassword(name.to_owned()));
        }
        on!(&mut tx, |tx| sqlx::query(SET).bind(password).bind(name).execute(&mut **tx).await.map(drop)?);
        end_sessions(&mut tx, user.id).await?;
        write(&mut tx, at, by, "password", name, "").await?;
        Ok(tx.commit().await?)
    }
}

/// `viewer, in payments=operator`
pub(super) fn standing(role: Role, teams: &[Membership]) -> String {
    if teams.is_empty() { role.to_string() } else { format!("{role}, in {}", write_memberships(teams)) }
}

pub(super) async fn insert(tx: &mut Tx, new: &Vouched<'_>, password: &str, at: Timestamp) -> Result<(), UserError> {
    let added = on!(tx, |tx| sqlx::query(INSERT)
        .bind(new.id.as_uuid())
        .bind(new.name)
        .bind(new.source.as_str())
        .bind(new.subject)
        .bind(password)
        .bind(new.role.as_str())
        .bind(false)
        .bind(at.as_micros())
        .bind(write_memberships(new.teams))
        .execute(&mut **tx)
        .await?
        .rows_affected());
    if added == 0 { Err(UserError::Taken(new.name.to_owned())) } else { Ok(()) }
}

/// Two names that differ by capital letters would be taken for each other by whoever reads them.
async fn is_free(tx: &mut Tx, name: &str) -> Result<(), UserError> {
    const SELECT: &str = "SELECT name FROM users WHERE lower(name) = lower($1) LIMIT 1";
    let taken: Option<String> = on!(tx, |tx| sqlx::query_scalar(SELECT).bind(name).fetch_optional(&mut **tx).await?);
    taken.map_or(Ok(()), |taken| Err(UserError::Taken(taken)))
}

pub(super) async fn find(tx: &mut Tx, name: &str) -> Result<Option<User>, StoreError> {
    const SELECT: &str =
        "SELECT id AS user_id, name, source, role, teams, disabled, withdrawn, created_at AS user_created_at, signed_in_at
        FROM users WHERE name = $1";
    let row: Option<UserRow> = on!(tx, |tx| sqlx::query_as(SELECT).bind(name).fetch_optional(&mut **tx).await?);
    row.map(User::try_from).transpose()
}

pub(super) async fn need(tx: &mut Tx, name: &str) -> Result<User, UserError> {
    find(tx, name).await?.ok_or_else(|| UserError::Unknown(name.to_owned()))
}

/// Two admins who change each other at once do so one after the other: each would see that the other is left. On SQLite a
/// transaction is alone in any case.
async fn lock_admins(tx: &mut Tx) -> Result<(), StoreError> {
    const LOCK: &str = "SELECT id FROM users WHERE source = 'password' AND role = 'admin' ORDER BY id FOR UPDATE";
    if let Either::Postgres(tx) = tx {
        sqlx::query(LOCK).execute(&mut **tx).await?;
    }
    Ok(())
}

/// Where passwords are kept here, somebody has to be left who can give roles.
async fn leaves_an_admin(tx: &mut Tx, changed: &User) -> Result<(), UserError> {
    let is_one = changed.source == Source::Password && changed.role == Role::Admin && !changed.is_disabled;
    let left: i64 = on!(tx, |tx| sqlx::query_scalar(COUNT_ADMINS).fetch_one(&mut **tx).await?);
    if is_one && left == 0 { Err(UserError::LastAdmin(changed.name.clone())) } else { Ok(()) }
}

pub(super) async fn end_sessions(tx: &mut Tx, user: UserId) -> Result<(), StoreError> {
    const END: &str = "DELETE FROM sessions WHERE user_id = $1";
    on!(tx, |tx| sqlx::query(END).bind(user.as_uuid()).execute(&mut **tx).await.map(drop)?);
    Ok(())
}

pub(super) async fn write(
    tx: &mut Tx,
    at: Timestamp,
    by: &Actor,
    action: &str,
    name: &str,
    detail: &str,
) -> Result<(), StoreError> {
    let entry = AuditEntry::new(at, by, Area::Users, action, name);
    audit::append(tx, &AuditEntry { detail: detail.to_owned(), ..entry }).await
}
