//! `POST /api/v1/actions`: one action on many letters.

use std::{collections::BTreeSet, sync::Arc};

use axum::{
    Json,
    extract::State,
    http::{StatusCode, header},
    response::{IntoResponse, Response},
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;
use uuid::Uuid;

use super::{
    commands::{read_delay, read_importance, read_queue},
    reply,
};
use crate::{
    domain::{actor::Actor, command::Command, letter::LetterId},
    web::{
        Office,
        error::{Problem, WebError},
        input::JsonBody,
    },
};

/// What to do, and with which letters.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct BulkAction {
    /// `retry`, `discard`, `reopen` or `importance`
    action: String,
    ids: Option<Vec<Uuid>>,
    /// For `retry`: `30s`, `10m`, `2h`; at once if left out.
    delay: Option<String>,
    /// For `retry`: where to; if left out, where a waiting retry goes already, or else the queue each failed in.
    queue: Option<String>,
    /// For `importance`: which one.
    importance: Option<String>,
    /// For `discard`: why.
    note: Option<String>,
    #[schema(ignore)]
    filter: Option<Value>,
    #[schema(ignore)]
    until: Option<Value>,
    #[schema(ignore)]
    rate: Option<Value>,
    #[schema(ignore)]
    canary: Option<Value>,
}

/// The job that carries it out.
#[derive(Serialize, ToSchema)]
pub struct Started {
    job: Uuid,
}

/// Do one thing with many letters; the job tells what came of it
#[utoipa::path(post, path = "/actions", tag = "actions", request_body = BulkAction, responses(
    (status = ACCEPTED, body = Started),
    (status = UNPROCESSABLE_ENTITY, body = Problem, content_type = "application/problem+json"),
))]
pub async fn start(
    State(office): State<Arc<Office>>,
    JsonBody(action): JsonBody<BulkAction>,
) -> Result<Response, WebError> {
    action.refuse_what_is_to_come()?;
    let ids = action.letters()?;
    let command = action.command(&office)?;
    let job = office.triage.act_as_job(&ids, &command, &Actor::local()).await?;
    let place = [(header::LOCATION, format!("/api/v1/jobs/{job}"))];
    Ok((StatusCode::ACCEPTED, place, Json(Started { job })).into_response())
}

impl BulkAction {
    fn refuse_what_is_to_come(&self) -> Result<(), WebError> {
        let fields = [("filter", &self.filter), ("until", &self.until), ("rate", &self.rate), ("canary", &self.canary)];
        match fields.into_iter().find(|(_, value)| value.is_some()) {
            Some((field, _)) => Err(reply::not_available_yet(field)),
            None => Ok(()),
        }
    }

    /// Each letter once, however often it is named.
    fn letters(&self) -> Result<Vec<LetterId>, WebError> {
        let ids: BTreeSet<_> = self.ids.iter().flatten().copied().map(LetterId::from_uuid).collect();
        if ids.is_empty() {
            return Err(WebError::unprocessable("ids: it takes at least one id of a letter"));
        }
        Ok(ids.into_iter().collect())
    }

    fn command(&self, office: &Office) -> Result<Command, WebError> {
        self.refuse_what_does_not_belong()?;
        match self.action.as_str() {
            "retry" => Ok(Command::Retry {
                delay: read_delay(office, self.delay.as_deref())?,
                queue: read_queue(self.queue.clone())?,
            }),
            "discard" => Ok(Command::Discard { note: self.note.clone() }),
            "reopen" => Ok(Command::Reopen),
            "importance" => {
                let missing = || WebError::unprocessable("importance: this action needs it");
                read_importance(self.importance.as_deref().ok_or_else(missing)?).map(Command::SetImportance)
            }
            other => Err(WebError::unprocessable(format!(
                "action: {other:?} is not possible; it takes one of retry, discard, reopen, importance"
            ))),
        }
    }

    /// A field that would be ignored is more likely a mistake than a wish.
    fn refuse_what_does_not_belong(&self) -> Result<(), WebError> {
        let fields = [
            ("delay", self.delay.is_some(), "retry"),
            ("queue", self.queue.is_some(), "retry"),
            ("importance", self.importance.is_some(), "importance"),
            ("note", self.note.is_some(), "discard"),
        ];
        match fields.into_iter().find(|(_, given, action)| *given && *action != self.action) {
            Some((field, _, action)) => Err(WebError::unprocessable(format!("{field}: it goes only with {action}"))),
            None => Ok(()),
        }
    }
}
