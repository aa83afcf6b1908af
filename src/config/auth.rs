//! `[auth]`: who may come in, and as what.

use std::{collections::BTreeMap, net::IpAddr, time::Duration};

use amqp_message::word_enum;
use ipnet::IpNet;
use serde::{
    Deserialize, Deserializer,
    de::{Error, IntoDeserializer},
};
use url::Url;

use super::{
    teams::{self, TeamConfig},
    values::{Secret, duration, http_url, is_loopback, list, word},
};
use crate::domain::access::Role;

/// `[auth]`
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct AuthConfig {
    #[serde(deserialize_with = "word")]
    pub mode: AuthMode,
    #[serde(deserialize_with = "word")]
    pub metrics: MetricsAccess,
    #[serde(deserialize_with = "duration")]
    pub session_idle: Duration,
    #[serde(deserialize_with = "duration")]
    pub session_length: Duration,
    pub viewers_see_payloads: bool,
    pub oidc: OidcConfig,
    pub proxy: ProxyConfig,
    pub roles: RolesConfig,
    pub teams: BTreeMap<String, TeamConfig>,
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

word_enum! {
    /// Who may read `/metrics`.
    MetricsAccess, "way to protect metrics" {
        Open = "open",
        Token = "token",
    }
}

impl Default for AuthConfig {
    fn default() -> Self {
        const HOUR: Duration = Duration::from_secs(60 * 60);
        Self {
            mode: AuthMode::None,
            metrics: MetricsAccess::Token,
            session_idle: 12 * HOUR,
            session_length: 7 * 24 * HOUR,
            viewers_see_payloads: true,
            oidc: OidcConfig::default(),
            proxy: ProxyConfig::default(),
            roles: RolesConfig::default(),
            teams: BTreeMap::new(),
        }
    }
}

/// `[auth.oidc]`: the OpenID provider.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct OidcConfig {
    /// As people call it.
    pub name: String,
    /// Letter by letter as the provider says it itself.
    #[serde(deserialize_with = "perhaps_address")]
    pub issuer: String,
    pub client_id: String,
    pub client_secret: Secret,
    #[serde(deserialize_with = "list")]
    pub scopes: Vec<String>,
    pub name_claim: String,
    pub groups_claim: String,
}

impl Default for OidcConfig {
    fn default() -> Self {
        Self {
            name: "single sign-on".to_owned(),
            issuer: String::new(),
            client_id: String::new(),
            client_secret: Secret::default(),
            scopes: ["profile", "email"].map(str::to_owned).into(),
            name_claim: "preferred_username".to_owned(),
            groups_claim: "groups".to_owned(),
        }
    }
}

/// `[auth.proxy]`: a proxy in front that knows who asks.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ProxyConfig {
    #[serde(deserialize_with = "networks")]
    pub from: Vec<IpNet>,
    pub user_header: String,
    pub groups_header: String,
}

impl Default for ProxyConfig {
    fn default() -> Self {
        Self { from: Vec::new(), user_header: "X-Forwarded-User".to_owned(), groups_header: String::new() }
    }
}

/// `[auth.roles]`: which groups have which role.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RolesConfig {
    #[serde(deserialize_with = "list")]
    pub admin: Vec<String>,
    #[serde(deserialize_with = "list")]
    pub operator: Vec<String>,
    #[serde(deserialize_with = "list")]
    pub viewer: Vec<String>,
    #[serde(deserialize_with = "perhaps_role")]
    pub others: Option<Role>,
}

impl RolesConfig {
    /// The highest role that somebody has by name or by one of the groups; none for who may not come in.
    pub fn role(&self, name: &str, groups: &[String]) -> Option<Role> {
        let is_named = |list: &[String]| teams::names(list, name, groups);
        if is_named(&self.admin) {
            Some(Role::Admin)
        } else if is_named(&self.operator) {
            Some(Role::Operator)
        } else if is_named(&self.viewer) {
            Some(Role::Viewer)
        } else {
            self.others
        }
    }

    fn is_empty(&self) -> bool {
        self.admin.is_empty() && self.operator.is_empty() && self.viewer.is_empty() && self.others.is_none()
    }
}

impl AuthConfig {
    /// Whether it may take the groups of somebody to say what they may do here.
    pub fn takes_groups(&self, name: &str) -> bool {
        let RolesConfig { admin, operator, viewer, .. } = &self.roles;
        let is_in_teams = || self.teams.values().any(|team| teams::take_groups([&team.operator, &team.viewer], name));
        // Teams do not confine an admin.
        teams::take_groups([admin, operator, viewer], name)
            || self.roles.role(name, &[]) != Some(Role::Admin) && is_in_teams()
    }

    /// What no single value shows.
    pub(crate) fn check(&self) -> Result<(), String> {
        self.check_mode()?;
        teams::check(&self.teams)
    }

    fn check_mode(&self) -> Result<(), &'static str> {
        match self.mode {
            AuthMode::Oidc if self.oidc.issuer.is_empty() => Err("auth.oidc.issuer: auth.mode = \"oidc\" needs it"),
            AuthMode::Oidc if !is_private(&self.oidc.issuer) => {
                Err("auth.oidc.issuer: it takes https://…: on the way from there anybody could say who somebody is")
            }
            AuthMode::Oidc if self.oidc.client_id.is_empty() => {
                Err("auth.oidc.client_id: auth.mode = \"oidc\" needs it")
            }
            AuthMode::Proxy if self.proxy.from.is_empty() => Err(
                "auth.proxy.from: auth.mode = \"proxy\" needs the addresses of the proxies, such as [\"10.0.0.5\"]: \
                 whoever else sent the header could be anybody",
            ),
            AuthMode::Proxy if self.proxy.user_header.parse::<axum::http::HeaderName>().is_err() => {
                Err("auth.proxy.user_header: it takes the name of a header, such as X-Forwarded-User")
            }
            AuthMode::Proxy
                if !self.proxy.groups_header.is_empty()
                    && self.proxy.groups_header.parse::<axum::http::HeaderName>().is_err() =>
            {
                Err("auth.proxy.groups_header: it takes the name of a header, such as X-Forwarded-Groups, or nothing")
            }
            AuthMode::Oidc | AuthMode::Proxy
                if self.roles.is_empty() && !self.teams.values().any(TeamConfig::has_members) =>
            {
                Err("auth.roles: nobody could come in; say which groups have which role, or auth.roles.others")
            }
            _ if self.session_idle.is_zero() || self.session_length.is_zero() => {
                Err("auth.session_idle and auth.session_length: they take more than 0s")
            }
            _ => Ok(()),
        }
    }
}

/// Whether nobody can change on its way what is said there: by TLS, or on this machine.
fn is_private(address: &str) -> bool {
    let Ok(url) = Url::parse(address) else { return false };
    url.scheme() == "https" || is_loopback(&url)
}

fn perhaps_address<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let text = String::deserialize(deserializer)?;
    if !text.is_empty() {
        http_url::<serde::de::value::StrDeserializer<D::Error>>(text.as_str().into_deserializer())?;
    }
    Ok(text)
}

fn perhaps_role<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Role>, D::Error> {
    let text = String::deserialize(deserializer)?;
    if text.is_empty() {
        return Ok(None);
    }
    text.parse().map(Some).map_err(D::Error::custom)
}

/// Addresses, and networks such as `10.0.0.0/8`.
pub(super) fn networks<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<IpNet>, D::Error> {
    let network = |text: &String| {
        let read = text.parse::<IpNet>().or_else(|_| text.parse::<IpAddr>().map(IpNet::from));
        read.map_err(|_| D::Error::custom(format!("{text:?} is no address; it takes 10.0.0.5 or 10.0.0.0/8")))
    };
    list(deserializer)?.iter().map(network).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_provider_says_comes_by_tls() {
        for (address, expected) in [
            ("https://id.example.com/realms/acme", true),
            ("http://127.0.0.1:8080", true),
            ("http://[::1]:8080", true),
            ("http://localhost:8080", true),
            ("http://id.example.com", false),
            ("http://127.0.0.1.example.com", false),
        ] {
            assert_eq!(is_private(address), expected, "{address}");
        }
    }

    #[test]
    fn the_highest_role_counts() {
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        let mut roles = RolesConfig {
            admin: words(&["dlo-admins", "user:ada"]),
            operator: words(&["on-call"]),
            viewer: words(&["staff"]),
            others: None,
        };
        assert_eq!(roles.role("ada", &[]), Some(Role::Admin));
        assert_eq!(roles.role("bob", &words(&["staff", "on-call"])), Some(Role::Operator));
        assert_eq!(roles.role("bob", &words(&["staff"])), Some(Role::Viewer));
        assert_eq!(roles.role("eve", &words(&["dlo", "user:ada"])), None, "a group is no name");
        roles.others = Some(Role::Viewer);
        assert_eq!(roles.role("eve", &[]), Some(Role::Viewer));
    }

    #[test]
    fn groups_are_asked_for_where_they_may_decide() {
        fn check(roles: &str, ada: bool, bob: bool) {
            let auth: AuthConfig = toml::from_str(roles).expect("a configuration");
            assert_eq!((auth.takes_groups("ada"), auth.takes_groups("bob")), (ada, bob), "{roles}");
        }
        check("roles.admin = ['user:ada']", false, false);
        check("roles.others = 'viewer'", false, false);
        check("roles = { admin = ['user:ada'], others = 'viewer' }", false, false);
        check("roles = { admin = ['user:ada'], operator = ['on-call'] }", false, true);
        check("roles = { admin = ['user:ada', 'admins'] }", false, true);
        check("roles = { admin = ['admins'], viewer = ['user:ada'] }", true, true);
        // A role by a group may also be less.
        check("roles = { viewer = ['staff'], others = 'admin' }", true, true);
        let with_team =
            |lists: &str| format!("roles.admin = ['user:ada']\nteams.pay = {{ queues = ['pay.*'], {lists} }}");
        check(&with_team("viewer = ['user:bob']"), false, false);
        check(&with_team("viewer = ['staff']"), false, true);
        check(&with_team("operator = ['user:bob'], viewer = ['staff']"), false, false);
        check(&with_team("operator = ['staff'], viewer = ['user:bob']"), false, true);
    }
}
