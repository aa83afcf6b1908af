//! What may be done with one letter.

use std::sync::Arc;

use axum::{Json, extract::State};
use payload_codec::unwrap::UnwrapMode;
use serde::Deserialize;
use serde_json::value::RawValue;
use utoipa::ToSchema;

use super::{
    edit::{HeaderChanges, PropertyChanges, edited_body, edited_payload},
    letter::summary,
    model::LetterItem,
    reply,
};
use crate::{
    domain::{
        access::Right,
        actor::Actor,
        command::{Command, Refusal},
        edit::Edit,
        letter::{Letter, LetterId},
        version::Expected,
    },
    services::decoding::{confirmed::Confirmed, reading::EditedAs},
    web::{
        AppState,
        codes::FaultCode,
        error::{Gathered, WebError},
        input::JsonBody,
        order::{read_note, read_retry},
        path_id::{PathId, missing},
        precondition::ETag,
        problem::Problem,
        security::{CurrentUser, Visitor},
    },
};

/// How to send it back; everything may be left out.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Retry {
    /// `30s`, `10m`, `2h`, at most a year; at once if left out.
    #[schema(format = "delay", example = "10m")]
    delay: Option<String>,
    /// Where to; if left out, where its scheduled retry goes, or else the queue it failed in. Not a queue of dlo's own.
    #[schema(min_length = 1, max_length = 255, example = "orders")]
    queue: Option<String>,
    /// Edit and retry: the whole body to send instead, in base64, with all the encoding it came in.
    #[schema(content_encoding = "base64")]
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
            _ => {
                return Err(WebError::field(
                    "json",
                    FaultCode::Excluded,
                    "body_base64, json, text: it takes one of them",
                ));
            }
        };
        let headers = self.headers.as_ref().map(HeaderChanges::read).transpose()?;
        let properties = self.properties.take().map(PropertyChanges::read).transpose()?;
        let is_edit = body.is_some() || headers.is_some() || properties.is_some();
        let (headers, properties) = (headers.unwrap_or_default(), properties.unwrap_or_default());
        if !is_edit {
            return Ok(None);
        }
        if body.is_some() {
            // Otherwise the answer tells whether a guess at the body is right.
            app.letter(id).await?.ok_or_else(missing::<Letter>)?;
            Visitor::need(Right::Payload)?;
        }
        let edit = Edit { body, headers, properties };
        let message = app.store().messages(&[id]).await?.remove(&id).ok_or_else(missing::<Letter>)?;
        if app.triage.changes_nothing(&message, &edit) {
            let given = self.json.as_deref().map(RawValue::get).or(self.text.as_deref());
            check_may_be_same(app, id, given).await?;
        }
        Ok(Some(app.triage.with_consequences(&message, edit)))
    }
}

/// Refuses an edit that changes nothing, but where values are hidden: there it would say that a guess at one is right, in the
/// body or in a header that quotes it.
async fn check_may_be_same(app: &AppState, id: LetterId, given: Option<&str>) -> Result<(), WebError> {
    let letter = Arc::new(app.letter(id).await?.ok_or_else(missing::<Letter>)?);
    let reading = app.reader.read(&letter, Confirmed::new(), UnwrapMode::Automatic, false).await;
    if reading.hides && !given.is_some_and(|text| reading.says_no_more(text)) {
        return Ok(());
    }
    Err(reply::refused(&Refusal::Unfit("the edit changes nothing; retry it as it is".to_owned())))
}

/// Send it back to its queue, at once or later, as it is or edited
///
/// An edit makes a copy, which is a letter of its own, and sends that; the letter itself is discarded, and never are both
/// sent. To undo it, discard the copy and reopen the letter.
#[utoipa::path(post, path = "/letters/{id}/retry", operation_id = "retry_letter", tag = "letters",
    params(PathId<Letter>), request_body = Retry, responses(
    (status = OK, body = LetterItem, description = "It is scheduled; of an edit, the copy"),
    (status = CONFLICT, body = Problem, content_type = "application/problem+json",
        description = "Not possible in its current status"),
))]
pub async fn retry(
    State(app): State<Arc<AppState>>,
    user: CurrentUser,
    PathId(id): PathId<Letter>,
    JsonBody(mut retry): JsonBody<Retry>,
) -> Result<(ETag, Json<LetterItem>), WebError> {
    let mut gathered = Gathered::default();
    let edit = gathered.take(retry.edit(&app, id).await);
    let (delay, queue) = gathered.take(read_retry(retry.delay, retry.queue, &app));
    gathered.end()?;
    let Some(edit) = edit else { return carry_out(&app, &user, id, &[Command::Retry { delay, queue }]).await };
    let edited = app.triage.retry_edited(id, &edit, delay, queue.as_deref(), &user).await?;
    let copy = edited.map_err(|refusal| reply::refused(&refusal))?;
    summary(&app, copy).await
}

/// Why it is set aside.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Discard {
    /// Kept as the note of the letter.
    #[schema(max_length = 8000)]
    note: Option<String>,
}

/// Set it aside for good; it can be undone until retention removes it
#[utoipa::path(post, path = "/letters/{id}/discard", operation_id = "discard_letter", tag = "letters",
    params(PathId<Letter>), request_body = Discard, responses(
    (status = OK, body = LetterItem),
    (status = CONFLICT, body = Problem, content_type = "application/problem+json",
        description = "Not possible in its current status"),
))]
pub async fn discard(
    State(app): State<Arc<AppState>>,
    user: CurrentUser,
    PathId(id): PathId<Letter>,
    JsonBody(discard): JsonBody<Discard>,
) -> Result<(ETag, Json<LetterItem>), WebError> {
    let note = discard.note.as_deref().map(read_note).transpose()?;
    carry_out(&app, &user, id, &[Command::Discard { note }]).await
}

/// Takes nothing.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Nothing {}

/// Undo a discard, or cancel a scheduled retry
#[utoipa::path(post, path = "/letters/{id}/reopen", operation_id = "reopen_letter", tag = "letters",
    params(PathId<Letter>), request_body(content = Nothing, description = "May be left out"), responses(
    (status = OK, body = LetterItem),
    (status = CONFLICT, body = Problem, content_type = "application/problem+json",
        description = "Not possible in its current status"),
))]
pub async fn reopen(
    State(app): State<Arc<AppState>>,
    user: CurrentUser,
    PathId(id): PathId<Letter>,
    JsonBody(Nothing {}): JsonBody<Nothing>,
) -> Result<(ETag, Json<LetterItem>), WebError> {
    carry_out(&app, &user, id, &[Command::Reopen]).await
}

async fn carry_out(
    app: &AppState,
    by: &Actor,
    id: LetterId,
    commands: &[Command],
) -> Result<(ETag, Json<LetterItem>), WebError> {
    reply::done_or_refused(&app.triage.act_on_one(id, commands, &Expected::Anything, by).await?)?;
    summary(app, id).await
}
