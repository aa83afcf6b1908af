//! `GET /api/v1/letters/{id}` and its body.

use std::sync::Arc;

use axum::{
    Json,
    extract::State,
    http::{HeaderValue, header},
    response::{IntoResponse, Response},
};

use super::{model::FullLetter, reply::OneLetter};
use crate::web::{
    Office,
    error::{Problem, WebError},
    input::LetterPath,
};

/// One letter with everything that is known of it
#[utoipa::path(get, path = "/letters/{id}", tag = "letters", params(OneLetter), responses(
    (status = OK, body = FullLetter),
    (status = NOT_FOUND, body = Problem, content_type = "application/problem+json"),
))]
pub async fn letter(
    State(office): State<Arc<Office>>,
    LetterPath(id): LetterPath,
) -> Result<Json<FullLetter>, WebError> {
    let (letter, history) = tokio::try_join!(office.store.letter(id), office.store.history(id))?;
    let letter = letter.ok_or_else(unknown)?;
    let danger = office.triage.danger(&letter.summary);
    Ok(Json(FullLetter::new(letter, history, danger, office.settings.decode_max_bytes)))
}

/// The body of a letter, byte for byte
#[utoipa::path(get, path = "/letters/{id}/body", tag = "letters", params(OneLetter), responses(
    (status = OK, body = Vec<u8>, content_type = "application/octet-stream"),
    (status = NOT_FOUND, body = Problem, content_type = "application/problem+json"),
))]
pub async fn body(State(office): State<Arc<Office>>, LetterPath(id): LetterPath) -> Result<Response, WebError> {
    let body = office.store.body(id).await?.ok_or_else(unknown)?;
    let mut response = body.into_response();
    let headers = response.headers_mut();
    // Always a download of no particular type: a body that is HTML must never run here.
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/octet-stream"));
    headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static("default-src 'none'; sandbox"));
    let disposition = HeaderValue::from_str(&format!("attachment; filename=\"letter-{id}.bin\""));
    headers.insert(header::CONTENT_DISPOSITION, disposition.unwrap_or(HeaderValue::from_static("attachment")));
    Ok(response)
}

pub fn unknown() -> WebError {
    WebError::not_found("There is no such letter.")
}
