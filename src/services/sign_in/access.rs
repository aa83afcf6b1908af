//! What the configuration gives to people and programs.

use std::sync::Arc;

use super::{SignIn, grants::Teams};
use crate::{
    config::{AuthConfig, AuthMode},
    domain::access::{Grants, Token, User},
};

impl SignIn {
    pub fn config(&self) -> Arc<AuthConfig> {
        self.0.config.now()
    }

    /// The configuration with others of `new`: roles, teams, and what may be seen. How people sign in stays.
    ///
    /// # Errors
    /// Where it does not fit how people sign in, such as roles that nobody has.
    pub fn merged(&self, new: &AuthConfig) -> Result<AuthConfig, String> {
        let config = AuthConfig {
            roles: new.roles.clone(),
            teams: new.teams.clone(),
            viewers_see_payloads: new.viewers_see_payloads,
            metrics: new.metrics,
            ..(*self.config()).clone()
        };
        config.check().map_err(|why| format!("auth.mode is \"{}\" until a restart: {why}", config.mode))?;
        Ok(config)
    }

    /// Puts into effect what was [`merged`](Self::merged).
    pub fn configure(&self, config: AuthConfig) {
        self.0.teams.replace(Teams::new(&config));
        self.0.config.replace(config);
        self.0.feed.settings_changed();
    }

    /// The teams that have all of these queues, by broker and name.
    pub fn teams_that_see(&self, queues: impl Iterator<Item = (String, String)>) -> Vec<String> {
        self.0.teams.now().that_see(&queues.collect::<Vec<_>>())
    }

    /// What somebody may, and with which queues.
    pub fn grants(&self, user: &User) -> Grants {
        self.0.teams.now().of_user(user)
    }

    /// The same for a program.
    pub fn token_grants(&self, token: &Token) -> Grants {
        self.0.teams.now().of_token(token)
    }

    pub fn mode(&self) -> AuthMode {
        self.config().mode
    }
}
