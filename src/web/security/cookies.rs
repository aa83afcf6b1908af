//! Cookies of sign-in.

use std::time::Duration;

use axum::http::{HeaderMap, HeaderValue, header};
use url::Url;

/// The value of a cookie.
pub fn cookie<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let cookies = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut pairs = cookies.flat_map(|cookies| cookies.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.find(|(its, _)| *its == name).map(|(_, value)| value)
}

/// A cookie that only this server is sent, and no script sees.
pub struct PrivateCookie {
    name: String,
    is_secure: bool,
}

impl PrivateCookie {
    /// The one that holds a session.
    pub fn session(public_url: &Url) -> Self {
        Self::new("dlo-session", public_url)
    }

    /// The one that holds what a sign-in at an OpenID provider has to bring back.
    pub fn sign_in(public_url: &Url) -> Self {
        Self::new("dlo-sign-in", public_url)
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// With the prefix, browsers take it only by TLS, for this very host (RFC 6265bis, 4.1.3.2).
    fn new(name: &str, public_url: &Url) -> Self {
        let is_secure = public_url.scheme() == "https";
        Self { name: if is_secure { format!("__Host-{name}") } else { name.to_owned() }, is_secure }
    }

    pub fn read<'a>(&self, headers: &'a HeaderMap) -> Option<&'a str> {
        cookie(headers, &self.name).filter(|value| !value.is_empty())
    }

    pub fn set(&self, value: &str, lasts: Duration) -> Option<HeaderValue> {
        let Self { name, is_secure } = self;
        let secure = if *is_secure { "; Secure" } else { "" };
        let seconds = lasts.as_secs();
        // Lax: a link from elsewhere leads to the page, and the OpenID provider back here.
        let cookie = format!("{name}={value}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Lax{secure}");
        HeaderValue::from_str(&cookie).ok()
    }

    pub fn clear(&self) -> Option<HeaderValue> {
        self.set("", Duration::ZERO)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_tls_they_are_bound_to_the_host() {
        let set = |url: &str| {
            let cookie = PrivateCookie::session(&url.parse().unwrap()).set("abc", Duration::from_secs(60)).unwrap();
            cookie.to_str().unwrap().to_owned()
        };
        let attributes = "Path=/; Max-Age=60; HttpOnly; SameSite=Lax";
        assert_eq!(set("https://dlo.example.com"), format!("__Host-dlo-session=abc; {attributes}; Secure"));
        assert_eq!(set("http://127.0.0.1:8420"), format!("dlo-session=abc; {attributes}"));
    }
}
