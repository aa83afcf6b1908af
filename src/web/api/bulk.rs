//! `POST /api/v1/actions`: one action on many letters.

use std::{collections::BTreeSet, sync::Arc};

use amqp_message::time::Timestamp;
use axum::{extract::State, response::Response};
use payload_codec::json::MergePatch;
use serde::Deserialize;
use serde_json::value::RawValue;
use utoipa::ToSchema;
use uuid::Uuid;

use super::{
    bulk_filter::BulkFilter,
    change::given,
    jobs::{Started, started},
    words,
};
use crate::{
    domain::{command::Command, job::Bulk, letter::LetterId},
    web::{
        error::{Gathered, WebError, codes::FaultCode},
        input::call_body::{Call, CallBody, JsonBody},
        orders::{
            letters::{Action, Order, read_merge_patch},
            pacing::{CanaryOrder, PacingOrder},
        },
        query::When,
        server::background,
        shared::search,
        state::AppState,
        visitor::CurrentUser,
    },
};

/// Letters that are edited in one transaction, if they are named.
const MOST_EDITED: usize = 1_000;

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
    /// For `importance`: which one; `null` gives them back to the rules, which are tried again a moment later.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<words::Importance>)]
    importance: Option<Option<String>>,
    /// For `retry` with `filter`: so many messages a second.
    #[schema(minimum = 1, maximum = 10_000, example = 20)]
    rate: Option<u64>,
    /// For `retry` with `filter`, instead of `rate`: sent evenly over so long, at most 30 days.
    #[schema(format = "delay", example = "1h")]
    spread: Option<String>,
    /// For `retry` with `filter`: the first few go alone, and the rest only if these do well.
    canary: Option<CanaryOrder>,
    /// For `retry`: one edit for all, a JSON merge patch (RFC 7396) of the payload of each letter, as `GET letters/{id}` shows
    /// it in `payload.json`. What it makes of it is written back by its type and wrapped as it came, and an edited copy is
    /// sent in the place of the letter. Letters that cannot be edited so are refused. With `ids`, of a thousand letters at most.
    #[schema(value_type = Option<serde_json::Value>, example = json!({"currency": "EUR", "debug": null}))]
    merge_patch: Option<Box<RawValue>>,
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
    JsonBody(order): JsonBody<BulkAction>,
) -> Result<Response, WebError> {
    let job = match order {
        BulkOrder::Letters(ids, command, edit) => app.triage.act_as_job(&ids, &command, edit.as_ref(), &user).await?,
        BulkOrder::All(bulk) => background::begin(&app, *bulk).await?.job,
    };
    Ok(started(job))
}

/// One thing done with these letters, or with all that a filter lets through.
pub enum BulkOrder {
    Letters(Vec<LetterId>, Command, Option<MergePatch>),
    All(Box<Bulk>),
}

impl CallBody for BulkAction {
    type Read = BulkOrder;

    async fn read(self, call: &Call<'_>) -> Result<BulkOrder, WebError> {
        let (now, by) = (call.app.clock.now(), call.user().await?);
        let order = self.order();
        let belongs = WebError::both(order.refuse_what_does_not_belong(), self.check_pacing_belongs());
        let (belongs, edit) = match WebError::both(belongs, self.edit()) {
            Ok((_, edit)) => (Ok(()), edit),
            Err(error) => (Err(error), None),
        };
        let command = order.command(Action::OF_MANY, call.app);
        let Some(filter) = &self.filter else {
            let letters = WebError::both(self.letters(), belongs);
            return WebError::both(command, letters).map(|(command, (ids, ()))| BulkOrder::Letters(ids, command, edit));
        };
        let filter = filter.read(command.as_ref().ok(), now);
        let filter = filter.and_then(|filter| search::refuse_blind(&filter, &by).map(|()| filter));
        let filter = WebError::both(filter, self.check_one_target());
        let limits = WebError::both(self.until(now), self.pacing().read());
        let read = WebError::both(WebError::both(command, filter), WebError::both(limits, belongs))?;
        let ((command, (filter, ())), ((until, pacing), ())) = read;
        Ok(BulkOrder::All(Box::new(Bulk { filter, until, left: None, command, edit, pacing, by })))
    }
}

impl BulkAction {
    pub(super) const fn has_filter(&self) -> bool {
        self.filter.is_some()
    }

    fn check_one_target(&self) -> Result<(), WebError> {
        let both = || WebError::field("ids", FaultCode::Excluded, "ids, filter: it takes one of them");
        self.ids.is_none().then_some(()).ok_or_else(both)
    }

    fn until(&self, now: Timestamp) -> Result<Timestamp, WebError> {
        let until = self.until.as_deref().map(str::parse::<When>).transpose();
        let until = until.map_err(|why| WebError::field("until", FaultCode::Format, why))?;
        Ok(until.map_or(now, |until| until.resolve(now).min(now)))
    }

    fn edit(&self) -> Result<Option<MergePatch>, WebError> {
        let Some(patch) = self.merge_patch.as_deref() else { return Ok(None) };
        if !matches!(&*self.action, "retry" | "") {
            return Err(WebError::field("merge_patch", FaultCode::Excluded, "it goes only with retry"));
        }
        if self.ids.as_ref().is_some_and(|ids| ids.len() > MOST_EDITED) {
            let why = format!("with merge_patch it takes {MOST_EDITED} ids at most; filter takes more");
            return Err(WebError::field("ids", FaultCode::Length, why));
        }
        read_merge_patch(patch.get()).map(Some)
    }

    fn pacing(&self) -> PacingOrder {
        PacingOrder { rate: self.rate, spread: self.spread.clone(), canary: self.canary.clone() }
    }

    /// Only a retry of all that a filter lets through is held back.
    fn check_pacing_belongs(&self) -> Result<(), WebError> {
        let given =
            [("rate", self.rate.is_some()), ("spread", self.spread.is_some()), ("canary", self.canary.is_some())];
        let why = match (&*self.action, &self.filter) {
            ("retry" | "", Some(_)) => return Ok(()),
            ("retry" | "", None) => "it goes only with filter",
            _ => "it goes only with retry",
        };
        let mut gathered = Gathered::default();
        for (field, _) in given.into_iter().filter(|(_, is_given)| *is_given) {
            gathered.add(WebError::field(field, FaultCode::Excluded, why));
        }
        gathered.end()
    }

    /// Each letter once, however often it is named.
    fn letters(&self) -> Result<Vec<LetterId>, WebError> {
        let mut gathered = Gathered::default();
        if self.until.is_some() {
            gathered.add(WebError::field("until", FaultCode::Excluded, "it goes only with filter"));
        }
        let ids: BTreeSet<_> = self.ids.iter().flatten().copied().map(LetterId::from_uuid).collect();
        if ids.is_empty() {
            let why = "it takes at least one id of a letter; or filter";
            gathered.add(WebError::field("ids", FaultCode::Required, why));
        }
        gathered.end().map(|()| ids.into_iter().collect())
    }

    fn order(&self) -> Order {
        Order {
            action: self.action.clone(),
            delay: self.delay.clone(),
            queue: self.queue.clone(),
            importance: self.importance.clone(),
            note: self.note.clone(),
            message_type: None,
        }
    }
}
