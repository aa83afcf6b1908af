//! What comes with a request, read and checked.

pub mod body_schema;
pub mod call_body;
pub mod delay;
pub mod formats;
pub mod path_id;
pub mod precondition;
pub mod seen;
pub mod upload;

use axum::{
    Extension,
    body::Bytes,
    extract::{DefaultBodyLimit, FromRequest, FromRequestParts, Request},
    http::{HeaderMap, StatusCode, header, request::Parts},
};

use super::{
    error::WebError,
    query::{Pairs, Parameters},
};
use crate::web::error::{codes::FaultCode, fault::NO_NUL};

/// The query of a page's address.
pub struct QueryPairs(pub Pairs);

impl<S: Sync> FromRequestParts<S> for QueryPairs {
    type Rejection = WebError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, WebError> {
        without_nul(Pairs::parse(query_of(parts)).without_blanks()).map(Self)
    }
}

/// What the query of a call of the API says, and nothing else.
pub struct Query<T>(pub T);

impl<T: Parameters + Default, S: Sync> FromRequestParts<S> for Query<T> {
    type Rejection = WebError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, WebError> {
        T::read(exact_pairs(parts)).map(Self)
    }
}

/// What the query of a call says, word by word.
pub fn exact_pairs(parts: &Parts) -> Pairs {
    Pairs::parse_exact(query_of(parts))
}

/// Fields of one form.
const MOST_FIELDS: usize = 100_000;

/// The fields of a form.
pub struct FormPairs(pub Pairs);

impl<S: Send + Sync> FromRequest<S> for FormPairs {
    type Rejection = WebError;

    async fn from_request(request: Request, state: &S) -> Result<Self, WebError> {
        require_type(request.headers(), "application/x-www-form-urlencoded")?;
        let body = read_body(request, state).await?;
        if body.iter().filter(|byte| **byte == b'&').count() >= MOST_FIELDS {
            let why = format!("the form has more than {MOST_FIELDS} fields");
            return Err(WebError::body(StatusCode::UNPROCESSABLE_ENTITY, FaultCode::Length, why));
        }
        without_nul(Pairs::parse(&body)).map(Self)
    }
}

fn query_of(parts: &Parts) -> &[u8] {
    parts.uri.query().unwrap_or_default().as_bytes()
}

fn without_nul(pairs: Pairs) -> Result<Pairs, WebError> {
    if let Some((name, _)) = pairs.iter().find(|(_, value)| value.contains('\0')) {
        return Err(WebError::parameter(name, FaultCode::Format, NO_NUL));
    }
    Ok(pairs)
}

pub fn require_type(headers: &HeaderMap, expected: &str) -> Result<(), WebError> {
    let given = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let media_type = given.split(';').next().unwrap_or_default().trim();
    if media_type.eq_ignore_ascii_case(expected) {
        return Ok(());
    }
    Err(WebError::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, format!("Send it with content-type {expected}.")))
}

/// Bytes that a request may have, where it is not axum's default.
#[derive(Clone, Copy)]
pub struct BodyLimit(usize);

/// Bytes of any other: the default of axum.
pub const DEFAULT_LIMIT: usize = 2 << 20;

/// Takes requests of so many bytes.
pub fn body_limit(bytes: usize) -> (DefaultBodyLimit, Extension<BodyLimit>) {
    (DefaultBodyLimit::max(bytes), Extension(BodyLimit(bytes)))
}

/// Bytes of a request that brings an edited body: the largest message that RabbitMQ 4 takes by default, 16 MiB
/// (<https://www.rabbitmq.com/docs/configure#config-items>, `max_message_size`), in base64 and with room to spare.
pub const EDIT_LIMIT: usize = 32 << 20;

/// Bytes of a request that brings a body of `max` bytes to be decoded, in base64 and with room to spare.
pub const fn decode_limit(max: u64) -> usize {
    const ROOM: u64 = 2 << 20;
    max.saturating_add(max / 3).saturating_add(ROOM) as usize
}

pub async fn read_body<S: Send + Sync>(request: Request, state: &S) -> Result<Bytes, WebError> {
    let BodyLimit(max) = request.extensions().get().copied().unwrap_or(BodyLimit(DEFAULT_LIMIT));
    Bytes::from_request(request, state).await.map_err(|rejection| match rejection.status() {
        StatusCode::PAYLOAD_TOO_LARGE => WebError::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            format!("The request has more than the {max} bytes that are taken here."),
        ),
        _ => WebError::body(StatusCode::BAD_REQUEST, FaultCode::Format, "The body did not arrive whole."),
    })
}
