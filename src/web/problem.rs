//! How errors are reported: as a page, as problem+json (RFC 9457) or, to htmx, as a toast.
//!
//! Who asked, and so in which form the answer goes out, is known only out here. It is also the one place where an error
//! of ours is logged.

use std::sync::Arc;

use askama::Template;
use axum::{
    Json,
    extract::{Request, State},
    http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header},
    middleware::Next,
    response::{Html, IntoResponse, Redirect, Response},
};
use rule_language::Mistake;
use serde::Serialize;
use tower_http::request_id::RequestId;
use utoipa::ToSchema;

use crate::{
    config::AuthMode,
    web::{
        error::{
            WebError,
            codes::{FaultCode, ProblemCode},
            fault::{Fault, Place},
        },
        htmx::is_htmx,
        pages::{banner::Banner, shell::Shell, toast::Toast},
        security::PROBES,
        state::AppState,
        visitor::Visitor,
    },
};

/// Seconds after which it is worth another try: as often as the database is asked how it is.
const RETRY_AFTER: HeaderValue = HeaderValue::from_static("2");

/// What else the answer to an error says.
const KEPT: [HeaderName; 5] = [
    header::ALLOW,
    header::CONNECTION,
    header::SET_COOKIE,
    header::WWW_AUTHENTICATE,
    HeaderName::from_static("hx-redirect"),
];

/// Gives every error its body.
pub async fn present(State(app): State<Arc<AppState>>, request: Request, next: Next) -> Response {
    let (asker, page) = (Asker::of(&request), page_of_form(&request));
    let response = next.run(request).await;
    if let Some(page) = page.filter(|_| response.status() == StatusCode::METHOD_NOT_ALLOWED) {
        return Redirect::to(&page).into_response();
    }
    match failure_in(&response) {
        None => response,
        Some(error) => {
            let answer = || asker.answer(&app, &error, response.headers());
            match response.extensions().get::<Visitor>() {
                Some(visitor) => visitor.looks_at(answer),
                None => answer(),
            }
        }
    }
}

/// Where to go when this address turns out to be one to which forms are sent: the page above it. It stands in the address bar
/// after a mistake, and is opened again from there.
fn page_of_form(request: &Request) -> Option<String> {
    let is_read = matches!(*request.method(), Method::GET | Method::HEAD);
    let (page, _) = request.uri().path().rsplit_once('/').filter(|(page, _)| is_read && !page.is_empty())?;
    let query = request.uri().query().map(|query| format!("?{query}")).unwrap_or_default();
    (!page.starts_with("/api/")).then(|| format!("{page}{query}"))
}

/// An error of ours, or one that axum made by itself and left without a word.
fn failure_in(response: &Response) -> Option<WebError> {
    if let Some(error) = response.extensions().get::<WebError>() {
        return Some(error.clone());
    }
    let detail = match response.status() {
        StatusCode::NOT_FOUND if !response.headers().contains_key(header::CONTENT_TYPE) => {
            "There is nothing at this address."
        }
        StatusCode::METHOD_NOT_ALLOWED => "This address does not take that method.",
        StatusCode::PAYLOAD_TOO_LARGE => "The request is too large.",
        _ => return None,
    };
    Some(WebError::new(response.status(), detail))
}

/// An answer after RFC 9457.
#[derive(Serialize, ToSchema)]
pub struct Problem {
    /// Where its kind is described.
    #[schema(format = "uri", example = "http://127.0.0.1:8420/api/docs#invalid_content")]
    r#type: String,
    /// The name of the status.
    #[schema(example = "Unprocessable Entity")]
    title: String,
    /// That of the answer.
    #[schema(minimum = 400, maximum = 599, example = 422)]
    status: u16,
    /// Its kind, for programs: it stays the same when the words change.
    #[schema(example = "invalid_content")]
    code: ProblemCode,
    /// The problem, and what would be right instead.
    #[schema(example = "delay: \"soon\" is no delay; it takes 30s, 10m, 2h or 7d")]
    detail: String,
    /// Where it is a failure of the server: what to look for in its log.
    #[serde(skip_serializing_if = "Option::is_none")]
    request_id: Option<String>,
    /// Everything that is wrong with the request, and where.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    errors: Vec<ProblemError>,
}

/// One thing that is wrong with a request. Its place is in one of `pointer`, `parameter` and `header`.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub struct ProblemError {
    /// Where in the body, as a JSON pointer (RFC 6901); empty for the body as a whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "/delay")]
    pointer: Option<String>,
    /// Which parameter of the address.
    #[serde(skip_serializing_if = "Option::is_none")]
    parameter: Option<String>,
    /// Which header.
    #[serde(skip_serializing_if = "Option::is_none")]
    header: Option<&'static str>,
    /// Its kind.
    #[schema(example = "format")]
    code: FaultCode,
    /// What is wrong, and what it takes.
    detail: String,
    /// Where in an expression.
    #[serde(skip_serializing_if = "Option::is_none")]
    place: Option<MistakeItem>,
}

impl From<&Fault> for ProblemError {
    fn from(fault: &Fault) -> Self {
        let (parameter, header) = match &fault.place {
            Place::Body(_) => (None, None),
            Place::Parameter(name) => (Some(name.clone()), None),
            Place::Header(name) => (None, Some(*name)),
        };
        Self {
            pointer: fault.place.pointer(),
            parameter,
            header,
            code: fault.code,
            detail: fault.detail.clone(),
            place: fault.mistake.as_ref().map(MistakeItem::from),
        }
    }
}

/// What is wrong with an expression, and where. Lines and columns count from 1, columns in characters.
#[derive(Serialize, ToSchema)]
pub struct MistakeItem {
    line: usize,
    column: usize,
    end_line: usize,
    /// Just behind the last character that is wrong; where something is missing, where it begins.
    end_column: usize,
    message: String,
}

impl From<&Mistake> for MistakeItem {
    fn from(mistake: &Mistake) -> Self {
        Self {
            line: mistake.start.line,
            column: mistake.start.column,
            end_line: mistake.end.line,
            end_column: mistake.end.column,
            message: mistake.message.clone(),
        }
    }
}

/// An error page; it needs nothing of the database, which may be what is broken.
#[derive(Template)]
#[template(path = "error.html")]
struct ErrorPage<'a> {
    shell: Shell,
    /// Pages are shown only to who is signed in, and to all where nobody has to.
    is_known: bool,
    status: u16,
    title: String,
    detail: &'a str,
    request_id: Option<String>,
}

/// Who asked, as far as it matters for the form of an answer.
struct Asker {
    wants: Wants,
    request_id: String,
}

enum Wants {
    Problem,
    Toast,
    Page,
}

impl Asker {
    fn of(request: &Request) -> Self {
        let path = request.uri().path();
        let wants = if path.starts_with("/api/") && path != "/api/docs" || PROBES.contains(&path) {
            Wants::Problem
        } else if is_htmx(request.headers()) {
            Wants::Toast
        } else {
            Wants::Page
        };
        let id = request.extensions().get::<RequestId>().and_then(|id| id.header_value().to_str().ok());
        Self { wants, request_id: id.unwrap_or("none").to_owned() }
    }

    fn answer(&self, app: &AppState, error: &WebError, original: &HeaderMap) -> Response {
        let is_ours = error.status.is_server_error();
        if is_ours {
            let cause = error.for_the_log();
            tracing::error!(request.id = self.request_id, status = error.status.as_u16(), "a request failed: {cause}");
        }
        let request_id = is_ours.then(|| self.request_id.clone());
        let mut response = match self.wants {
            Wants::Problem => problem(app, error, request_id),
            // The address bar stays where the page does.
            Wants::Toast => {
                ([("hx-push-url", "false")], Html(Toast::failure(error, request_id).to_html())).into_response()
            }
            Wants::Page => page(app, error, request_id),
        };
        *response.status_mut() = error.status;
        if error.status == StatusCode::SERVICE_UNAVAILABLE {
            response.headers_mut().insert(header::RETRY_AFTER, RETRY_AFTER);
        }
        for kept in KEPT {
            for value in original.get_all(&kept) {
                response.headers_mut().append(&kept, value.clone());
            }
        }
        response
    }
}

fn problem(app: &AppState, error: &WebError, request_id: Option<String>) -> Response {
    let docs = app.settings.public_url.as_str().trim_end_matches('/');
    let problem = Problem {
        r#type: format!("{docs}/api/docs#{}", error.code),
        title: title(error.status),
        status: error.status.as_u16(),
        code: error.code,
        detail: error.detail.clone(),
        request_id,
        errors: error.faults.iter().map(ProblemError::from).collect(),
    };
    let mut response = Json(problem).into_response();
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
    response
}

fn page(app: &AppState, error: &WebError, request_id: Option<String>) -> Response {
    let is_known = app.sign_in.mode() == AuthMode::None || Visitor::current().is_some_and(|visitor| visitor.is_known());
    // What is wrong with the server is nothing for strangers.
    let banner = if is_known { Banner::of(app) } else { Banner::default() };
    let page = ErrorPage {
        shell: Shell { banner, ..Shell::bare() },
        is_known,
        status: error.status.as_u16(),
        title: title(error.status),
        detail: &error.detail,
        request_id,
    };
    // A template fails only if memory does; then the bare detail is better than nothing.
    page.render().map_or_else(|_| error.detail.clone().into_response(), |html| Html(html).into_response())
}

fn title(status: StatusCode) -> String {
    status.canonical_reason().unwrap_or("Error").to_owned()
}
