//! What people do with their own account.

use uuid::Uuid;

use super::{Client, SignIn, SignInError, secrets};
use crate::{
    domain::{
        access::{Role, Session, User, UserId},
        actor::Actor,
    },
    services::ids,
    store::{NewUser, StoreError, UserError},
};

impl SignIn {
    /// Ends the session of a cookie. The answer is what the OpenID provider said when it began.
    pub async fn sign_out(&self, cookie: &str) -> Result<Option<String>, StoreError> {
        let (store, hash) = (&self.0.store, secrets::hash(cookie));
        let id_token = store.id_token(&hash).await?;
        if store.end_session(&hash).await? {
            self.0.feed.settings_changed();
        }
        Ok(id_token)
    }

    /// The sessions of a user that are not over.
    pub async fn sessions(&self, user: UserId) -> Result<Vec<Session>, StoreError> {
        let mut sessions = self.0.store.sessions(user).await?;
        sessions.retain(|session| !session.is_over(self.now(), self.limits()));
        Ok(sessions)
    }

    /// Ends a session of that user.
    pub async fn end_session(&self, user: UserId, session: Uuid) -> Result<bool, StoreError> {
        let ended = self.0.store.end_session_of(user, session).await?;
        if ended {
            self.0.feed.settings_changed();
        }
        Ok(ended)
    }

    /// Ends all but this one.
    pub async fn end_other_sessions(&self, user: UserId, but: Uuid) -> Result<u64, StoreError> {
        let ended = self.0.store.end_other_sessions(user, but).await?;
        self.0.feed.settings_changed();
        Ok(ended)
    }

    /// Sets another password; all sessions end, and a new one begins. The answer is what its cookie is to hold.
    pub async fn change_password(
        &self,
        user: &User,
        old: &str,
        new: &str,
        by: &Actor,
        client: &Client,
    ) -> Result<String, SignInError> {
        let inner = &*self.0;
        let present = async { self.with_password(&user.name, old).await?.ok_or(SignInError::Wrong) };
        self.counted(Some(&user.name), client, present).await.map_err(|error| match error {
            SignInError::Wrong => SignInError::Refused("The present password is another.".to_owned()),
            error => error,
        })?;
        let hash = inner.passwords.hash(&user.name, new).await?;
        inner.store.set_password(&user.name, &hash, by, self.now()).await?;
        inner.feed.settings_changed();
        self.begin(user, client, &hash, "").await
    }

    /// Makes the first admin, by a link that is used up by it. The answer is what the cookie is to hold.
    pub async fn set_up(&self, link: &str, name: &str, password: &str, client: &Client) -> Result<String, SignInError> {
        let inner = &*self.0;
        if !self.is_setup_link(link).await? {
            return Err(SignInError::Refused("This link was used already, or its time is over.".to_owned()));
        }
        crate::domain::access::check_name(name).map_err(SignInError::Refused)?;
        let (hash, now) = (inner.passwords.hash(name, password).await?, self.now());
        let id = UserId::from_uuid(ids::uuid(now));
        let new = NewUser { id, name, password: &hash, role: Role::Admin, teams: &[] };
        inner.store.add_first_user(&new, &Actor::system(), now).await?;
        let user = inner.store.user(name).await?.ok_or_else(|| UserError::Unknown(name.to_owned()))?;
        self.begin(&user, client, &hash, "").await
    }
}
