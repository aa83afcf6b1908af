//! Browsers in which somebody has signed in.

use amqp_message::time::Timestamp;
use sqlx_macros::FromRow;
use uuid::Uuid;

use super::{SecretHash, UserRow};
use crate::{
    domain::access::{Session, SessionLimits, User, UserId},
    store::{Store, StoreError, StoreReader, db::on},
};

/// A session that begins.
pub struct NewSession<'a> {
    pub hash: SecretHash,
    pub session: &'a Session,
    /// The hash of the password that fitted; empty where somebody else vouches for them.
    pub password: &'a str,
    /// Empty where no OpenID provider has said who it is.
    pub id_token: &'a str,
    /// That of the browser before, which ends.
    pub instead_of: Option<SecretHash>,
}

#[derive(FromRow)]
struct SessionRow {
    id: Uuid,
    user_id: Uuid,
    created_at: i64,
    seen_at: i64,
    address: String,
    agent: String,
}

impl From<SessionRow> for Session {
    fn from(row: SessionRow) -> Self {
        Self {
            id: row.id,
            user: UserId::from_uuid(row.user_id),
            created_at: Timestamp::from_micros(row.created_at),
            seen_at: Timestamp::from_micros(row.seen_at),
            address: row.address,
            agent: row.agent,
        }
    }
}

#[derive(FromRow)]
struct WithUser {
    id: Uuid,
    created_at: i64,
    seen_at: i64,
    address: String,
    agent: String,
    #[sqlx(flatten)]
    user: UserRow,
}

impl StoreReader {
    /// The session of a cookie, with whose it is.
    pub async fn session(&self, hash: &SecretHash) -> Result<Option<(Session, User)>, StoreError> {
        const SELECT: &str =
            "SELECT s.id, s.created_at, s.seen_at, s.address, s.agent, u.id AS user_id, u.name, u.source,
            u.role, u.teams, u.disabled, u.withdrawn, u.created_at AS user_created_at, u.signed_in_at
            FROM sessions s JOIN users u ON u.id = s.user_id WHERE s.hash = $1";
        let row: Option<WithUser> =
            on!(self.db.reader(), |pool| sqlx::query_as(SELECT).bind(&hash[..]).fetch_optional(pool).await?);
        let Some(WithUser { id, created_at, seen_at, address, agent, user }) = row else { return Ok(None) };
        let session = SessionRow { id, user_id: user.user_id, created_at, seen_at, address, agent };
        Ok(Some((session.into(), user.try_into()?)))
    }

    /// The sessions of a user, the one seen last first.
    pub async fn sessions(&self, user: UserId) -> Result<Vec<Session>, StoreError> {
        const SELECT: &str = "SELECT id, user_id, created_at, seen_at, address, agent FROM sessions WHERE user_id = $1
            ORDER BY seen_at DESC, id LIMIT 100";
        let rows: Vec<SessionRow> =
            on!(self.db.reader(), |pool| sqlx::query_as(SELECT).bind(user.as_uuid()).fetch_all(pool).await?);
        Ok(rows.into_iter().map(Session::from).collect())
    }

    /// What the OpenID provider said when the session began.
    pub async fn id_token(&self, hash: &SecretHash) -> Result<Option<String>, StoreError> {
        const SELECT: &str = "SELECT id_token FROM sessions WHERE hash = $1 AND id_token <> ''";
        Ok(on!(self.db.reader(), |pool| sqlx::query_scalar(SELECT).bind(&hash[..]).fetch_optional(pool).await?))
    }
}

impl Store {
    /// Begins a session; the answer is whether that is still the password, of somebody who may come in.
    pub async fn begin_session(&self, new: &NewSession<'_>) -> Result<bool, StoreError> {
        const END: &str = "DELETE FROM sessions WHERE hash = $1";
        const BEGIN: &str = "INSERT INTO sessions (hash, id, user_id, created_at, seen_at, address, agent, id_token)
            VALUES ($1, $2, $3, $4, $5, $6, $7, $8)";
        const SIGNED_IN: &str = "UPDATE users SET signed_in_at = $1
            WHERE id = $2 AND password = $3 AND NOT disabled AND NOT withdrawn";
        let (mut tx, session) = (self.db.begin().await?, new.session);
        // First, so that whoever changes the password or keeps them out waits, or was before this.
        let may = on!(&mut tx, |tx| sqlx::query(SIGNED_IN)
            .bind(session.created_at.as_micros())
            .bind(session.user.as_uuid())
            .bind(new.password)
            .execute(&mut **tx)
            .await?
            .rows_affected());
        if may == 0 {
            return Ok(false);
        }
        if let Some(before) = new.instead_of {
            on!(&mut tx, |tx| sqlx::query(END).bind(&before[..]).execute(&mut **tx).await.map(drop)?);
        }
        on!(&mut tx, |tx| sqlx::query(BEGIN)
            .bind(&new.hash[..])
            .bind(session.id)
            .bind(session.user.as_uuid())
            .bind(session.created_at.as_micros())
            .bind(session.seen_at.as_micros())
            .bind(&*session.address)
            .bind(&*session.agent)
            .bind(new.id_token)
            .execute(&mut **tx)
            .await
            .map(drop)?);
        tx.commit().await?;
        Ok(true)
    }

    /// It was seen at that time, from there.
    pub async fn see_session(&self, hash: &SecretHash, at: Timestamp, address: &str) -> Result<(), StoreError> {
        const SEE: &str = "UPDATE sessions SET seen_at = $1, address = $2 WHERE hash = $3";
        on!(self.db.writer(), |pool| sqlx::query(SEE)
            .bind(at.as_micros())
            .bind(address)
            .bind(&hash[..])
            .execute(pool)
            .await
            .map(drop)?);
        Ok(())
    }

    /// Ends the session of a cookie; the answer is whether there was one.
    pub async fn end_session(&self, hash: &SecretHash) -> Result<bool, StoreError> {
        const END: &str = "DELETE FROM sessions WHERE hash = $1";
        let ended = on!(self.db.writer(), |pool| sqlx::query(END).bind(&hash[..]).execute(pool).await?.rows_affected());
        Ok(ended > 0)
    }

    /// Ends a session of that user; the answer is whether there was one.
    pub async fn end_session_of(&self, user: UserId, id: Uuid) -> Result<bool, StoreError> {
        const END: &str = "DELETE FROM sessions WHERE user_id = $1 AND id = $2";
        let ended = on!(self.db.writer(), |pool| sqlx::query(END)
            .bind(user.as_uuid())
            .bind(id)
            .execute(pool)
            .await?
            .rows_affected());
        Ok(ended > 0)
    }

    /// Ends all sessions of a user but one; the answer is how many.
    pub async fn end_other_sessions(&self, user: UserId, but: Uuid) -> Result<u64, StoreError> {
        const END: &str = "DELETE FROM sessions WHERE user_id = $1 AND id <> $2";
        Ok(on!(self.db.writer(), |pool| sqlx::query(END)
            .bind(user.as_uuid())
            .bind(but)
            .execute(pool)
            .await?
            .rows_affected()))
    }

    /// Forgets sessions that are over, and links that have ended.
    pub async fn forget_sessions(&self, now: Timestamp, limits: SessionLimits) -> Result<u64, StoreError> {
        const FORGET: &str = "DELETE FROM sessions WHERE seen_at <= $1 OR created_at <= $2";
        const FORGET_LINKS: &str = "DELETE FROM setup_links WHERE ends_at <= $1";
        on!(self.db.writer(), |pool| sqlx::query(FORGET_LINKS).bind(now.as_micros()).execute(pool).await.map(drop)?);
        Ok(on!(self.db.writer(), |pool| sqlx::query(FORGET)
            .bind(now.minus(limits.idle).as_micros())
            .bind(now.minus(limits.length).as_micros())
            .execute(pool)
            .await?
            .rows_affected()))
    }
}
