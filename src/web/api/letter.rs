//! `GET /api/v1/letters/{id}` and its body.

use std::sync::Arc;

use axum::{
    Json,
    extract::State,
    http::{HeaderValue, header},
    response::{IntoResponse, Response},
};

use super::{model::FullLetter, reply::Bytes};
use crate::{
    domain::letter::Letter,
    web::{
        AppState,
        error::WebError,
        input::Query,
        path_id::{PathId, missing},
        payload::{self, Chain, PayloadQuery},
        problem::Problem,
        query::{form, parameters},
        security::CurrentUser,
    },
};

parameters! {
    /// How to read its body.
    pub Sight {
        /// Undo exactly these encodings, by comma, the outermost first, as `base64,gzip`; `none` for none. Those that are
        /// found if left out.
        "encoding" encoding: Option<Chain> as form::One => Option<String>,
        /// `true` shows values that are hidden, which leaves a line in the letter's history.
        "reveal" reveal: Option<bool> as form::One => Option<bool>,
    }
}

/// One letter with everything that is known of it
#[utoipa::path(get, path = "/letters/{id}", tag = "letters", params(PathId<Letter>, Sight), responses(
    (status = OK, body = FullLetter),
    (status = BAD_REQUEST, body = Problem, content_type = "application/problem+json"),
    (status = NOT_FOUND, body = Problem, content_type = "application/problem+json"),
))]
pub async fn letter(
    State(app): State<Arc<AppState>>,
    user: CurrentUser,
    PathId(id): PathId<Letter>,
    Query(Sight { encoding, reveal }): Query<Sight>,
) -> Result<Json<FullLetter>, WebError> {
    let query = PayloadQuery { encoding, form: None };
    let letter = Arc::new(app.store.letter(id).await?.ok_or_else(missing::<Letter>)?);
    let reading = payload::read(&app, &letter, &query, reveal.unwrap_or_default().then_some(&*user)).await?;
    // Afterwards, so that it shows who sees this.
    let history = app.store.history(id).await?;
    let danger = app.triage.danger(&letter.summary);
    Ok(Json(FullLetter::new(Arc::unwrap_or_clone(letter), &reading, history, danger)))
}

/// The body of a letter, byte for byte
///
/// It holds what is hidden elsewhere; where something is, a line in the letter's history says who has taken it.
#[utoipa::path(get, path = "/letters/{id}/body", tag = "letters", params(PathId<Letter>), responses(
    (status = OK, body = inline(Bytes), content_type = "application/octet-stream"),
    (status = NOT_FOUND, body = Problem, content_type = "application/problem+json"),
))]
pub async fn body(
    State(app): State<Arc<AppState>>,
    user: CurrentUser,
    PathId(id): PathId<Letter>,
) -> Result<Response, WebError> {
    let letter = Arc::new(app.store.letter(id).await?.ok_or_else(missing::<Letter>)?);
    payload::read(&app, &letter, &PayloadQuery::default(), Some(&*user)).await?;
    let mut response = Arc::unwrap_or_clone(letter).message.body.into_response();
    let headers = response.headers_mut();
    // Always a download of no particular type: a body that is HTML must never run here.
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/octet-stream"));
    headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static("default-src 'none'; sandbox"));
    let disposition = HeaderValue::from_str(&format!("attachment; filename=\"letter-{id}.bin\""));
    headers.insert(header::CONTENT_DISPOSITION, disposition.unwrap_or(HeaderValue::from_static("attachment")));
    Ok(response)
}
