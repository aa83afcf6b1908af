//! What programs sign in with.

use amqp_message::time::Timestamp;
use sqlx_macros::FromRow;
use uuid::Uuid;

use super::{SecretHash, UserRow};
use crate::{
    domain::{
        access::{Scope, Token, TokenId, User, UserId},
        activity::{Area, AuditEntry},
        actor::Actor,
    },
    store::{
        Store, StoreError, StoreReader, audit,
        db::{Tx, on},
        letters::rows::parse,
    },
};

/// A token that is made.
pub struct NewToken<'a> {
    pub hash: SecretHash,
    pub token: &'a Token,
}

#[derive(FromRow)]
struct Row {
    id: Uuid,
    token_name: String,
    scopes: String,
    token_teams: String,
    owner: Option<Uuid>,
    created_at: i64,
    expires_at: Option<i64>,
    used_at: Option<i64>,
    used_from: String,
    name: Option<String>,
    source: Option<String>,
    role: Option<String>,
    teams: Option<String>,
    disabled: Option<bool>,
    withdrawn: Option<bool>,
    user_created_at: Option<i64>,
    signed_in_at: Option<i64>,
}

impl Row {
    fn owner(&self) -> Result<Option<User>, StoreError> {
        let row = || {
            Some(UserRow {
                user_id: self.owner?,
                name: self.name.clone()?,
                source: self.source.clone()?,
                role: self.role.clone()?,
                teams: self.teams.clone()?,
                disabled: self.disabled?,
                withdrawn: self.withdrawn?,
                user_created_at: self.user_created_at?,
                signed_in_at: self.signed_in_at,
            })
        };
        row().map(User::try_from).transpose()
    }
}

impl TryFrom<Row> for Token {
    type Error = StoreError;

    fn try_from(row: Row) -> Result<Self, StoreError> {
        let scopes = row.scopes.split(',').filter(|word| !word.is_empty());
        Ok(Self {
            id: TokenId::from_uuid(row.id),
            owner: row.owner()?,
            scopes: scopes.map(|word| parse::<Scope>("a scope", word)).collect::<Result<_, _>>()?,
            teams: row.token_teams.split(',').filter(|team| !team.is_empty()).map(str::to_owned).collect(),
            name: row.token_name,
            created_at: Timestamp::from_micros(row.created_at),
            expires_at: row.expires_at.map(Timestamp::from_micros),
            used_at: row.used_at.map(Timestamp::from_micros),
            used_from: row.used_from,
        })
    }
}

impl StoreReader {
    /// The token that a program has given.
    pub async fn token(&self, hash: &SecretHash) -> Result<Option<Token>, StoreError> {
        const SELECT: &str =
            "SELECT t.id, t.name AS token_name, t.scopes, t.teams AS token_teams, t.owner, t.created_at, t.expires_at, t.used_at,
            t.used_from, u.name, u.source, u.role, u.teams, u.disabled, u.withdrawn, u.created_at AS user_created_at, u.signed_in_at
            FROM api_tokens t LEFT JOIN users u ON u.id = t.owner WHERE t.hash = $1";
        let row: Option<Row> =
            on!(self.db.reader(), |pool| sqlx::query_as(SELECT).bind(&hash[..]).fetch_optional(pool).await?);
        row.map(Token::try_from).transpose()
    }

    /// Tokens by name, and those of one name in order, behind that one, `limit` at most.
    pub async fn tokens(&self, (name, id): (&str, TokenId), limit: u32) -> Result<Vec<Token>, StoreError> {
        const SELECT: &str =
            "SELECT t.id, t.name AS token_name, t.scopes, t.teams AS token_teams, t.owner, t.created_at, t.expires_at, t.used_at,
            t.used_from, u.name, u.source, u.role, u.teams, u.disabled, u.withdrawn, u.created_at AS user_created_at, u.signed_in_at
            FROM api_tokens t LEFT JOIN users u ON u.id = t.owner WHERE (t.name, t.id) > ($1, $2)
            ORDER BY t.name, t.id LIMIT $3";
        let rows: Vec<Row> = on!(self.db.reader(), |pool| sqlx::query_as(SELECT)
            .bind(name)
            .bind(id.as_uuid())
            .bind(i64::from(limit))
            .fetch_all(pool)
            .await?);
        rows.into_iter().map(Token::try_from).collect()
    }

    /// A token by what it is listed with.
    pub async fn token_by_id(&self, id: TokenId) -> Result<Option<Token>, StoreError> {
        const SELECT: &str =
            "SELECT t.id, t.name AS token_name, t.scopes, t.teams AS token_teams, t.owner, t.created_at, t.expires_at, t.used_at,
            t.used_from, u.name, u.source, u.role, u.teams, u.disabled, u.withdrawn, u.created_at AS user_created_at, u.signed_in_at
            FROM api_tokens t LEFT JOIN users u ON u.id = t.owner WHERE t.id = $1";
        let row: Option<Row> =
            on!(self.db.reader(), |pool| sqlx::query_as(SELECT).bind(id.as_uuid()).fetch_optional(pool).await?);
        row.map(Token::try_from).transpose()
    }

    /// Those that have that name; each has another owner.
    pub async fn tokens_called(&self, name: &str) -> Result<Vec<Token>, StoreError> {
        const SELECT: &str =
            "SELECT t.id, t.name AS token_name, t.scopes, t.teams AS token_teams, t.owner, t.created_at, t.expires_at, t.used_at,
            t.used_from, u.name, u.source, u.role, u.teams, u.disabled, u.withdrawn, u.created_at AS user_created_at, u.signed_in_at
            FROM api_tokens t LEFT JOIN users u ON u.id = t.owner WHERE t.name = $1 ORDER BY t.created_at LIMIT 1000";
        let rows: Vec<Row> = on!(self.db.reader(), |pool| sqlx::query_as(SELECT).bind(name).fetch_all(pool).await?);
        rows.into_iter().map(Token::try_from).collect()
    }

    /// Those of one user.
    pub async fn tokens_of(&self, owner: UserId) -> Result<Vec<Token>, StoreError> {
        const SELECT: &str = "SELECT t.id, t.name AS token_name, t.scopes, t.teams AS token_teams, t.owner, t.created_at, t.expires_at, t.used_at,
            t.used_from, u.name, u.source, u.role, u.teams, u.disabled, u.withdrawn, u.created_at AS user_created_at, u.signed_in_at
            FROM api_tokens t LEFT JOIN users u ON u.id = t.owner WHERE t.owner = $1 ORDER BY t.name, t.created_at LIMIT 1000";
        let rows: Vec<Row> =
            on!(self.db.reader(), |pool| sqlx::query_as(SELECT).bind(owner.as_uuid()).fetch_all(pool).await?);
        rows.into_iter().map(Token::try_from).collect()
    }
}

impl Store {
    /// Adds a token; the answer is whether its owner had none of that name.
    pub async fn add_token(&self, new: &NewToken<'_>, by: &Actor, at: Timestamp) -> Result<bool, StoreError> {
        const TAKEN: &str = "SELECT COUNT(*) FROM api_tokens WHERE name = $1 AND (owner = $2 OR owner IS NULL AND $3)";
        const ADD: &str = "INSERT INTO api_tokens (id, hash, name, owner, scopes, created_at, expires_at, used_from,
            teams) VALUES ($1, $2, $3, $4, $5, $6, $7, '', $8)";
        let token = new.token;
        let owner = token.owner.as_ref().map(|owner| owner.id.as_uuid());
        let scopes: Vec<&str> = token.scopes.iter().map(|scope| scope.as_str()).collect();
        let mut tx = self.db.begin().await?;
        let taken: i64 = on!(&mut tx, |tx| sqlx::query_scalar(TAKEN)
            .bind(&*token.name)
            .bind(owner)
            .bind(owner.is_none())
            .fetch_one(&mut **tx)
            .await?);
        if taken > 0 {
            return Ok(false);
        }
        on!(&mut tx, |tx| sqlx::query(ADD)
            .bind(token.id.as_uuid())
            .bind(&new.hash[..])
            .bind(&*token.name)
            .bind(owner)
            .bind(scopes.join(","))
            .bind(token.created_at.as_micros())
            .bind(token.expires_at.map(Timestamp::as_micros))
            .bind(token.teams.join(","))
            .execute(&mut **tx)
            .await
            .map(drop)?);
        write(&mut tx, at, by, "add", token).await?;
        tx.commit().await?;
        Ok(true)
    }

    /// Ends a token; the answer is whether it was there.
    pub async fn revoke_token(&self, token: &Token, by: &Actor, at: Timestamp) -> Result<bool, StoreError> {
        const REVOKE: &str = "DELETE FROM api_tokens WHERE id = $1";
        let mut tx = self.db.begin().await?;
        let revoked =
            on!(&mut tx, |tx| sqlx::query(REVOKE).bind(token.id.as_uuid()).execute(&mut **tx).await?.rows_affected());
        if revoked > 0 {
            write(&mut tx, at, by, "revoke", token).await?;
        }
        tx.commit().await?;
        Ok(revoked > 0)
    }

    /// It was used at that time, from there.
    pub async fn see_token(&self, id: TokenId, at: Timestamp, from: &str) -> Result<(), StoreError> {
        const SEE: &str = "UPDATE api_tokens SET used_at = $1, used_from = $2 WHERE id = $3";
        on!(self.db.writer(), |pool| sqlx::query(SEE)
            .bind(at.as_micros())
            .bind(from)
            .bind(id.as_uuid())
            .execute(pool)
            .await
            .map(drop)?);
        Ok(())
    }
}

async fn write(tx: &mut Tx, at: Timestamp, by: &Actor, action: &str, token: &Token) -> Result<(), StoreError> {
    let scopes: Vec<&str> = token.scopes.iter().map(|scope| scope.as_str()).collect();
    let entry = AuditEntry::new(at, by, Area::Tokens, action, token.actor().as_str());
    audit::append(tx, &AuditEntry { detail: scopes.join(", "), ..entry }).await
}
