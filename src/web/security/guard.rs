//! Nobody passes without the rights that the table of routes asks for.

use std::sync::Arc;

use axum::{
    body::{Body, to_bytes},
    extract::{MatchedPath, Request, State},
    http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header},
    middleware::Next,
    response::{IntoResponse, Redirect, Response},
};

use super::{
    access::{Need, need_of},
    address::Peer,
    cookies::PrivateCookie,
    gate::disable_the_rest,
    identity::{has_token, visitor_of},
    own_path::own_path,
};
use crate::{
    config::MetricsAccess,
    domain::access::Right,
    web::{
        error::{WebError, codes::ProblemCode},
        htmx::is_htmx,
        state::AppState,
        visitor::{Visitor, Who},
    },
};

/// Finds out who asks, and answers what they may ask.
pub async fn guard(State(app): State<Arc<AppState>>, mut request: Request, next: Next) -> Response {
    let Some(path) = request.extensions().get::<MatchedPath>().cloned() else {
        return nowhere(&app, request, next).await;
    };
    let need = match need_of(request.method(), path.as_str()) {
        Ok(need) => need,
        Err(methods) => return no_such_route(&methods),
    };
    if is_open(need, &app) {
        return next.run(request).await;
    }
    let (headers, peer) = (request.headers().clone(), Peer::of(request.extensions()));
    let visitor = match visitor_of(&app, &headers, peer, true).await {
        Ok(visitor) => visitor,
        Err(error) => return ask_to_sign_in(&app, &request, error),
    };
    if !visitor.is_known() {
        return ask_to_sign_in(&app, &request, WebError::unauthorized());
    }
    if let Some(why) = refusal(need, &visitor) {
        tracing::warn!(path = path.as_str(), who = visitor.name(), address = %visitor.address, "refused: {why}");
        let mut response = WebError::new(StatusCode::FORBIDDEN, why).with_code(ProblemCode::NotAllowed).into_response();
        response.extensions_mut().insert(visitor);
        return response;
    }
    request.extensions_mut().insert(visitor.clone());
    let mut response = visitor.clone().during(next.run(request)).await;
    if !Right::ALL.iter().all(|right| visitor.may(*right)) {
        response = without_the_rest(response, &visitor).await;
    }
    // For the page that an error is shown on.
    response.extensions_mut().insert(visitor);
    response
}

/// There is nothing for anybody; who has signed in is told so within the frame of the pages.
async fn nowhere(app: &AppState, request: Request, next: Next) -> Response {
    let (headers, peer) = (request.headers().clone(), Peer::of(request.extensions()));
    let mut response = next.run(request).await;
    if let Ok(visitor) = visitor_of(app, &headers, peer, false).await {
        response.extensions_mut().insert(visitor);
    }
    response
}

fn is_open(need: Need, app: &AppState) -> bool {
    let are_metrics_open = app.sign_in.config().metrics == MetricsAccess::Open;
    need == Need::Nothing || need == Need::Metrics && are_metrics_open
}

/// Why it may not have what it asks for.
fn refusal(need: Need, visitor: &Visitor) -> Option<String> {
    let (rights, is_for_people): (&[Right], _) = match need {
        Need::Nothing => return None,
        Need::Person => (&[], true),
        Need::Page(rights) => (rights, true),
        Need::Rights(rights) => (rights, false),
        Need::Metrics => (&[Right::Read], false),
    };
    if is_for_people && matches!(visitor.who, Who::Program(_)) {
        return Some("Pages are for people who have signed in. A token is for /api/v1 and /metrics.".to_owned());
    }
    if need == Need::Person && visitor.user().is_none() {
        return Some("There are no accounts here: auth.mode is \"none\".".to_owned());
    }
    if let Some(missing) = rights.iter().find(|right| !visitor.may(**right)) {
        return Some(visitor.refusal(*missing));
    }
    (need == Need::Metrics && visitor.is_confined())
        .then(|| "The metrics are of all queues, and you see those of your teams only.".to_owned())
}

/// A route that does not stand in the table is not there, whatever else is said of it.
fn no_such_route(methods: &[&str]) -> Response {
    if methods.is_empty() {
        return WebError::not_found("There is nothing at this address.").into_response();
    }
    let detail = "This address does not take that method.";
    let mut response = WebError::new(StatusCode::METHOD_NOT_ALLOWED, detail).into_response();
    if let Ok(allow) = HeaderValue::from_str(&methods.join(",")) {
        response.headers_mut().insert(header::ALLOW, allow);
    }
    response
}

/// Programs are told so, people are led to where they sign in.
fn ask_to_sign_in(app: &AppState, request: &Request, error: WebError) -> Response {
    if error.status != StatusCode::UNAUTHORIZED {
        return error.into_response();
    }
    let (path, headers) = (request.uri().path(), request.headers());
    let is_program = path.starts_with("/api/v1/") || path == "/metrics" || path == "/events";
    let has_sign_in = app.sign_in.has_page();
    let mut response = if is_program || !has_sign_in || has_token(headers) {
        with(error.into_response(), header::WWW_AUTHENTICATE, "Bearer realm=\"dlo\"")
    } else if is_htmx(headers) {
        let here = header_path(headers, "hx-current-url");
        with(error.into_response(), HeaderName::from_static("hx-redirect"), &sign_in_page(here.as_deref()))
    } else {
        let here = if *request.method() == Method::GET {
            request.uri().path_and_query().and_then(|here| own_path(here.as_str()))
        } else {
            None
        };
        Redirect::to(&sign_in_page(here.as_deref())).into_response()
    };
    // What it holds is of no use any more.
    let cookie = PrivateCookie::session(&app.settings.public_url);
    if cookie.read(headers).is_some()
        && let Some(clear) = cookie.clear()
    {
        response.headers_mut().append(header::SET_COOKIE, clear);
    }
    response
}

/// The path of an address of ours in a header.
fn header_path(headers: &HeaderMap, name: &str) -> Option<String> {
    let url = url::Url::parse(headers.get(name)?.to_str().ok()?).ok()?;
    let query = url.query().map(|query| format!("?{query}")).unwrap_or_default();
    own_path(&format!("{}{query}", url.path()))
}

/// Where one signs in and goes on from there.
pub fn sign_in_page(next: Option<&str>) -> String {
    match next.filter(|next| *next != "/") {
        Some(next) => {
            let query = url::form_urlencoded::Serializer::new(String::new()).append_pair("next", next).finish();
            format!("/sign-in?{query}")
        }
        None => "/sign-in".to_owned(),
    }
}

fn with(mut response: Response, name: HeaderName, value: &str) -> Response {
    if let Ok(value) = HeaderValue::from_str(value) {
        response.headers_mut().insert(name, value);
    }
    response
}

/// The page with what is not for this visitor disabled; anything else as it is.
async fn without_the_rest(response: Response, visitor: &Visitor) -> Response {
    let content_type = response.headers().get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    if !content_type.is_some_and(|text| text.starts_with("text/html")) {
        return response;
    }
    let (parts, body) = response.into_parts();
    // Pages are made whole before they are sent.
    let html = to_bytes(body, usize::MAX).await.unwrap_or_default();
    let html = disable_the_rest(&String::from_utf8_lossy(&html), visitor);
    Response::from_parts(parts, Body::from(html))
}
