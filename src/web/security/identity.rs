//! Who asks: by a cookie, by a token, or by what a proxy in front says.

use std::net::IpAddr;

use axum::http::{HeaderMap, StatusCode, header};

use super::{
    address::{client, is_within},
    cookies::PrivateCookie,
    user::{Visitor, Who},
};
use crate::{
    config::AuthMode,
    services::sign_in::{Client, SignInError},
    web::{AppState, codes::ProblemCode, error::WebError},
};

/// Who asks. A token that is none, and a proxy that is not trusted, are errors; without either it is nobody.
///
/// A request counts as a use of its session; a look whether that has ended does not.
pub async fn visitor_of(app: &AppState, headers: &HeaderMap, peer: IpAddr, is_use: bool) -> Result<Visitor, WebError> {
    let address = address(app, peer, headers);
    let who = match app.sign_in.mode() {
        AuthMode::None => Who::Local,
        _ if headers.contains_key(header::AUTHORIZATION) => by_token(app, headers, address).await?,
        AuthMode::Proxy => by_proxy(app, headers, peer).await?,
        AuthMode::Password | AuthMode::Oidc => by_cookie(app, headers, is_use.then_some(address)).await?,
    };
    Ok(Visitor { who, address })
}

/// Where somebody sits who signs in.
pub fn client_of(app: &AppState, peer: IpAddr, headers: &HeaderMap) -> Client {
    let cookie = PrivateCookie::session(&app.settings.public_url);
    let agent = headers.get(header::USER_AGENT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    Client {
        address: address(app, peer, headers),
        agent: agent.to_owned(),
        before: cookie.read(headers).map(str::to_owned),
    }
}

fn address(app: &AppState, peer: IpAddr, headers: &HeaderMap) -> IpAddr {
    client(peer, headers, &app.settings.trusted_proxies)
}

async fn by_token(app: &AppState, headers: &HeaderMap, address: IpAddr) -> Result<Who, WebError> {
    let value = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let refused = |detail| WebError::unauthorized_because(detail);
    let (scheme, token) = value.split_once(' ').unwrap_or_default();
    if !scheme.eq_ignore_ascii_case("bearer") {
        return Err(refused("dlo takes Authorization: Bearer with a token of its own."));
    }
    let token = app.sign_in.token(token.trim(), address).await?;
    token.map(Who::Program).ok_or_else(|| refused("There is no such token, or it has ended."))
}

async fn by_cookie(app: &AppState, headers: &HeaderMap, used_from: Option<IpAddr>) -> Result<Who, WebError> {
    let Some(cookie) = PrivateCookie::session(&app.settings.public_url).read(headers).map(str::to_owned) else {
        return Ok(Who::Nobody);
    };
    let found = app.sign_in.session(&cookie, used_from).await?;
    Ok(found.map_or(Who::Nobody, |(session, user)| Who::Person(user, Some(session))))
}

/// The header is worth something only where it comes from the proxy itself.
async fn by_proxy(app: &AppState, headers: &HeaderMap, peer: IpAddr) -> Result<Who, WebError> {
    let proxy = &app.sign_in.config().proxy;
    if !is_within(peer, &proxy.from) {
        let detail = format!("{peer} is none of the proxies in auth.proxy.from, through which people come in here.");
        return Err(WebError::new(StatusCode::FORBIDDEN, detail).with_code(ProblemCode::ForeignProxy));
    }
    let text = |name: &str| {
        let mut values = headers.get_all(name).iter();
        let value = values.next().and_then(|value| std::str::from_utf8(value.as_bytes()).ok());
        // Two of them are not from the proxy alone.
        value.filter(|_| values.next().is_none()).map(str::trim).filter(|text| !text.is_empty())
    };
    let name = text(&proxy.user_header).ok_or_else(|| {
        let header = &proxy.user_header;
        WebError::unauthorized_because(format!("The proxy does not say who you are: it has to send {header}, once."))
    })?;
    let groups = text(&proxy.groups_header).unwrap_or_default();
    let groups = groups.split([',', ';']).map(|group| group.trim().to_owned()).collect::<Vec<_>>();
    match app.sign_in.by_proxy(name, &groups).await {
        Ok(user) => Ok(Who::Person(user, None)),
        Err(SignInError::Store(error)) => Err(error.into()),
        Err(error) => Err(WebError::new(StatusCode::FORBIDDEN, error.to_string()).with_code(ProblemCode::NotAllowed)),
    }
}
