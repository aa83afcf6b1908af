//! People whom somebody else vouches for: an OpenID provider, or a proxy in front.

use std::time::Duration;

use super::{SignIn, SignInError};
use crate::{
    config,
    domain::access::{Role, Source, User, UserId, check_name},
    services::ids,
    store::{UserError, Vouched},
};

/// That somebody is named is written down at most this often.
const VOUCHED_EVERY: Duration = Duration::from_secs(60 * 60);

impl SignIn {
    /// Whom a proxy names. Looking whether they may still come in changes nothing.
    pub async fn by_proxy(&self, name: &str, groups: &[String], is_use: bool) -> Result<User, SignInError> {
        if is_use {
            return self.vouched(Source::Proxy, name, name, Ok(groups)).await;
        }
        let known = self.0.store.vouched(Source::Proxy, name).await?;
        known.filter(User::may_come_in).ok_or(SignInError::Wrong)
    }

    /// A user whom somebody else vouches for, written down where they are new or something is new about them.
    ///
    /// `groups` may be why they are not known: where groups may decide what somebody may do, that keeps them out.
    pub(super) async fn vouched(
        &self,
        source: Source,
        subject: &str,
        name: &str,
        groups: Result<&[String], &str>,
    ) -> Result<User, SignInError> {
        let inner = &*self.0;
        check_name(name).map_err(|why| SignInError::Refused(format!("{name:?} cannot come in: {why}.")))?;
        let now = inner.clock.now();
        let auth = self.config();
        let groups = match groups {
            Ok(groups) => groups,
            Err(why) if auth.takes_groups(name) => return Err(SignInError::Refused(why.to_owned())),
            Err(_) => &[],
        };
        let teams = config::memberships(&auth.teams, name, groups);
        let role = auth.roles.role(name, groups).or_else(|| teams.first().map(|_| Role::Viewer));
        let Some(role) = role else {
            if inner.store.withdraw(source, subject, now).await? {
                inner.feed.settings_changed();
            }
            let why = format!("{name} has no role here. The groups in [auth.roles] say who has one.");
            return Err(SignInError::Refused(why));
        };
        let known = inner.store.vouched(source, subject).await?;
        if known.as_ref().is_some_and(|user| user.is_disabled) {
            return Err(SignInError::Refused(format!("{name} may not come in any more.")));
        }
        let is_as_known =
            |user: &User| user.role == role && user.teams == teams && user.name == name && !user.is_withdrawn;
        let is_seen = |user: &User| user.signed_in_at.is_some_and(|at| now.since(at) < VOUCHED_EVERY);
        let known = known.filter(is_as_known);
        if let Some(user) = known.as_ref().filter(|user| is_seen(user)) {
            return Ok(user.clone());
        }
        let id = UserId::from_uuid(ids::uuid(now));
        match inner.store.vouch(&Vouched { id, source, subject, name, role, teams: &teams }, now).await {
            // When they came is worth less than that they come in.
            Err(UserError::Store(error)) if known.is_some() => {
                tracing::debug!("that {name} was seen cannot be written down: {error}");
                known.ok_or_else(|| error.into())
            }
            // Two requests of somebody new may come at once.
            Err(UserError::Taken(taken)) => {
                let known = inner.store.vouched(source, subject).await?.filter(|user| user.name == name);
                known.ok_or_else(|| UserError::Taken(taken).into())
            }
            vouched => Ok(vouched?),
        }
    }
}
