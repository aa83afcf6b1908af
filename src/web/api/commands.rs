//! What may be done with one letter.

use std::{sync::Arc, time::Duration};

use axum::{Json, extract::State};
use serde::Deserialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::{
    letter::unknown,
    model::LetterItem,
    reply::{self, OneLetter},
};
use crate::{
    domain::{
        actor::Actor,
        command::Command,
        letter::{Importance, LetterId},
    },
    web::{
        Office,
        error::{Problem, WebError},
        input::{JsonBody, LetterPath, parse_delay, read_type},
    },
};

/// How to send it back; everything may be left out.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Retry {
    /// `30s`, `10m`, `2h`; at once if left out.
    delay: Option<String>,
    /// Another queue than the one it failed in.
    queue: Option<String>,
    #[schema(ignore)]
    body_base64: Option<Value>,
    #[schema(ignore)]
    json: Option<Value>,
}

/// Send it back to its queue, at once or later
#[utoipa::path(post, path = "/letters/{id}/retry", tag = "letters", params(OneLetter), request_body = Retry,
    responses(
    (status = OK, body = LetterItem, description = "It is scheduled"),
    (status = NOT_FOUND, body = Problem, content_type = "application/problem+json"),
    (status = CONFLICT, body = Problem, content_type = "application/problem+json", description = "Not as it stands"),
    (status = UNPROCESSABLE_ENTITY, body = Problem, content_type = "application/problem+json"),
))]
pub async fn retry(
    State(office): State<Arc<Office>>,
    LetterPath(id): LetterPath,
    JsonBody(retry): JsonBody<Retry>,
) -> Result<Json<LetterItem>, WebError> {
    if retry.body_base64.is_some() || retry.json.is_some() {
        return Err(reply::not_available_yet("Editing a letter (body_base64, json)"));
    }
    let delay = read_delay(&office, retry.delay.as_deref())?;
    carry_out(&office, id, &[retry_command(delay, retry.queue)?]).await
}

/// Why it is set aside.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Discard {
    note: Option<String>,
}

/// Set it aside for good; it can be undone until retention removes it
#[utoipa::path(post, path = "/letters/{id}/discard", tag = "letters", params(OneLetter), request_body = Discard,
    responses(
    (status = OK, body = LetterItem),
    (status = NOT_FOUND, body = Problem, content_type = "application/problem+json"),
    (status = CONFLICT, body = Problem, content_type = "application/problem+json", description = "Not as it stands"),
))]
pub async fn discard(
    State(office): State<Arc<Office>>,
    LetterPath(id): LetterPath,
    JsonBody(discard): JsonBody<Discard>,
) -> Result<Json<LetterItem>, WebError> {
    carry_out(&office, id, &[Command::Discard { note: discard.note }]).await
}

/// Takes nothing.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Reopen {}

/// Undo a discard, or cancel a scheduled retry
#[utoipa::path(post, path = "/letters/{id}/reopen", tag = "letters", params(OneLetter), responses(
    (status = OK, body = LetterItem),
    (status = NOT_FOUND, body = Problem, content_type = "application/problem+json"),
    (status = CONFLICT, body = Problem, content_type = "application/problem+json", description = "Not as it stands"),
))]
pub async fn reopen(
    State(office): State<Arc<Office>>,
    LetterPath(id): LetterPath,
    JsonBody(Reopen {}): JsonBody<Reopen>,
) -> Result<Json<LetterItem>, WebError> {
    carry_out(&office, id, &[Command::Reopen]).await
}

/// What to set by hand; what is left out stays as it is.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Change {
    /// `critical`, `high`, `normal` or `low`
    importance: Option<String>,
    /// An empty one removes it.
    note: Option<String>,
    /// Full name of a message type; an empty one takes back what a person has said.
    message_type: Option<String>,
}

/// Set importance or note by hand
#[utoipa::path(patch, path = "/letters/{id}", tag = "letters", params(OneLetter), request_body = Change,
    responses(
    (status = OK, body = LetterItem),
    (status = NOT_FOUND, body = Problem, content_type = "application/problem+json"),
    (status = UNPROCESSABLE_ENTITY, body = Problem, content_type = "application/problem+json"),
))]
pub async fn change(
    State(office): State<Arc<Office>>,
    LetterPath(id): LetterPath,
    JsonBody(change): JsonBody<Change>,
) -> Result<Json<LetterItem>, WebError> {
    let message_type = change.message_type.as_deref().map(read_type).transpose()?;
    let importance = change.importance.as_deref().map(read_importance).transpose()?;
    let commands: Vec<_> = (importance.map(Command::SetImportance).into_iter())
        .chain(change.note.map(Command::SetNote))
        .chain(message_type.map(Command::SetType))
        .collect();
    carry_out(&office, id, &commands).await
}

pub fn read_delay(office: &Office, delay: Option<&str>) -> Result<Duration, WebError> {
    let read = parse_delay(delay.unwrap_or_default(), office.clock.now());
    read.map_err(|why| WebError::unprocessable(format!("delay: {why}")))
}

pub fn read_importance(word: &str) -> Result<Importance, WebError> {
    word.parse().map_err(|why| WebError::unprocessable(format!("importance: {why}")))
}

pub fn retry_command(delay: Duration, queue: Option<String>) -> Result<Command, WebError> {
    if queue.as_deref() == Some("") {
        return Err(WebError::unprocessable("queue: it takes a name, or is left out"));
    }
    Ok(Command::Retry { delay, queue })
}

/// One command after the other; the answer is the letter as it then stands.
async fn carry_out(office: &Office, id: LetterId, commands: &[Command]) -> Result<Json<LetterItem>, WebError> {
    for command in commands {
        let report = office.triage.act(&[id], command, &Actor::local()).await?;
        reply::done_or_refused(&report)?;
    }
    let letter = office.store.summary(id).await?.ok_or_else(unknown)?;
    Ok(Json(letter.into()))
}
