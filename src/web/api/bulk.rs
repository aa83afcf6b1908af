//! `POST /api/v1/actions`: one action on many letters.

use std::{collections::BTreeSet, sync::Arc};

use amqp_message::time::Timestamp;
use axum::{extract::State, response::Response};
use serde::Deserialize;
use utoipa::ToSchema;
use uuid::Uuid;

use super::{
    bulk_filter::BulkFilter,
    jobs::{Started, started},
    words,
};
use crate::{
    domain::{actor::Actor, command::Command, job::Bulk, letter::LetterId},
    web::{
        AppState, background,
        codes::FaultCode,
        error::WebError,
        input::JsonBody,
        order::{Action, Order},
        pacing::{CanaryOrder, PacingOrder},
        query::When,
        search,
        security::CurrentUser,
    },
};

/// What to do, and with which letters.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct BulkAction {
    #[schema(value_type = words::BulkCommand)]
    action: String,
    /// These letters, or those of `filter`.
    #[schema(min_items = 1)]
    ids: Option<Vec<Uuid>>,
    filter: Option<BulkFilter>,
    /// With `filter`: what was received later is left alone. RFC 3339, or how long ago (`5m`); the moment of asking if left
    /// out, and never later than that.
    #[schema(format = "point-in-time", example = "2026-11-21T10:00:00Z")]
    until: Option<String>,
    /// For `retry`: `30s`, `10m`, `2h`, at most a year; at once if left out.
    #[schema(format = "delay", example = "10m")]
    delay: Option<String>,
    /// For `retry`: where to; if left out, where a waiting retry goes already, or else the queue each failed in.
    #[schema(min_length = 1, max_length = 255)]
    queue: Option<String>,
    /// For `importance`: which one.
    #[schema(value_type = Option<words::Importance>)]
    importance: Option<String>,
    /// For `retry` with `filter`: so many messages a second.
    #[schema(minimum = 1, maximum = 10_000, example = 20)]
    rate: Option<u64>,
    /// For `retry` with `filter`, instead of `rate`: sent evenly over so long, at most 30 days.
    #[schema(format = "delay", example = "1h")]
    spread: Option<String>,
    /// For `retry` with `filter`: the first few go alone, and the rest only if these do well.
    canary: Option<CanaryOrder>,
    /// For `discard`: why.
    #[schema(max_length = 8000)]
    note: Option<String>,
}

/// Do one thing with many letters; the job reports the result
///
/// A filter is frozen at the moment of asking: what comes in later, or comes back later, is left alone. It is worked at in
/// the background, goes on after a restart, and can be cancelled.
///
/// A retry can be held back: by `rate` or `spread`, by `canary`, or by one of those and `canary`. It can then be paused, and
/// its letters stay open until it is their turn.
#[utoipa::path(post, path = "/actions", operation_id = "start_action", tag = "actions", request_body = BulkAction, responses(
    (status = ACCEPTED, body = Started),
))]
pub async fn start(
    State(app): State<Arc<AppState>>,
    user: CurrentUser,
    JsonBody(action): JsonBody<BulkAction>,
) -> Result<Response, WebError> {
    let now = app.clock.now();
    let command = action.command(&app)?;
    let job = match &action.filter {
        None => app.triage.act_as_job(&action.letters()?, &command, &user).await?,
        Some(filter) => background::begin(&app, action.bulk(filter, command, &user, now)?).await?.job,
    };
    Ok(started(job))
}

impl BulkAction {
    /// The same as something to be done with all that a filter lets through.
    pub(super) fn of_filter(&self, app: &AppState, by: &Actor) -> Result<Bulk, WebError> {
        let missing = || WebError::field("filter", FaultCode::Required, "it takes a filter");
        let command = self.command(app)?;
        self.bulk(self.filter.as_ref().ok_or_else(missing)?, command, by, app.clock.now())
    }

    /// What is to be done with all that the filter lets through.
    fn bulk(&self, filter: &BulkFilter, command: Command, by: &Actor, now: Timestamp) -> Result<Bulk, WebError> {
        if self.ids.is_some() {
            return Err(WebError::field("filter", FaultCode::Excluded, "ids, filter: it takes one of them"));
        }
        let until = self.until.as_deref().map(str::parse::<When>).transpose();
        let until = until.map_err(|why| WebError::field("until", FaultCode::Format, why))?;
        let until = until.map_or(now, |until| until.resolve(now).min(now));
        let (filter, pacing) = (filter.read(&command, now)?, self.pacing().read()?);
        search::refuse_blind(&filter, by)?;
        Ok(Bulk { filter, until, left: None, command, pacing, by: by.clone() })
    }

    fn pacing(&self) -> PacingOrder {
        PacingOrder { rate: self.rate, spread: self.spread.clone(), canary: self.canary.clone() }
    }

    /// What it is held back by, which only a retry of all that a filter lets through is.
    fn check_pacing(&self) -> Result<(), WebError> {
        let given =
            [("rate", self.rate.is_some()), ("spread", self.spread.is_some()), ("canary", self.canary.is_some())];
        let Some((field, _)) = given.into_iter().find(|(_, is_given)| *is_given) else { return Ok(()) };
        match (&*self.action, &self.filter) {
            ("retry", Some(_)) => self.pacing().read().map(drop),
            ("retry", None) => Err(WebError::field(field, FaultCode::Excluded, "it goes only with filter")),
            _ => Err(WebError::field(field, FaultCode::Excluded, "it goes only with retry")),
        }
    }

    /// Each letter once, however often it is named.
    fn letters(&self) -> Result<Vec<LetterId>, WebError> {
        if self.until.is_some() {
            return Err(WebError::field("until", FaultCode::Excluded, "it goes only with filter"));
        }
        let ids: BTreeSet<_> = self.ids.iter().flatten().copied().map(LetterId::from_uuid).collect();
        if ids.is_empty() {
            return Err(WebError::field("ids", FaultCode::Required, "it takes at least one id of a letter; or filter"));
        }
        Ok(ids.into_iter().collect())
    }

    fn command(&self, app: &AppState) -> Result<Command, WebError> {
        let order = Order {
            action: self.action.clone(),
            delay: self.delay.clone(),
            queue: self.queue.clone(),
            importance: self.importance.clone(),
            note: self.note.clone(),
            message_type: None,
        };
        order.refuse_what_does_not_belong()?;
        self.check_pacing()?;
        order.command(Action::OF_MANY, app)
    }
}
