//! What admins do with users, from a page or the command line.

use std::sync::Arc;

use super::{PasswordError, Passwords};
use crate::{
    clock::Clock,
    domain::{
        access::{Membership, Role, User, UserId, check_name},
        actor::Actor,
    },
    services::{change_feed::ChangeFeed, ids},
    store::{NewUser, Store, StoreError, UserError},
};

/// Users that are read at once.
const PORTION: u32 = 1_000;

/// Why a user is not added or changed.
#[derive(Debug, thiserror::Error)]
pub enum UsersError {
    #[error("{0}")]
    Unfit(String),
    #[error(transparent)]
    User(#[from] UserError),
}

impl From<PasswordError> for UsersError {
    fn from(error: PasswordError) -> Self {
        Self::Unfit(error.to_string())
    }
}

/// Cheap to clone.
#[derive(Clone)]
pub struct Users {
    store: Arc<Store>,
    clock: Clock,
    feed: ChangeFeed,
    passwords: Passwords,
}

impl Users {
    pub fn new(store: Arc<Store>, clock: Clock, feed: ChangeFeed) -> Self {
        Self { store, clock, feed, passwords: Passwords::default() }
    }

    /// The same, whose passwords cost more or less to guess.
    pub fn with_passwords(self, passwords: Passwords) -> Self {
        Self { passwords, ..self }
    }

    /// Users by name, behind that one, `limit` at most.
    pub async fn behind(&self, after: &str, limit: u32) -> Result<Vec<User>, StoreError> {
        self.store.users(after, limit).await
    }

    /// All users by name.
    pub async fn all(&self) -> Result<Vec<User>, StoreError> {
        let mut all: Vec<User> = Vec::new();
        loop {
            let next = self.behind(all.last().map_or("", |last| &last.name), PORTION).await?;
            let is_end = next.len() < PORTION as usize;
            all.extend(next);
            if is_end {
                return Ok(all);
            }
        }
    }

    pub async fn add(
        &self,
        name: &str,
        password: &str,
        (role, teams): (Role, &[Membership]),
        by: &Actor,
    ) -> Result<(), UsersError> {
        check_name(name).map_err(UsersError::Unfit)?;
        let (hash, now) = (self.passwords.hash(name, password).await?, self.clock.now());
        let id = UserId::from_uuid(ids::uuid(now));
        Ok(self.store.add_user(&NewUser { id, name, password: &hash, role, teams }, by, now).await?)
    }

    pub async fn set_role(&self, name: &str, role: Role, by: &Actor) -> Result<(), UsersError> {
        self.store.set_role(name, role, by, self.clock.now()).await?;
        self.feed.settings_changed();
        Ok(())
    }

    /// Confines somebody to the queues of these teams, or with none of them lets them see all.
    pub async fn set_teams(&self, name: &str, teams: &[Membership], by: &Actor) -> Result<(), UsersError> {
        self.store.set_teams(name, teams, by, self.clock.now()).await?;
        self.feed.settings_changed();
        Ok(())
    }

    /// Keeps somebody out, or lets them in again.
    pub async fn disable(&self, name: &str, is_disabled: bool, by: &Actor) -> Result<(), UsersError> {
        self.store.disable_user(name, is_disabled, by, self.clock.now()).await?;
        self.feed.settings_changed();
        Ok(())
    }

    /// Removes somebody, with their sessions and tokens.
    pub async fn remove(&self, name: &str, by: &Actor) -> Result<(), UsersError> {
        self.store.remove_user(name, by, self.clock.now()).await?;
        self.feed.settings_changed();
        Ok(())
    }

    /// Sets another password for somebody who has lost it; all sessions end.
    pub async fn reset(&self, name: &str, password: &str, by: &Actor) -> Result<(), UsersError> {
        let hash = self.passwords.hash(name, password).await?;
        self.store.set_password(name, &hash, by, self.clock.now()).await?;
        self.feed.settings_changed();
        Ok(())
    }
}
