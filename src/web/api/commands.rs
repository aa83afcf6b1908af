//! What may be done with one letter.

use std::sync::Arc;

use axum::{Json, extract::State};
use serde::Deserialize;
use serde_json::value::RawValue;
use utoipa::ToSchema;

use super::{
    edit::{HeaderChanges, PropertyChanges, edited_body, edited_payload},
    model::LetterItem,
    reply,
};
use crate::{
    domain::{
        actor::Actor,
        command::Command,
        edit::Edit,
        letter::{Letter, LetterId},
    },
    services::decoding::reading::EditedAs,
    web::{
        AppState,
        error::WebError,
        input::JsonBody,
        order::{read_delay, read_importance, read_queue, read_type},
        path_id::{PathId, missing},
        problem::Problem,
        security::CurrentUser,
    },
};

/// How to send it back; everything may be left out.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Retry {
    /// `30s`, `10m`, `2h`; at once if left out.
    delay: Option<String>,
    /// Where to; if left out, where its scheduled retry goes, or else the queue it failed in.
    queue: Option<String>,
    /// Edit and retry: the whole body to send instead, in base64, with all the encoding it came in.
    body_base64: Option<String>,
    /// Edit and retry: its payload as `GET letters/{id}` shows it in `payload.json`, edited. It is written back by its type
    /// and wrapped as it came; values that are hidden there stay what they are.
    /// Not for a payload that is text.
    #[schema(value_type = Option<serde_json::Value>)]
    json: Option<Box<RawValue>>,
    /// Edit and retry: its payload, where that is text, wrapped as it came.
    text: Option<String>,
    /// Edit and retry: changes to its headers, `{"set": {name: text}, "remove": [name]}`.
    headers: Option<HeaderChanges>,
    /// Edit and retry: changes to its properties, `{"content_type": "application/json", "expiration": null}`.
    properties: Option<PropertyChanges>,
}

impl Retry {
    /// What it changes in a letter, when it changes anything.
    async fn edit(&mut self, app: &AppState, id: LetterId) -> Result<Option<Edit>, WebError> {
        let body = match (&self.json, &self.text, &self.body_base64) {
            (Some(json), None, None) => Some(edited_payload(app, id, json.get().to_owned(), EditedAs::Json).await?),
            (None, Some(text), None) => Some(edited_payload(app, id, text.clone(), EditedAs::Text).await?),
            (None, None, body) => edited_body(body.as_deref())?,
            _ => return Err(WebError::unprocessable("body_base64, json, text: it takes one of them")),
        };
        let headers = self.headers.as_ref().map(HeaderChanges::read).transpose()?;
        let properties = self.properties.take().map(PropertyChanges::read).transpose()?;
        let is_edit = body.is_some() || headers.is_some() || properties.is_some();
        let (headers, properties) = (headers.unwrap_or_default(), properties.unwrap_or_default());
        if !is_edit {
            return Ok(None);
        }
        let edit = Edit { body, headers, properties };
        let message = app.store.messages(&[id]).await?.remove(&id).ok_or_else(missing::<Letter>)?;
        Ok(Some(app.triage.with_consequences(&message, edit)))
    }
}

/// Send it back to its queue, at once or later, as it is or edited
///
/// An edit makes a copy, which is a letter of its own, and sends that; the letter itself is discarded, and never are both
/// sent. To undo it, discard the copy and reopen the letter.
#[utoipa::path(post, path = "/letters/{id}/retry", tag = "letters", params(PathId<Letter>), request_body = Retry,
    responses(
    (status = OK, body = LetterItem, description = "It is scheduled; of an edit, the copy"),
    (status = NOT_FOUND, body = Problem, content_type = "application/problem+json"),
    (status = CONFLICT, body = Problem, content_type = "application/problem+json", description = "Not possible in its current status"),
    (status = UNPROCESSABLE_ENTITY, body = Problem, content_type = "application/problem+json"),
))]
pub async fn retry(
    State(app): State<Arc<AppState>>,
    user: CurrentUser,
    PathId(id): PathId<Letter>,
    JsonBody(mut retry): JsonBody<Retry>,
) -> Result<Json<LetterItem>, WebError> {
    let edit = retry.edit(&app, id).await?;
    let delay = read_delay(retry.delay, app.clock.now())?;
    let queue = read_queue(retry.queue)?;
    let Some(edit) = edit else { return carry_out(&app, &user, id, &[Command::Retry { delay, queue }]).await };
    let edited = app.triage.retry_edited(id, &edit, delay, queue.as_deref(), &user).await?;
    let copy = edited.map_err(|refusal| reply::refused(&refusal))?;
    show(&app, copy).await
}

/// Why it is set aside.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Discard {
    note: Option<String>,
}

/// Set it aside for good; it can be undone until retention removes it
#[utoipa::path(post, path = "/letters/{id}/discard", tag = "letters", params(PathId<Letter>), request_body = Discard,
    responses(
    (status = OK, body = LetterItem),
    (status = NOT_FOUND, body = Problem, content_type = "application/problem+json"),
    (status = CONFLICT, body = Problem, content_type = "application/problem+json", description = "Not possible in its current status"),
))]
pub async fn discard(
    State(app): State<Arc<AppState>>,
    user: CurrentUser,
    PathId(id): PathId<Letter>,
    JsonBody(discard): JsonBody<Discard>,
) -> Result<Json<LetterItem>, WebError> {
    carry_out(&app, &user, id, &[Command::Discard { note: discard.note }]).await
}

/// Takes nothing.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Reopen {}

/// Undo a discard, or cancel a scheduled retry
#[utoipa::path(post, path = "/letters/{id}/reopen", tag = "letters", params(PathId<Letter>), responses(
    (status = OK, body = LetterItem),
    (status = NOT_FOUND, body = Problem, content_type = "application/problem+json"),
    (status = CONFLICT, body = Problem, content_type = "application/problem+json", description = "Not possible in its current status"),
))]
pub async fn reopen(
    State(app): State<Arc<AppState>>,
    user: CurrentUser,
    PathId(id): PathId<Letter>,
    JsonBody(Reopen {}): JsonBody<Reopen>,
) -> Result<Json<LetterItem>, WebError> {
    carry_out(&app, &user, id, &[Command::Reopen]).await
}

/// What to set by hand; what is left out stays as it is.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Change {
    /// `critical`, `high`, `normal` or `low`
    importance: Option<String>,
    /// An empty one removes it.
    note: Option<String>,
    /// Full name of a message type; an empty one removes the one that was set by hand.
    message_type: Option<String>,
}

/// Set importance, note and type by hand: all that is given, or nothing
#[utoipa::path(patch, path = "/letters/{id}", tag = "letters", params(PathId<Letter>), request_body = Change,
    responses(
    (status = OK, body = LetterItem),
    (status = NOT_FOUND, body = Problem, content_type = "application/problem+json"),
    (status = UNPROCESSABLE_ENTITY, body = Problem, content_type = "application/problem+json"),
))]
pub async fn change(
    State(app): State<Arc<AppState>>,
    user: CurrentUser,
    PathId(id): PathId<Letter>,
    JsonBody(change): JsonBody<Change>,
) -> Result<Json<LetterItem>, WebError> {
    let message_type = change.message_type.as_deref().map(read_type).transpose()?;
    let importance = change.importance.as_deref().map(read_importance).transpose()?;
    let commands: Vec<_> = (importance.map(Command::SetImportance).into_iter())
        .chain(change.note.map(Command::SetNote))
        .chain(message_type.map(Command::SetType))
        .collect();
    carry_out(&app, &user, id, &commands).await
}

/// All commands or none; the answer is the letter as it then stands.
async fn carry_out(
    app: &AppState,
    by: &Actor,
    id: LetterId,
    commands: &[Command],
) -> Result<Json<LetterItem>, WebError> {
    reply::done_or_refused(&app.triage.act_on_one(id, commands, by).await?)?;
    show(app, id).await
}

/// The letter as it stands now.
async fn show(app: &AppState, id: LetterId) -> Result<Json<LetterItem>, WebError> {
    let letter = app.store.summary(id).await?.ok_or_else(missing::<Letter>)?;
    Ok(Json(letter.into()))
}
