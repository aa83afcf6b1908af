//! `GET /api/v1/letters/{id}` and its body.

use std::sync::Arc;

use axum::{
    Json,
    extract::State,
    http::{HeaderValue, Method, StatusCode, header},
    response::{IntoResponse, Response},
};
use payload_codec::unwrap::Kind;
use serde::Deserialize;
use utoipa::ToSchema;

use super::{
    model::{FullLetter, LetterItem},
    reply::Bytes,
    words,
};
use crate::{
    domain::{
        access::Right,
        actor::Actor,
        letter::{Letter, LetterId},
        version::Versioned,
    },
    services::decoding::reading::Reading,
    web::{
        error::{WebError, codes::FaultCode},
        input::{
            Query,
            call_body::{Call, CallBody, JsonBody},
            path_id::{PathId, missing},
            precondition::ETag,
        },
        query::{
            form, parameters,
            payload::{Chain, PayloadQuery},
        },
        shared::{payload, remarks},
        state::AppState,
        visitor::{CurrentUser, Visitor},
    },
};

parameters! {
    /// How to read its body.
    pub Sight {
        /// Undo exactly these encodings, by comma, the outermost first; `none` for none. Those that are found if left out.
        "encoding" encoding: Option<Chain> as form::One,
    }
}

/// One letter with everything that is known of it
///
/// Values that are hidden stay so; `POST letters/{id}/reveal` shows them.
#[utoipa::path(get, path = "/letters/{id}", operation_id = "get_letter", tag = "letters",
    params(PathId<Letter>, Sight), responses((status = OK, body = FullLetter)))]
pub async fn letter(
    State(app): State<Arc<AppState>>,
    PathId(id): PathId<Letter>,
    Query(Sight { encoding }): Query<Sight>,
) -> Result<(ETag, Json<FullLetter>), WebError> {
    read(&app, id, encoding, None).await
}

/// How to read its body.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Reveal {
    /// Undo exactly these encodings, the outermost first. Those that are found if left out.
    #[schema(value_type = Option<Vec<words::Encoding>>, max_items = 16)]
    encoding: Option<Vec<String>>,
}

impl CallBody for Reveal {
    type Read = Option<Chain>;

    async fn read(self, _: &Call<'_>) -> Result<Option<Chain>, WebError> {
        let kinds = self.encoding.map(|names| names.iter().map(|name| name.parse::<Kind>()).collect::<Result<_, _>>());
        let kinds = kinds.transpose().map_err(|why| WebError::field("encoding", FaultCode::Choice, why))?;
        Ok(kinds.map(Chain))
    }
}

/// The same with the values that are hidden; where something is, a line in the letter's history says who has seen it
#[utoipa::path(post, path = "/letters/{id}/reveal", operation_id = "reveal_letter", tag = "letters",
    params(PathId<Letter>), request_body = Reveal, responses((status = OK, body = FullLetter)))]
pub async fn reveal(
    State(app): State<Arc<AppState>>,
    user: CurrentUser,
    PathId(id): PathId<Letter>,
    JsonBody(encoding): JsonBody<Reveal>,
) -> Result<(ETag, Json<FullLetter>), WebError> {
    read(&app, id, encoding, Some(&user)).await
}

async fn read(
    app: &AppState,
    id: LetterId,
    encoding: Option<Chain>,
    reveal_to: Option<&Actor>,
) -> Result<(ETag, Json<FullLetter>), WebError> {
    let letter = remarks::letter(app, id).await?.ok_or_else(missing::<Letter>)?;
    let shown = shown(app, letter, encoding, reveal_to).await?;
    full(app, shown).await.map(|(tag, letter)| (tag, Json(letter)))
}

/// A letter as it is shown to who asks, and what its body says.
pub(super) async fn shown(
    app: &AppState,
    letter: Letter,
    encoding: Option<Chain>,
    reveal_to: Option<&Actor>,
) -> Result<(Arc<Letter>, Reading), WebError> {
    let (query, letter) = (PayloadQuery { encoding, form: None }, Arc::new(letter));
    let reading = payload::read(app, &letter, &query, reveal_to).await?;
    Ok((payload::without_hidden(letter, &reading), reading))
}

/// All that is known of a letter that is shown so.
pub(super) async fn full(
    app: &AppState,
    (letter, reading): (Arc<Letter>, Reading),
) -> Result<(ETag, FullLetter), WebError> {
    // Afterwards, so that it shows who sees this.
    let history = app.store().history(letter.summary.id).await?;
    let refused = app.triage.why_not(&letter.summary, letter.summary.queue.as_deref());
    let tag = ETag(letter.summary.version());
    Ok((tag, FullLetter::new(Arc::unwrap_or_clone(letter), &reading, history, refused)))
}

/// The letter as it stands now, after something was done with it, and without its contents. Who may act on it and not read it
/// is told nothing.
pub(super) async fn summary(app: &AppState, id: LetterId) -> Result<Response, WebError> {
    if Visitor::need(Right::Read).is_err() {
        return Ok(StatusCode::NO_CONTENT.into_response());
    }
    let mut letter = app.store().summary(id).await?.ok_or_else(missing::<Letter>)?;
    app.reader.hide_in_lists([&mut letter]).await;
    Ok((ETag(letter.version()), Json(LetterItem::from(letter))).into_response())
}

/// The body of a letter, byte for byte
///
/// It holds what is hidden elsewhere; where something is, a line in the letter's history says who has taken it.
#[utoipa::path(get, path = "/letters/{id}/body", operation_id = "get_letter_body", tag = "letters",
    params(PathId<Letter>), responses((status = OK, body = inline(Bytes), content_type = "application/octet-stream")))]
pub async fn body(
    State(app): State<Arc<AppState>>,
    user: CurrentUser,
    method: Method,
    PathId(id): PathId<Letter>,
) -> Result<Response, WebError> {
    let letter = Arc::new(app.letter(id).await?.ok_or_else(missing::<Letter>)?);
    Visitor::need(Right::Reveal)?;
    // HEAD gets none of it.
    if method == Method::GET {
        payload::read(&app, &letter, &PayloadQuery::default(), Some(&user)).await?;
    }
    let mut response = Arc::unwrap_or_clone(letter).message.body.into_response();
    let headers = response.headers_mut();
    // Always a download of no particular type: a body that is HTML must never run here.
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/octet-stream"));
    headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static("default-src 'none'; sandbox"));
    let disposition = HeaderValue::from_str(&format!("attachment; filename=\"letter-{id}.bin\""));
    headers.insert(header::CONTENT_DISPOSITION, disposition.unwrap_or(HeaderValue::from_static("attachment")));
    Ok(response)
}
