//! Who comes in, and who does not.

mod accounts;
mod browser;
mod command_line;
pub mod oidc;
mod passwords;
mod proxy;
mod rights;
pub mod tokens;

use axum::{
    body::Body,
    http::{Method, header},
};
use dead_letter_office::{
    config::{AuthConfig, AuthMode},
    domain::{access::Role, actor::Actor},
    web::Peer,
};
use tower::ServiceExt;

use super::{
    answer::Answer,
    desk::{Desk, HOST, builder},
};
use crate::support::databases::Lent;

pub const PASSWORD: &str = "correct horse";

pub fn by_password() -> AuthConfig {
    AuthConfig { mode: AuthMode::Password, ..AuthConfig::default() }
}

/// A server on each database, where Ada is an admin, Otto an operator and Vera a viewer.
pub async fn desks() -> Vec<(Desk, Option<Lent>)> {
    desks_with(&by_password()).await
}

pub async fn desks_with(auth: &AuthConfig) -> Vec<(Desk, Option<Lent>)> {
    let mut desks = Vec::new();
    for (desk, database) in Desk::where_people_sign_in_on_both(auth).await {
        for (name, role) in [("ada", Role::Admin), ("otto", Role::Operator), ("vera", Role::Viewer)] {
            desk.users.add(name, PASSWORD, (role, &[]), &Actor::command_line()).await.unwrap();
        }
        desks.push((desk, database));
    }
    desks
}

/// A browser: it has a cookie, and an address.
#[derive(Clone, Default)]
pub struct Visit {
    pub cookie: String,
    pub headers: Vec<(&'static str, String)>,
    pub address: Option<&'static str>,
}

impl Visit {
    pub fn from(address: &'static str) -> Self {
        Self { address: Some(address), ..Self::default() }
    }

    pub fn with(mut self, name: &'static str, value: &str) -> Self {
        self.headers.push((name, value.to_owned()));
        self
    }

    pub fn bearer(token: &str) -> Self {
        Self::default().with("authorization", &format!("Bearer {token}"))
    }

    pub async fn get(&self, desk: &Desk, path: &str) -> Answer {
        self.ask(desk, Method::GET, path, "", "").await
    }

    /// An answer without end.
    pub async fn stream(&self, desk: &Desk, path: &str) -> Body {
        let request = builder(Method::GET, path).header(header::COOKIE, &self.cookie).body(Body::empty()).unwrap();
        desk.router().oneshot(request).await.unwrap().into_body()
    }

    /// Posts a form.
    pub async fn post(&self, desk: &Desk, path: &str, pairs: &[(&str, &str)]) -> Answer {
        let body = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish();
        let ours = self.clone().with("sec-fetch-site", "same-origin").with("origin", &format!("http://{HOST}"));
        ours.ask(desk, Method::POST, path, "application/x-www-form-urlencoded", &body).await
    }

    pub async fn ask(&self, desk: &Desk, method: Method, path: &str, content_type: &str, body: &str) -> Answer {
        let mut request = builder(method, path);
        if !self.cookie.is_empty() {
            request = request.header(header::COOKIE, &self.cookie);
        }
        if !content_type.is_empty() {
            request = request.header(header::CONTENT_TYPE, content_type);
        }
        for (name, value) in &self.headers {
            request = request.header(*name, value);
        }
        if let Some(address) = self.address {
            request = request.extension(Peer(address.parse().unwrap()));
        }
        desk.send(request.body(Body::from(body.to_owned())).unwrap()).await
    }

    /// Tries to sign in.
    pub async fn try_to_sign_in(&self, desk: &Desk, name: &str, password: &str) -> Answer {
        self.post(desk, "/sign-in", &[("user", name), ("password", password)]).await
    }

    /// Signs in; the answer is the same browser with the cookie of the session.
    pub async fn sign_in(&self, desk: &Desk, name: &str) -> Self {
        let answer = self.try_to_sign_in(desk, name, PASSWORD).await.expect(303);
        Self { cookie: cookie(&answer, "dlo-session").unwrap(), ..self.clone() }
    }
}

/// A cookie that an answer sets, as it is sent back.
pub fn cookie(answer: &Answer, name: &str) -> Option<String> {
    let mut cookies = answer.headers.get_all(header::SET_COOKIE).iter().map(|value| value.to_str().unwrap());
    let set = cookies.rfind(|value| value.starts_with(&format!("{name}=")))?;
    Some(set.split(';').next().unwrap().to_owned())
}

pub async fn signed_in(desk: &Desk, name: &str) -> Visit {
    Visit::default().sign_in(desk, name).await
}
