//! `[auth]`

use serde::Deserialize;

use super::values::word;
use crate::domain::words::words;

/// Who may do what.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct AuthConfig {
    #[serde(deserialize_with = "word")]
    pub mode: AuthMode,
}

words! {
    #[derive(Default)]
    AuthMode, "way to sign in" {
        /// Everybody may do everything; on loopback only.
        #[default]
        None = "none",
        Password = "password",
        Oidc = "oidc",
        Proxy = "proxy",
    }
}
