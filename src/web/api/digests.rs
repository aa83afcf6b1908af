//! `/api/v1/digests`: what is sent every so often.

use std::sync::Arc;

use amqp_message::time::Timestamp;
use axum::{Json, extract::State, http::StatusCode, response::IntoResponse};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;
use uuid::Uuid;

use super::{digest_report::Report, reply::made_at};
use crate::{
    services::digests::Plan,
    web::{
        error::{WebError, codes::FaultCode},
        input::{
            Query,
            call_body::{Call, CallBody, JsonBody},
        },
        query::{Page, Paging},
        state::AppState,
        view::{policy::typed_duration, time::timestamp},
        visitor::CurrentUser,
    },
};

/// The digests of the configuration.
#[derive(Serialize, ToSchema)]
pub struct DigestList {
    items: Vec<DigestItem>,
    /// Where the next page begins; null on the last one.
    next_cursor: Option<String>,
    /// Digests on all pages.
    total: usize,
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

/// The digests, and when they come next
#[utoipa::path(get, path = "/digests", operation_id = "list_digests", tag = "digests", params(Paging),
    responses((status = OK, body = DigestList)))]
pub async fn digests(
    State(app): State<Arc<AppState>>,
    Query(paging): Query<Paging>,
) -> Result<Json<DigestList>, WebError> {
    let now = app.clock.now();
    let plans = app.digests.plans();
    let all: Vec<&Plan> = plans.iter().collect();
    let Page { items, next_cursor, total } = paging.page("digests", all, |plan| plan.name.clone())?;
    let items = items.into_iter().map(|plan| DigestItem::new(plan, now)).collect();
    Ok(Json(DigestList { items, next_cursor, total }))
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
        plan.map_err(|takes| WebError::field("name", code, takes))
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

/// Send a digest now, beside its schedule; `GET digests/runs/{id}` shows the result
#[utoipa::path(post, path = "/digests/send", operation_id = "send_digest", tag = "digests", request_body = WhichDigest, responses(
    (status = ACCEPTED, body = DigestSent),
))]
pub async fn send(
    State(app): State<Arc<AppState>>,
    user: CurrentUser,
    JsonBody(plan): JsonBody<WhichDigest>,
) -> Result<impl IntoResponse, WebError> {
    let id = app.digests.send_now(&plan, &user).await?;
    let (_, place, body) = made_at("digests/runs", id, Json(DigestSent { id }));
    Ok((StatusCode::ACCEPTED, place, body))
}
