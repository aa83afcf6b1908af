//! `POST /api/v1/actions/preview`: what an action on many letters would meet.

use std::sync::Arc;

use axum::{Json, extract::State};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{
    bulk::{BulkAction, BulkOrder},
    edit_preview::EditPreview,
    group_item::pending_since,
    words,
};
use crate::{
    domain::{
        command::Command,
        job::Bulk,
        preflight::{Preflight, TargetQueue},
    },
    web::{
        error::{WebError, codes::FaultCode},
        input::call_body::{Call, CallBody, JsonBody},
        state::AppState,
        visitor::CurrentUser,
    },
};

/// What an action would meet at this moment.
#[derive(Serialize, ToSchema)]
pub struct ActionPreview {
    /// Letters that are meant.
    total: u64,
    /// Of a retry: letters that will be refused.
    refused: Vec<Refused>,
    /// Of a retry: the queues that letters go to, those with most letters first; twenty at most.
    queues: Vec<PreviewedQueue>,
    /// Of a retry: of how many earlier retries of the same error groups, or else queues and types, the outcome is known,
    earlier_retries: u64,
    /// and how many of these retries failed again.
    failed_again: u64,
    /// What is best done.
    #[schema(value_type = Option<words::Suggestion>)]
    suggestion: Option<&'static str>,
    /// Why; empty where there is nothing to say.
    reason: String,
    /// With `merge_patch`: what it makes of the first letters.
    edit: Option<EditPreview>,
}

/// Letters that will be refused.
#[derive(Serialize, ToSchema)]
pub struct Refused {
    why: String,
    letters: u64,
}

impl From<(String, u64)> for Refused {
    fn from((why, letters): (String, u64)) -> Self {
        Self { why, letters }
    }
}

/// A queue that letters go to. What is null is not known: its broker is not watched, or did not tell.
#[derive(Serialize, ToSchema)]
pub struct PreviewedQueue {
    broker: String,
    name: String,
    letters: u64,
    consumers: Option<u64>,
    messages: Option<u64>,
    max_length: Option<u64>,
    /// Why what is sent there is not processed.
    trouble: Option<String>,
}

impl From<&TargetQueue> for PreviewedQueue {
    fn from(queue: &TargetQueue) -> Self {
        let level = queue.level.as_ref();
        Self {
            broker: queue.broker.clone(),
            name: queue.name.clone(),
            letters: queue.letters,
            consumers: level.and_then(|level| level.known_consumers()),
            messages: level.and_then(|level| level.known_messages()),
            max_length: level.and_then(|level| level.max_length),
            trouble: queue.trouble(),
        }
    }
}

/// An action on all that a filter lets through.
#[derive(Deserialize, ToSchema)]
#[serde(transparent)]
pub struct ActionOfFilter(BulkAction);

impl CallBody for ActionOfFilter {
    type Read = Bulk;

    async fn read(self, call: &Call<'_>) -> Result<Bulk, WebError> {
        let missing = || WebError::field("filter", FaultCode::Required, "it takes a filter");
        let has_filter = self.0.has_filter().then_some(()).ok_or_else(missing);
        match WebError::both(has_filter, self.0.read(call).await)? {
            ((), BulkOrder::All(bulk)) => Ok(*bulk),
            ((), BulkOrder::Letters(..)) => Err(missing()),
        }
    }
}

/// Say what an action on all that a filter lets through would meet; nothing is done
///
/// It takes what `POST actions` takes with a `filter`, and refuses what that would refuse.
#[utoipa::path(post, path = "/actions/preview", operation_id = "preview_action", tag = "actions",
    request_body = BulkAction, responses((status = OK, body = ActionPreview)))]
pub async fn preview(
    State(app): State<Arc<AppState>>,
    user: CurrentUser,
    JsonBody(bulk): JsonBody<ActionOfFilter>,
) -> Result<Json<ActionPreview>, WebError> {
    let times = [bulk.until, pending_since(&app)];
    let preflight = app.triage.preflight(&bulk.filter, times, bulk.command.queue(), &user).await?;
    let Command::Retry { .. } = bulk.command else {
        let Preflight { total, .. } = preflight;
        let reason = String::new();
        let (refused, queues) = (Vec::new(), Vec::new());
        return Ok(Json(ActionPreview {
            total,
            refused,
            queues,
            earlier_retries: 0,
            failed_again: 0,
            suggestion: None,
            reason,
            edit: None,
        }));
    };
    let edit = match &bulk.edit {
        Some(patch) => {
            let queue = bulk.command.queue();
            Some(EditPreview::new(app.triage.preview_edit(&bulk.filter, bulk.until, patch, queue, &user).await?))
        }
        None => None,
    };
    let advice = preflight.advice();
    let refused = preflight.refused.into_iter().map(Refused::from);
    Ok(Json(ActionPreview {
        total: preflight.total,
        refused: refused.collect(),
        queues: preflight.queues.iter().map(PreviewedQueue::from).collect(),
        earlier_retries: preflight.ended,
        failed_again: preflight.failed_again,
        suggestion: Some(advice.way.as_str()),
        reason: advice.why,
        edit,
    }))
}
