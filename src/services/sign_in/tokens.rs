//! Tokens of programs: made, listed and revoked.

use std::{sync::Arc, time::Duration};

use thiserror::Error;
use uuid::Uuid;

use super::secrets;
use crate::{
    clock::Clock,
    domain::{
        access::{Scope, Token, TokenId, User, UserId, check_name},
        actor::Actor,
    },
    services::{change_feed::ChangeFeed, ids},
    store::{NewToken, Store, StoreError},
};

/// What every token begins with, so that it is known for one where it does not belong.
const PREFIX: &str = "dlo_";
/// Tokens that are read at once.
const PORTION: u32 = 1_000;
/// Tokens that one user can have, so that all of them can be listed and looked through.
const MOST: usize = 50;

/// How long a token lasts at most, unless it does not expire.
const LONGEST: Duration = Duration::from_secs(LONGEST_DAYS * 24 * 60 * 60);
const LONGEST_DAYS: u64 = 3_650;

/// A token that somebody wants.
pub struct WantedToken<'a> {
    pub name: &'a str,
    pub scopes: Vec<Scope>,
    pub owner: Option<User>,
    /// Only for the queues of these; none: for all that its owner sees.
    pub teams: Vec<String>,
    /// None: it does not expire.
    pub lasts: Option<Duration>,
}

/// Why a token is not made.
#[derive(Debug, Error)]
pub enum TokenError {
    #[error("{0}")]
    Unfit(String),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("there is no randomness: {0}")]
    Random(#[from] getrandom::Error),
}

/// Cheap to clone.
#[derive(Clone)]
pub struct Tokens {
    store: Arc<Store>,
    clock: Clock,
    feed: ChangeFeed,
}

impl Tokens {
    pub const fn new(store: Arc<Store>, clock: Clock, feed: ChangeFeed) -> Self {
        Self { store, clock, feed }
    }

    /// Tokens by name, behind that one, `limit` at most.
    pub async fn behind(&self, after: (&str, TokenId), limit: u32) -> Result<Vec<Token>, StoreError> {
        self.store.tokens(after, limit).await
    }

    /// All tokens by name.
    pub async fn all(&self) -> Result<Vec<Token>, StoreError> {
        let mut all: Vec<Token> = Vec::new();
        loop {
            let last = all.last().map(|last| (&*last.name, last.id));
            let next = self.behind(last.unwrap_or(("", TokenId::from_uuid(Uuid::nil()))), PORTION).await?;
            let is_end = next.len() < PORTION as usize;
            all.extend(next);
            if is_end {
                return Ok(all);
            }
        }
    }

    pub async fn of(&self, owner: UserId) -> Result<Vec<Token>, StoreError> {
        self.store.tokens_of(owner).await
    }

    /// Makes a token. The answer is its text, which nobody can see again.
    pub async fn add(&self, wanted: WantedToken<'_>, by: &Actor) -> Result<String, TokenError> {
        let name = check_name(wanted.name).map_err(TokenError::Unfit)?.to_owned();
        if wanted.scopes.is_empty() {
            return Err(TokenError::Unfit("a token has at least one scope".to_owned()));
        }
        if !wanted.teams.is_empty() && wanted.scopes.contains(&Scope::Admin) {
            let why = "the scope admin is not for a team: policies, rules and schemas hold for all queues";
            return Err(TokenError::Unfit(why.to_owned()));
        }
        if wanted.lasts.is_some_and(|lasts| lasts > LONGEST) {
            let why = format!("a token lasts {LONGEST_DAYS} days at most, or does not expire");
            return Err(TokenError::Unfit(why));
        }
        if let Some(owner) = &wanted.owner {
            check_owner(owner, &wanted.scopes).map_err(TokenError::Unfit)?;
            if self.of(owner.id).await?.len() >= MOST {
                return Err(TokenError::Unfit(format!("there are {MOST} tokens of yours already; revoke some first")));
            }
        }
        let (text, now) = (format!("{PREFIX}{}", secrets::random()?), self.clock.now());
        let token = Token {
            id: TokenId::from_uuid(ids::uuid(now)),
            name,
            scopes: wanted.scopes,
            owner: wanted.owner,
            teams: wanted.teams,
            created_at: now,
            expires_at: wanted.lasts.map(|lasts| now.plus(lasts)),
            used_at: None,
            used_from: String::new(),
        };
        let new = NewToken { hash: secrets::hash(&text), token: &token };
        if !self.store.add_token(&new, by, now).await? {
            return Err(TokenError::Unfit(format!("there is a token {:?} already", token.name)));
        }
        Ok(text)
    }

    /// A token by what it is listed with.
    pub async fn by_id(&self, id: Uuid) -> Result<Option<Token>, StoreError> {
        self.store.token_by_id(TokenId::from_uuid(id)).await
    }

    /// Those that have that name; each has another owner.
    pub async fn called(&self, name: &str) -> Result<Vec<Token>, StoreError> {
        self.store.tokens_called(name).await
    }

    /// Ends a token; the answer is whether it was there.
    pub async fn revoke(&self, token: &Token, by: &Actor) -> Result<bool, StoreError> {
        let revoked = self.store.revoke_token(token, by, self.clock.now()).await?;
        self.feed.settings_changed();
        Ok(revoked)
    }
}

/// A scope that is of no use now would be of use to whoever holds the token once the owner's role is higher.
fn check_owner(owner: &User, scopes: &[Scope]) -> Result<(), String> {
    match scopes.iter().find(|scope| !owner.has_use_of(**scope)) {
        Some(scope) => Err(format!("{scope} is not for the role {}", owner.role)),
        None => Ok(()),
    }
}
