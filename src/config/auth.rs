//! `[auth]`

use amqp_message::word_enum;
use serde::Deserialize;

use super::values::word;

/// Who may do what.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct AuthConfig {
    #[serde(deserialize_with = "word")]
    pub mode: AuthMode,
}

word_enum! {
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
