//! Who comes in: by password, by an OpenID provider or by a proxy in front; and programs by tokens.

mod access;
mod account;
mod caller;
mod grants;
mod oidc;
mod passwords;
mod secrets;
mod throttle;
mod tokens;
mod users;
mod vouched;

pub use oidc::{Begun, Oidc};
pub use passwords::{PasswordError, Passwords, SHORTEST};
pub use tokens::{TokenError, Tokens, WantedToken};
pub use users::{Users, UsersError};

use std::{net::IpAddr, sync::Arc, time::Duration};

use amqp_message::time::Timestamp;
use thiserror::Error;

use self::{grants::Teams, throttle::Throttle};
use super::{change_feed::ChangeFeed, ids, live::Live};
use crate::{
    clock::Clock,
    config::{AuthConfig, AuthMode},
    domain::access::{Session, SessionLimits, Source, Token, User},
    store::{NewSession, Store, StoreError, UserError},
};

/// That something was used is written down at most this often, and a session more often where it ends soon without use.
const SEEN_EVERY: Duration = Duration::from_secs(60);
/// And who comes in waits no longer than this for it: it is worth nothing compared with what they came for.
const SEEN_WITHIN: Duration = Duration::from_millis(300);
/// How long the link that makes the first admin can be used.
const LINK_LASTS: Duration = Duration::from_secs(24 * 60 * 60);
/// Characters of what a browser calls itself.
const LONGEST_AGENT: usize = 300;

/// Why somebody does not come in.
#[derive(Debug, Error)]
pub enum SignInError {
    #[error("There is no such account, or the password is another.")]
    Wrong,
    #[error("There were too many attempts. Try again in {} s.", .0.as_secs().max(1))]
    Throttled(Duration),
    #[error("Too many people sign in at this moment. Try again.")]
    Busy,
    /// They are who they say, and may not come in.
    #[error("{0}")]
    Refused(String),
    /// The OpenID provider does not do its part.
    #[error("{0}")]
    Provider(String),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("there is no randomness: {0}")]
    Random(#[from] getrandom::Error),
}

impl From<PasswordError> for SignInError {
    fn from(error: PasswordError) -> Self {
        match error {
            PasswordError::Busy => Self::Busy,
            PasswordError::Unfit(why) | PasswordError::Hash(why) => Self::Refused(why),
        }
    }
}

impl From<UserError> for SignInError {
    fn from(error: UserError) -> Self {
        match error {
            UserError::Store(error) => Self::Store(error),
            UserError::Taken(name) => Self::Refused(format!(
                "Somebody else is known here by the name {name:?}; `dlo user remove` makes room."
            )),
            error => Self::Refused(error.to_string()),
        }
    }
}

/// Where somebody sits who signs in.
#[derive(Clone, Debug)]
pub struct Client {
    pub address: IpAddr,
    /// What the browser calls itself.
    pub agent: String,
    /// The cookie of the session that ends with this.
    pub before: Option<String>,
}

/// Cheap to clone.
#[derive(Clone)]
pub struct SignIn(Arc<Inner>);

struct Inner {
    config: Live<AuthConfig>,
    store: Arc<Store>,
    clock: Clock,
    feed: ChangeFeed,
    passwords: Passwords,
    throttle: Throttle,
    teams: Live<Teams>,
    oidc: Option<Oidc>,
}

impl SignIn {
    pub fn new(config: AuthConfig, store: Arc<Store>, clock: Clock, feed: ChangeFeed, oidc: Option<Oidc>) -> Self {
        let (passwords, throttle, teams) = (Passwords::default(), Throttle::default(), Live::new(Teams::new(&config)));
        let config = Live::new(config);
        Self(Arc::new(Inner { config, store, clock, feed, passwords, throttle, teams, oidc }))
    }

    /// Whether people sign in on a page of ours.
    pub fn has_page(&self) -> bool {
        matches!(self.mode(), AuthMode::Password | AuthMode::Oidc)
    }

    /// The provider, where there is one.
    pub fn oidc(&self) -> Option<&Oidc> {
        self.0.oidc.as_ref()
    }

    pub fn limits(&self) -> SessionLimits {
        let config = self.config();
        SessionLimits { idle: config.session_idle, length: config.session_length }
    }

    /// Signs in by password. The answer is what the cookie is to hold.
    pub async fn by_password(&self, name: &str, password: &str, client: &Client) -> Result<String, SignInError> {
        let attempt = async {
            let (user, hash) = self.with_password(name, password).await?.ok_or(SignInError::Wrong)?;
            self.begin(&user, client, &hash, "").await
        };
        self.counted(Some(name), client, attempt).await
    }

    /// A user who may come in, and the hash that the password fits.
    async fn with_password(&self, name: &str, password: &str) -> Result<Option<(User, String)>, SignInError> {
        let found = self.0.store.user_with_password(name).await?;
        let fits = self.0.passwords.fits(password, found.as_ref().map(|(_, hash)| hash.clone())).await?;
        Ok(found.filter(|(user, _)| fits && user.may_come_in() && self.may_use(user)))
    }

    /// Signs in whom the OpenID provider sends back. The answer is what the cookie is to hold.
    pub async fn by_oidc(&self, code: &str, begun: &Begun, client: &Client) -> Result<String, SignInError> {
        let attempt = async {
            let told = self.oidc().ok_or(SignInError::Wrong)?.finish(code, begun).await?;
            let groups = told.groups.as_deref().map_err(String::as_str);
            let user = self.vouched(Source::Oidc, &told.subject, &told.name, groups).await?;
            self.begin(&user, client, "", &told.id_token).await
        };
        // The provider looks after its accounts; here it is the address that counts.
        self.counted(None, client, attempt).await
    }

    /// An attempt that counts where it shows that a name or a password was wrong, or where nobody waits for its end.
    async fn counted<T>(
        &self,
        account: Option<&str>,
        client: &Client,
        attempt: impl Future<Output = Result<T, SignInError>>,
    ) -> Result<T, SignInError> {
        let Inner { throttle, clock, .. } = &*self.0;
        let done = match throttle.begin(account, client.address, clock.now()) {
            Err(wait) => Err(SignInError::Throttled(wait)),
            Ok(()) => {
                let done = attempt.await;
                match &done {
                    Ok(_) => throttle.succeeded(account, client.address, clock.now()),
                    Err(SignInError::Wrong) => {}
                    Err(_) => throttle.take_back(account, client.address),
                }
                done
            }
        };
        if let Err(error) = &done {
            // Whatever was sent in place of a name.
            let user: String = account.unwrap_or_default().chars().take(100).collect();
            tracing::warn!(user, address = %client.address, "a sign-in failed: {error}");
        }
        done
    }

    /// Begins a session, under a name that nobody had before.
    ///
    /// `password` is the hash that fitted: nobody comes in by a password that was replaced meanwhile.
    async fn begin(&self, user: &User, client: &Client, password: &str, id_token: &str) -> Result<String, SignInError> {
        let inner = &*self.0;
        let (secret, now) = (secrets::random()?, inner.clock.now());
        let end = client.agent.char_indices().nth(LONGEST_AGENT).map_or(client.agent.len(), |(end, _)| end);
        let session = Session {
            id: ids::uuid(now),
            user: user.id,
            created_at: now,
            seen_at: now,
            address: client.address.to_string(),
            agent: client.agent[..end].replace('\0', ""),
        };
        let instead_of = client.before.as_deref().map(secrets::hash);
        let hash = secrets::hash(&secret);
        let new = NewSession { hash, session: &session, password, id_token, instead_of };
        if !inner.store.begin_session(&new).await? {
            return Err(SignInError::Wrong);
        }
        tracing::info!(user = user.name, role = %user.role, address = %client.address, "somebody signed in");
        Ok(secret)
    }

    /// Whose session a cookie holds; none where it is over, or of somebody who may not come in any more. Used from an
    /// address, it goes on.
    pub async fn session(
        &self,
        cookie: &str,
        used_from: Option<IpAddr>,
    ) -> Result<Option<(Session, User)>, StoreError> {
        let (inner, hash) = (&*self.0, secrets::hash(cookie));
        let (now, limits) = (inner.clock.now(), self.limits());
        let found = inner.store.session(&hash).await?;
        let is_good = |(session, user): &(Session, User)| {
            !session.is_over(now, limits) && user.may_come_in() && self.may_use(user)
        };
        let Some((session, user)) = found.filter(is_good) else { return Ok(None) };
        if let Some(address) = used_from {
            inner.throttle.used_from(&user.name, address, now);
        }
        if let Some(address) = used_from.map(|address| address.to_string())
            && (now.since(session.seen_at) >= SEEN_EVERY.min(limits.idle / 10) || session.address != address)
        {
            seen(inner.store.see_session(&hash, now, &address)).await;
        }
        Ok(Some((session, user)))
    }

    /// The token that a program gives; none where there is no such token, or where it has ended.
    pub async fn token(&self, text: &str, address: IpAddr) -> Result<Option<Token>, StoreError> {
        let inner = &*self.0;
        let now = inner.clock.now();
        let is_good =
            |token: &Token| token.is_valid(now) && token.owner.as_ref().is_none_or(|owner| self.may_use(owner));
        let Some(token) = inner.store.token(&secrets::hash(text)).await?.filter(is_good) else { return Ok(None) };
        if token.used_at.is_none_or(|at| now.since(at) >= SEEN_EVERY) {
            seen(inner.store.see_token(token.id, now, &address.to_string())).await;
        }
        Ok(Some(token))
    }

    /// Whether whoever vouched for a user is still asked.
    fn may_use(&self, user: &User) -> bool {
        user.source.as_str() == self.mode().as_str()
    }

    /// The secret of a new link that makes the first admin; none where there is one already.
    pub async fn setup_link(&self) -> Result<Option<String>, SignInError> {
        let inner = &*self.0;
        if self.mode() != AuthMode::Password || inner.store.has_admin().await? {
            return Ok(None);
        }
        let secret = secrets::random()?;
        inner.store.add_setup_link(&secrets::hash(&secret), inner.clock.now().plus(LINK_LASTS)).await?;
        Ok(Some(secret))
    }

    /// Whether a link can be used.
    pub async fn is_setup_link(&self, secret: &str) -> Result<bool, StoreError> {
        let is_meant = self.mode() == AuthMode::Password && !self.0.store.has_admin().await?;
        Ok(is_meant && self.0.store.is_setup_link(&secrets::hash(secret), self.now()).await?)
    }

    fn now(&self) -> Timestamp {
        self.0.clock.now()
    }
}

/// Who reads goes on reading while nothing can be written.
async fn seen(writing: impl Future<Output = Result<(), StoreError>>) {
    match tokio::time::timeout(SEEN_WITHIN, writing).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => tracing::debug!("the time of use cannot be written down: {error}"),
        Err(_) => tracing::debug!("the time of use cannot be written down: the database is busy"),
    }
}
