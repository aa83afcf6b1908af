//! What goes wrong. A handler only says what; [`problem`](super::problem) gives it its form.

use std::{any::Any, error::Error, sync::Arc};

use axum::{
    http::{Response as HttpResponse, StatusCode},
    response::{IntoResponse, Response},
};
use rule_language::Mistake;

use super::view::conflict::{ConflictView, Shared};
use crate::{
    domain::version::Changed,
    services::{digests::DigestError, rules::RuleError},
    store::StoreError,
};

/// Why a request is not answered as it wished.
#[derive(Clone, Debug)]
pub struct WebError {
    pub status: StatusCode,
    /// For users, and never anything internal.
    pub detail: String,
    /// What is wrong with the expression that was sent, and where.
    pub mistakes: Vec<Mistake>,
    /// For the log.
    cause: Option<Arc<dyn Error + Send + Sync>>,
}

impl WebError {
    pub fn new(status: StatusCode, detail: impl Into<String>) -> Self {
        Self { status, detail: detail.into(), mistakes: Vec::new(), cause: None }
    }

    pub fn bad_request(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, detail)
    }

    pub fn not_found(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, detail)
    }

    pub fn conflict(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, detail)
    }

    /// The request is well formed and asks for what cannot be.
    pub fn unprocessable(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, detail)
    }

    /// It is not as the call expected, see [`Precondition`](super::precondition::Precondition).
    pub fn changed<T: Shared>(changed: &Changed<T>) -> Self {
        Self::not_as_expected(&ConflictView::sentence(changed))
    }

    fn not_as_expected(there: &str) -> Self {
        let detail = format!("{there} Get it again, and repeat the change if it is still meant.");
        Self::new(StatusCode::PRECONDITION_FAILED, detail)
    }

    /// For the log: the detail, or its cause with all that lies behind it, in one line.
    pub fn for_the_log(&self) -> String {
        self.cause.as_deref().map_or_else(|| self.detail.clone(), chain)
    }

    fn internal(cause: impl Error + Send + Sync + 'static) -> Self {
        let error = Self::new(StatusCode::INTERNAL_SERVER_ERROR, "Internal error. See the log for details.");
        Self { cause: Some(Arc::new(cause)), ..error }
    }
}

impl From<StoreError> for WebError {
    fn from(error: StoreError) -> Self {
        if !error.is_outage() {
            return Self::internal(error);
        }
        let detail = "The database cannot be used at the moment. Nothing is lost; dlo keeps trying.";
        Self { cause: Some(Arc::new(error)), ..Self::new(StatusCode::SERVICE_UNAVAILABLE, detail) }
    }
}

impl From<RuleError> for WebError {
    fn from(error: RuleError) -> Self {
        let detail = error.to_string();
        match error {
            RuleError::Name(why) => Self::unprocessable(format!("name: {why}")),
            RuleError::Expression(mistakes) => {
                Self { mistakes, ..Self::unprocessable(format!("expression: {detail}")) }
            }
            RuleError::TooMany => Self::unprocessable(detail),
            RuleError::InFile(_) => Self::conflict(detail),
            RuleError::Changed(changed) => Self::changed(&changed),
            RuleError::Reordered => Self::not_as_expected(&detail),
            RuleError::Gone => Self::not_found("There is no such rule; an id is a UUID."),
            RuleError::Store(error) => error.into(),
        }
    }
}

impl From<DigestError> for WebError {
    fn from(error: DigestError) -> Self {
        match error {
            DigestError::Store(error) => error.into(),
            DigestError::NoSlack => Self::conflict(format!("Nothing was sent: {error}.")),
        }
    }
}

impl From<askama::Error> for WebError {
    fn from(error: askama::Error) -> Self {
        Self::internal(error)
    }
}

impl IntoResponse for WebError {
    fn into_response(self) -> Response {
        let mut response = self.status.into_response();
        response.extensions_mut().insert(self);
        response
    }
}

/// Answers a panic like any other failure of ours.
pub fn on_panic(_: Box<dyn Any + Send + 'static>) -> HttpResponse<axum::body::Body> {
    #[derive(Debug, thiserror::Error)]
    #[error("a handler panicked; the message stands above")]
    struct Panicked;
    WebError::internal(Panicked).into_response()
}

/// An error with all its causes, in one line.
fn chain(error: &(dyn Error + Send + Sync)) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        source = cause.source();
    }
    text
}
