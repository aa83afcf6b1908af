//! `/api/v1/digests`: what is sent every so often.

use std::sync::Arc;

use amqp_message::time::Timestamp;
use axum::{Json, extract::State, http::StatusCode};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;
use uuid::Uuid;

use super::{digest_report::Report, words};
use crate::{
    domain::notification::NotificationState,
    services::digests::Plan,
    store::DigestRecord,
    web::{
        AppState,
        codes::FaultCode,
        error::WebError,
        call_body::{Call, CallBody, JsonBody},
        security::CurrentUser,
        view::{policy::typed_duration, time::timestamp},
    },
};

/// Digests of the history.
const HISTORY: usize = 100;

/// The digests of the configuration, and what was sent.
#[derive(Serialize, ToSchema)]
pub struct DigestList {
    items: Vec<DigestItem>,
    /// The last ones, newest first.
    history: Vec<DigestRun>,
}

/// A digest of the configuration.
#[derive(Serialize, ToSchema)]
pub struct DigestItem {
    name: String,
    /// In words.
    schedule: String,
    timezone: String,
    /// Null where it never comes again.
    #[schema(format = DateTime)]
    next_at: Option<String>,
    /// Where it goes, without anything secret; null while there is no Slack, and nothing is sent.
    destination: Option<String>,
    /// It is about letters of these.
    importance: Vec<&'static str>,
    /// Names or globs; none: all.
    queues: Vec<String>,
    /// A letter that is open for longer, in a group that nothing happens to, is called stuck.
    stuck_after: String,
    /// Whether it is sent when there is nothing to report, too.
    all_quiet: bool,
}

impl DigestItem {
    fn new(plan: &Plan, now: Timestamp) -> Self {
        Self {
            name: plan.name.clone(),
            schedule: plan.schedule.describe(),
            timezone: plan.schedule.zone().to_string(),
            next_at: plan.schedule.next_after(now).map(timestamp),
            destination: plan.destination.as_ref().map(ToString::to_string),
            importance: plan.importances.iter().map(|importance| importance.as_str()).collect(),
            queues: plan.queues.clone(),
            stuck_after: typed_duration(plan.options.stuck_after),
            all_quiet: plan.options.all_quiet,
        }
    }
}

/// A digest that was made.
#[derive(Serialize, ToSchema)]
pub struct DigestRun {
    id: Uuid,
    name: String,
    /// When it was due; null where somebody asked for it.
    #[schema(format = DateTime)]
    slot: Option<String>,
    #[schema(format = DateTime)]
    made_at: String,
    made_by: String,
    /// It says what happened from then on; null for the first one.
    #[schema(format = DateTime)]
    since: Option<String>,
    #[schema(value_type = words::DigestState)]
    state: &'static str,
    /// How often it was tried to send it.
    attempts: u32,
    /// When it is tried next; null unless it waits.
    #[schema(format = DateTime)]
    next_try_at: Option<String>,
    #[schema(format = DateTime)]
    sent_at: Option<String>,
    /// Why it was refused, or the last try failed.
    problem: Option<String>,
}

impl From<DigestRecord> for DigestRun {
    fn from(record: DigestRecord) -> Self {
        let problem = record.problem().map(str::to_owned);
        let state = match &record.sending {
            Some(sending) => sending.state.as_str(),
            None if record.is_quiet => "quiet",
            None => NotificationState::Delivered.as_str(),
        };
        let in_state = |state| record.sending.as_ref().filter(|sending| sending.state == state);
        Self {
            id: record.id,
            slot: record.slot.map(timestamp),
            made_at: timestamp(record.made_at),
            made_by: record.made_by.as_str().to_owned(),
            since: record.since.map(timestamp),
            state,
            attempts: record.sending.as_ref().map_or(0, |sending| sending.attempts),
            next_try_at: in_state(NotificationState::Waiting).map(|sending| timestamp(sending.due_at)),
            sent_at: in_state(NotificationState::Delivered).and_then(|sending| sending.ended_at).map(timestamp),
            problem,
            name: record.name,
        }
    }
}

/// The digests, when they come next, and what was sent
#[utoipa::path(get, path = "/digests", operation_id = "list_digests", tag = "digests", responses((status = OK, body = DigestList)))]
pub async fn digests(State(app): State<Arc<AppState>>) -> Result<Json<DigestList>, WebError> {
    let now = app.clock.now();
    let history = app.store().digests(None, HISTORY).await?;
    Ok(Json(DigestList {
        items: app.digests.plans().iter().map(|plan| DigestItem::new(plan, now)).collect(),
        history: history.into_iter().map(DigestRun::from).collect(),
    }))
}

/// Which digest is meant.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct WhichDigest {
    /// May be left out where there is only one.
    name: Option<String>,
}

impl CallBody for WhichDigest {
    type Read = Plan;

    async fn read(self, call: &Call<'_>) -> Result<Plan, WebError> {
        let plan = call.app.digests.plan(self.name.as_deref());
        let code = if self.name.is_none() { FaultCode::Required } else { FaultCode::Choice };
        plan.cloned().map_err(|takes| WebError::field("name", code, takes))
    }
}

/// What would be sent now.
#[derive(Serialize, ToSchema)]
pub struct DigestPreview {
    name: String,
    /// Whether it would be sent by its schedule: there is something to report, or it is sent all the same.
    would_be_sent: bool,
    report: Report,
    /// In Slack's Block Kit.
    #[schema(value_type = Object)]
    message: Value,
}

/// What a digest would say now; nothing is sent
#[utoipa::path(post, path = "/digests/preview", operation_id = "preview_digest", tag = "digests", request_body = WhichDigest, responses(
    (status = OK, body = DigestPreview),
))]
pub async fn preview(
    State(app): State<Arc<AppState>>,
    JsonBody(plan): JsonBody<WhichDigest>,
) -> Result<Json<DigestPreview>, WebError> {
    let made = app.digests.preview(&plan, &app.store()).await?;
    Ok(Json(DigestPreview {
        name: plan.name.clone(),
        would_be_sent: plan.destination.is_some() && made.report.is_worth_sending(),
        report: Report::from(&made.report),
        message: made.message,
    }))
}

/// A digest that is on its way.
#[derive(Serialize, ToSchema)]
pub struct DigestSent {
    id: Uuid,
}

/// Send a digest now, beside its schedule; `GET digests` shows the result
#[utoipa::path(post, path = "/digests/send", operation_id = "send_digest", tag = "digests", request_body = WhichDigest, responses(
    (status = ACCEPTED, body = DigestSent),
))]
pub async fn send(
    State(app): State<Arc<AppState>>,
    user: CurrentUser,
    JsonBody(plan): JsonBody<WhichDigest>,
) -> Result<(StatusCode, Json<DigestSent>), WebError> {
    let id = app.digests.send_now(&plan, &user).await?;
    Ok((StatusCode::ACCEPTED, Json(DigestSent { id })))
}
