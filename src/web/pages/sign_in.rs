//! Where people sign in and out.

use std::sync::Arc;

use askama::Template;
use axum::{
    extract::State,
    http::{Extensions, HeaderMap, HeaderValue, StatusCode, header},
    response::{Html, IntoResponse, Redirect, Response},
};

use super::shell::Shell;
use crate::{
    config::AuthMode,
    services::sign_in::{Begun, SignInError},
    web::{
        error::WebError,
        input::{FormPairs, QueryPairs},
        query::Pairs,
        security::{Peer, PrivateCookie, client_of, own_path, sign_in_page},
        state::AppState,
    },
};

/// Bytes of a cookie: browsers drop one of more than 4,096.
const LONGEST_COOKIE: usize = 4_000;
/// How long one may take at the OpenID provider.
const AT_PROVIDER: std::time::Duration = std::time::Duration::from_secs(15 * 60);

#[derive(Template)]
#[template(path = "sign_in.html")]
struct SignInPage {
    shell: Shell,
    /// What the OpenID provider is called.
    provider: Option<String>,
    has_password: bool,
    next: String,
    name: String,
    /// Why it did not work.
    problem: String,
    /// Where one signs out at the provider, too.
    sign_out_at: Option<String>,
    is_out: bool,
}

impl SignInPage {
    fn new(app: &AppState, next: &str) -> Self {
        Self {
            shell: Shell::bare(),
            provider: app.sign_in.oidc().map(|oidc| oidc.name().to_owned()),
            has_password: app.sign_in.mode() == AuthMode::Password,
            next: own_path(next).unwrap_or_else(|| "/".to_owned()),
            name: String::new(),
            problem: String::new(),
            sign_out_at: None,
            is_out: false,
        }
    }

    fn answer(&self, status: StatusCode) -> Result<Response, WebError> {
        Ok((status, Html(self.render()?)).into_response())
    }

    /// The page again, with why it did not work.
    fn refused(app: &AppState, next: &str, name: &str, error: SignInError) -> Result<Response, WebError> {
        let wait = if let SignInError::Throttled(wait) = &error { Some(wait.as_secs().max(1)) } else { None };
        let (status, problem) = told(error)?;
        let page = Self { name: name.to_owned(), problem, ..Self::new(app, next) };
        let mut response = page.answer(status)?;
        if let Some(seconds) = wait {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        Ok(response)
    }
}

/// How a page says why somebody does not come in.
pub(super) fn told(error: SignInError) -> Result<(StatusCode, String), WebError> {
    let status = match error {
        SignInError::Store(error) => return Err(error.into()),
        SignInError::Random(_) => return Err(WebError::new(StatusCode::SERVICE_UNAVAILABLE, error.to_string())),
        SignInError::Wrong => StatusCode::UNAUTHORIZED,
        SignInError::Throttled(_) => StatusCode::TOO_MANY_REQUESTS,
        SignInError::Busy => StatusCode::SERVICE_UNAVAILABLE,
        SignInError::Refused(_) => StatusCode::FORBIDDEN,
        SignInError::Provider(_) => StatusCode::BAD_GATEWAY,
    };
    Ok((status, error.to_string()))
}

/// Where people look for it.
pub async fn login() -> Redirect {
    Redirect::to("/sign-in")
}

pub async fn show(State(app): State<Arc<AppState>>, QueryPairs(mut pairs): QueryPairs) -> Result<Response, WebError> {
    if !app.sign_in.has_page() {
        return Ok(Redirect::to("/").into_response());
    }
    let next = pairs.take("next")?.unwrap_or_default();
    SignInPage::new(&app, &next).answer(StatusCode::OK)
}

pub async fn by_password(
    State(app): State<Arc<AppState>>,
    headers: HeaderMap,
    extensions: Extensions,
    FormPairs(mut pairs): FormPairs,
) -> Result<Response, WebError> {
    if app.sign_in.mode() != AuthMode::Password {
        return Err(WebError::not_found("Nobody signs in here by password."));
    }
    let next = pairs.take("next")?.unwrap_or_default();
    let (name, password) = (pairs.take("user")?.unwrap_or_default(), pairs.take("password")?.unwrap_or_default());
    let client = client_of(&app, Peer::of(&extensions), &headers);
    match app.sign_in.by_password(&name, &password, &client).await {
        Ok(secret) => Ok(welcome(&app, &secret, &next)),
        Err(error) => SignInPage::refused(&app, &next, &name, error),
    }
}

/// On to the page that was asked for, with the cookie of a session that begins.
pub(super) fn welcome(app: &AppState, secret: &str, next: &str) -> Response {
    let next = own_path(next).unwrap_or_else(|| "/".to_owned());
    let mut response = Redirect::to(&next).into_response();
    set(&mut response, PrivateCookie::session(&app.settings.public_url).set(secret, app.sign_in.limits().length));
    response
}

fn set(response: &mut Response, cookie: Option<HeaderValue>) {
    if let Some(cookie) = cookie {
        response.headers_mut().append(header::SET_COOKIE, cookie);
    }
}

/// To the OpenID provider.
pub async fn start(State(app): State<Arc<AppState>>, QueryPairs(mut pairs): QueryPairs) -> Result<Response, WebError> {
    let next = pairs.take("next")?.unwrap_or_default();
    let oidc = app.sign_in.oidc().ok_or_else(|| WebError::not_found("There is no OpenID provider."))?;
    let (url, begun) = match oidc.begin().await {
        Ok(begun) => begun,
        Err(error) => return SignInPage::refused(&app, &next, "", error),
    };
    let mut response = Redirect::to(url.as_str()).into_response();
    set(&mut response, keep(&app, &begun, &own_path(&next).unwrap_or_default()));
    Ok(response)
}

/// The cookie of what is to be brought back. Where it would be too long one comes back to the first page.
fn keep(app: &AppState, begun: &Begun, next: &str) -> Option<HeaderValue> {
    let with = |next: &str| {
        let kept = url::form_urlencoded::Serializer::new(String::new())
            .append_pair("state", &begun.state)
            .append_pair("nonce", &begun.nonce)
            .append_pair("verifier", &begun.verifier)
            .append_pair("next", next)
            .finish();
        PrivateCookie::sign_in(&app.settings.public_url).set(&kept, AT_PROVIDER)
    };
    with(next).filter(|cookie| cookie.len() <= LONGEST_COOKIE).or_else(|| with(""))
}

/// Back from the OpenID provider.
pub async fn callback(
    State(app): State<Arc<AppState>>,
    headers: HeaderMap,
    extensions: Extensions,
    QueryPairs(mut pairs): QueryPairs,
) -> Result<Response, WebError> {
    let cookie = PrivateCookie::sign_in(&app.settings.public_url);
    let (next, finished) = finish(&app, &cookie, &headers, &extensions, &mut pairs).await?;
    let mut response = match finished {
        Ok(secret) => welcome(&app, &secret, &next),
        Err(error) => SignInPage::refused(&app, &next, "", error)?,
    };
    // What it holds is good for one sign-in.
    set(&mut response, cookie.clear());
    Ok(response)
}

async fn finish(
    app: &AppState,
    cookie: &PrivateCookie,
    headers: &HeaderMap,
    extensions: &Extensions,
    pairs: &mut Pairs,
) -> Result<(String, Result<String, SignInError>), WebError> {
    let refused = |why: &str| SignInError::Refused(why.to_owned());
    let mut kept = Pairs::parse(cookie.read(headers).unwrap_or_default().as_bytes());
    let mut keep = |name| Ok::<_, WebError>(kept.take(name)?.unwrap_or_default());
    let begun = Begun { state: keep("state")?, nonce: keep("nonce")?, verifier: keep("verifier")? };
    let next = keep("next")?;
    let state = pairs.take("state")?.unwrap_or_default();
    if begun.state.is_empty() || !begun.is(&state) {
        let why = "This sign-in was not begun in this browser, or took too long. Begin again.";
        return Ok((next, Err(refused(why))));
    }
    if let Some(error) = pairs.take("error")? {
        let why = pairs.take("error_description")?.unwrap_or(error);
        return Ok((next, Err(SignInError::Refused(format!("The provider did not sign you in: {why}")))));
    }
    let Some(code) = pairs.take("code")? else { return Ok((next, Err(refused("The provider has sent no code.")))) };
    let client = client_of(app, Peer::of(extensions), headers);
    Ok((next, app.sign_in.by_oidc(&code, &begun, &client).await))
}

/// Ends the session. A form cannot lead to another site, so that a page leads on to the provider, where there is one.
pub async fn sign_out(State(app): State<Arc<AppState>>, headers: HeaderMap) -> Result<Response, WebError> {
    let cookie = PrivateCookie::session(&app.settings.public_url);
    let ended = match cookie.read(&headers) {
        Some(secret) => app.sign_in.sign_out(secret).await?,
        None => None,
    };
    let mut page = SignInPage { is_out: true, ..SignInPage::new(&app, "/") };
    if let (Some(oidc), Some(id_token)) = (app.sign_in.oidc(), ended) {
        page.sign_out_at = oidc.sign_out(&id_token).await.map(String::from);
    }
    let mut response = if app.sign_in.has_page() {
        page.answer(StatusCode::OK)?
    } else {
        Redirect::to(&sign_in_page(None)).into_response()
    };
    set(&mut response, cookie.clear());
    Ok(response)
}
