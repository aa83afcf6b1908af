//! What may be done with one letter.

use std::{sync::Arc, time::Duration};

use amqp_message::message::Message;
use axum::{extract::State, response::Response};
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
        edit::{Edit, HeaderEdit},
        letter::{Letter, LetterId},
        version::Expected,
    },
    services::decoding::{confirmed::Confirmed, reading::EditedAs},
    web::{
        error::{WebError, codes::FaultCode},
        input::{
            call_body::{Call, CallBody, JsonBody},
            path_id::{PathId, missing},
        },
        orders::letters::{read_note, read_retry},
        problem::Problem,
        state::AppState,
        visitor::{CurrentUser, Visitor},
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

/// When a letter goes back, and where to; with an edit, as what.
pub struct RetryOrder {
    edit: Option<Edit>,
    delay: Duration,
    queue: Option<String>,
}

impl CallBody for Retry {
    type Read = RetryOrder;

    async fn read(mut self, call: &Call<'_>) -> Result<RetryOrder, WebError> {
        let retry = read_retry(self.delay.as_deref(), self.queue.take(), call.app);
        let edit = self.edit(call.app, call.id::<Letter>().await?).await;
        let (edit, (delay, queue)) = WebError::both(edit, retry)?;
        Ok(RetryOrder { edit, delay, queue })
    }
}

impl Retry {
    /// What it changes in a letter, when it changes anything.
    async fn edit(&mut self, app: &AppState, id: LetterId) -> Result<Option<Edit>, WebError> {
        let payloads = self.payloads();
        if payloads.is_empty() && self.headers.is_none() && self.properties.is_none() {
            return Ok(None);
        }
        // The answer tells what there is to edit.
        Visitor::need(Right::Read)?;
        let letter = app.letter(id).await?.ok_or_else(missing::<Letter>)?;
        if !payloads.is_empty() {
            // Otherwise the answer tells whether a guess at the body is right.
            Visitor::need(Right::Payload)?;
        }
        let message = app.store().messages(&[id]).await?.remove(&id).ok_or_else(missing::<Letter>)?;
        let headers = self.headers.as_ref().map(|headers| headers.read(&message)).transpose();
        let properties = self.properties.take().map(PropertyChanges::read).transpose();
        let edits = WebError::both(headers, properties);
        let (body, (headers, properties)) = WebError::both(self.body(app, letter, &payloads).await, edits)?;
        let (headers, properties) = (headers.unwrap_or_default(), properties.unwrap_or_default());
        if repeat_body(&message, &headers) {
            // So would this answer.
            Visitor::need(Right::Payload)?;
        }
        let edit = Edit { body, headers, properties };
        if app.triage.changes_nothing(&message, &edit) {
            let given = self.json.as_deref().map(RawValue::get).or(self.text.as_deref());
            check_may_be_same(app, id, given).await?;
        }
        Ok(Some(app.triage.with_consequences(&message, edit)))
    }

    /// The fields by which it brings another body.
    fn payloads(&self) -> Vec<&'static str> {
        let given =
            [("json", self.json.is_some()), ("text", self.text.is_some()), ("body_base64", self.body_base64.is_some())];
        given.into_iter().filter(|(_, is_given)| *is_given).map(|(field, _)| field).collect()
    }

    async fn body(&self, app: &AppState, letter: Letter, payloads: &[&str]) -> Result<Option<Vec<u8>>, WebError> {
        if payloads.len() > 1 {
            let one = |field: &&str| {
                WebError::field(field, FaultCode::Excluded, "body_base64, json, text: it takes one of them")
            };
            return WebError::all(payloads.iter().map(one)).map_or(Ok(None), Err);
        }
        match (&self.json, &self.text) {
            (Some(json), _) => edited_payload(app, letter, json.get().to_owned(), EditedAs::Json).await.map(Some),
            (None, Some(text)) => edited_payload(app, letter, text.clone(), EditedAs::Text).await.map(Some),
            (None, None) => edited_body(self.body_base64.as_deref()),
        }
    }
}

/// Whether one of these headers is withheld with the body.
fn repeat_body(message: &Message, headers: &[HeaderEdit]) -> bool {
    let mut repeating = failure_conventions::repeats_body(&message.headers);
    repeating.any(|name| headers.iter().any(|header| header.name() == name))
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
    (status = NO_CONTENT, description = "It is scheduled; the token may not read the letter"),
    (status = CONFLICT, body = Problem, content_type = "application/problem+json",
        description = "Not possible in its current status"),
))]
pub async fn retry(
    State(app): State<Arc<AppState>>,
    user: CurrentUser,
    PathId(id): PathId<Letter>,
    JsonBody(order): JsonBody<Retry>,
) -> Result<Response, WebError> {
    let RetryOrder { edit, delay, queue } = order;
    let Some(edit) = edit else { return carry_out(&app, &user, id, &[Command::Retry { delay, queue }]).await };
    let edited = app.triage.retry_edited(id, &edit, delay, queue.as_deref(), &user).await?;
    let copy = edited.map_err(|refusal| reply::refused(&refusal))?;
    summary(&app, copy).await
}

/// Why it is discarded.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Discard {
    /// Kept as the note of the letter.
    #[schema(max_length = 8000)]
    note: Option<String>,
}

impl CallBody for Discard {
    /// Its note.
    type Read = Option<String>;

    async fn read(self, _: &Call<'_>) -> Result<Option<String>, WebError> {
        self.note.as_deref().map(read_note).transpose()
    }
}

/// Set it aside for good; it can be undone until retention removes it
#[utoipa::path(post, path = "/letters/{id}/discard", operation_id = "discard_letter", tag = "letters",
    params(PathId<Letter>), request_body = Discard, responses(
    (status = OK, body = LetterItem),
    (status = NO_CONTENT, description = "It is done; the token may not read the letter"),
    (status = CONFLICT, body = Problem, content_type = "application/problem+json",
        description = "Not possible in its current status"),
))]
pub async fn discard(
    State(app): State<Arc<AppState>>,
    user: CurrentUser,
    PathId(id): PathId<Letter>,
    JsonBody(note): JsonBody<Discard>,
) -> Result<Response, WebError> {
    carry_out(&app, &user, id, &[Command::Discard { note }]).await
}

/// Takes nothing.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Nothing {}

impl CallBody for Nothing {
    type Read = ();

    async fn read(self, _: &Call<'_>) -> Result<(), WebError> {
        Ok(())
    }
}

/// Undo a discard, or cancel a scheduled retry
#[utoipa::path(post, path = "/letters/{id}/reopen", operation_id = "reopen_letter", tag = "letters",
    params(PathId<Letter>), request_body(content = Nothing, description = "May be left out"), responses(
    (status = OK, body = LetterItem),
    (status = NO_CONTENT, description = "It is done; the token may not read the letter"),
    (status = CONFLICT, body = Problem, content_type = "application/problem+json",
        description = "Not possible in its current status"),
))]
pub async fn reopen(
    State(app): State<Arc<AppState>>,
    user: CurrentUser,
    PathId(id): PathId<Letter>,
    JsonBody(()): JsonBody<Nothing>,
) -> Result<Response, WebError> {
    carry_out(&app, &user, id, &[Command::Reopen]).await
}

async fn carry_out(app: &AppState, by: &Actor, id: LetterId, commands: &[Command]) -> Result<Response, WebError> {
    reply::done_or_refused(&app.triage.act_on_one(id, commands, &Expected::Anything, by).await?)?;
    summary(app, id).await
}
