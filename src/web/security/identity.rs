//! Who asks: by a cookie, by a token, or by what a proxy in front says.

use std::net::IpAddr;

use axum::http::{HeaderMap, StatusCode, header};

use super::{
    address::{client, is_within},
    cookies::PrivateCookie,
};
use crate::{
    config::AuthMode,
    domain::access::Grants,
    services::sign_in::{Client, SignInError},
    web::{
        error::{WebError, codes::ProblemCode},
        state::AppState,
        visitor::{Visitor, Who},
    },
};

/// Who asks. A token that is none, and a proxy that is not trusted, are errors; without either it is nobody.
///
/// A request counts as a use of its session; a look whether that has ended does not.
pub async fn visitor_of(app: &AppState, headers: &HeaderMap, peer: IpAddr, is_use: bool) -> Result<Visitor, WebError> {
    let address = address(app, peer, headers);
    let who = match app.sign_in.mode() {
        AuthMode::None => Who::Local,
        _ if has_token(headers) => by_token(app, headers, address).await?,
        AuthMode::Proxy => by_proxy(app, headers, peer, is_use).await?,
        AuthMode::Password | AuthMode::Oidc => by_cookie(app, headers, is_use.then_some(address)).await?,
    };
    let grants = match &who {
        Who::Local => Grants::everything(),
        Who::Nobody => Grants::nothing(),
        Who::Person(user, _) => app.sign_in.grants(user),
        Who::Program(token) => app.sign_in.token_grants(token),
    };
    Ok(Visitor::new(who, address, grants))
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

/// Whether it means to come in by a token. What else stands in that header, such as the name and password that a proxy in
/// front has asked for, is not for us.
pub fn has_token(headers: &HeaderMap) -> bool {
    bearer(headers).is_some()
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = headers.get(header::AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

async fn by_token(app: &AppState, headers: &HeaderMap, address: IpAddr) -> Result<Who, WebError> {
    let token = app.sign_in.token(bearer(headers).unwrap_or_default(), address).await?;
    token.map(Who::Program).ok_or_else(|| {
        tracing::warn!(%address, "a program has sent a token that does not exist or has ended");
        WebError::unauthorized_because("There is no such token, or it has ended.")
    })
}

async fn by_cookie(app: &AppState, headers: &HeaderMap, used_from: Option<IpAddr>) -> Result<Who, WebError> {
    let Some(cookie) = PrivateCookie::session(&app.settings.public_url).read(headers).map(str::to_owned) else {
        return Ok(Who::Nobody);
    };
    let found = app.sign_in.session(&cookie, used_from).await?;
    Ok(found.map_or(Who::Nobody, |(session, user)| Who::Person(user, Some(session))))
}

/// What a header of the proxy says. Two of them are not from the proxy alone, and what is no text cannot be read: neither is
/// taken for nothing, which may mean more rights than something.
fn once<'h>(headers: &'h HeaderMap, name: &str) -> Result<Option<&'h str>, WebError> {
    let mut values = headers.get_all(name).iter();
    let Some(value) = values.next() else { return Ok(None) };
    let text = std::str::from_utf8(value.as_bytes()).ok().filter(|_| values.next().is_none());
    let text = text.ok_or_else(|| {
        WebError::unauthorized_because(format!(
            "The header {name} came twice, or is no text; the proxy has to send it once."
        ))
    })?;
    Ok(Some(text.trim()).filter(|text| !text.is_empty()))
}

/// The header is worth something only where it comes from the proxy itself.
async fn by_proxy(app: &AppState, headers: &HeaderMap, peer: IpAddr, is_use: bool) -> Result<Who, WebError> {
    let config = app.sign_in.config();
    let proxy = &config.proxy;
    if !is_within(peer, &proxy.from) {
        let detail = format!("{peer} is none of the proxies in auth.proxy.from, through which people come in here.");
        return Err(WebError::new(StatusCode::FORBIDDEN, detail).with_code(ProblemCode::ForeignProxy));
    }
    let name = once(headers, &proxy.user_header)?.ok_or_else(|| {
        let header = &proxy.user_header;
        WebError::unauthorized_because(format!("The proxy does not say who you are: it has to send {header}, once."))
    })?;
    let groups = once(headers, &proxy.groups_header)?.unwrap_or_default();
    let groups = groups.split([',', ';']).map(|group| group.trim().to_owned()).collect::<Vec<_>>();
    match app.sign_in.by_proxy(name, &groups, is_use).await {
        Ok(user) => Ok(Who::Person(user, None)),
        Err(SignInError::Store(error)) => Err(error.into()),
        Err(error) => Err(WebError::new(StatusCode::FORBIDDEN, error.to_string()).with_code(ProblemCode::NotAllowed)),
    }
}
