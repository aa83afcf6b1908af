//! Requests on connections that are kept for probes: the others are all at work.

use axum::{
    extract::Request,
    http::{StatusCode, header},
    middleware::Next,
    response::{IntoResponse, Response},
};

use crate::web::{
    error::{WebError, codes::ProblemCode},
    security::PROBES,
};

const WHY: &str = "Too many connections; try again in a moment.";

/// Comes with a request on such a connection.
#[derive(Clone, Copy)]
pub struct Reserved;

/// Answers only probes there. A page would ask the database for what stands around it, so that people get a plain word.
pub async fn refuse(request: Request, next: Next) -> Response {
    let path = request.uri().path();
    if request.extensions().get::<Reserved>().is_none() || PROBES.contains(&path) {
        return next.run(request).await;
    }
    let status = StatusCode::SERVICE_UNAVAILABLE;
    let closes = [(header::CONNECTION, "close")];
    match path.starts_with("/api/") {
        true => (closes, WebError::new(status, WHY).with_code(ProblemCode::Unavailable)).into_response(),
        false => (status, closes, [(header::RETRY_AFTER, "2")], WHY).into_response(),
    }
}
