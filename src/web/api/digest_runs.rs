//! `/api/v1/digests/runs`: the digests that were made.

use std::sync::Arc;

use axum::{Json, extract::State};
use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;

use super::{digest_report::Report, words};
use crate::{
    domain::notification::NotificationState,
    store::{DigestPlace, DigestRecord},
    web::{
        error::WebError,
        input::{
            Query,
            path_id::{PathId, missing},
        },
        query::{DigestQuery, Listed, listed_page},
        state::AppState,
        view::time::timestamp,
    },
};

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

/// One page of them.
#[derive(Serialize, ToSchema)]
pub struct DigestRuns {
    items: Vec<DigestRun>,
    /// Where the next page begins; null on the last one.
    next_cursor: Option<String>,
}

/// A digest that was made, and what it says.
#[derive(Serialize, ToSchema)]
pub struct FullDigestRun {
    #[serde(flatten)]
    run: DigestRun,
    report: Report,
}

/// The digests that were made in the last 90 days, the newest first
#[utoipa::path(get, path = "/digests/runs", operation_id = "list_digest_runs", tag = "digests", params(DigestQuery),
    responses((status = OK, body = DigestRuns)))]
pub async fn runs(
    State(app): State<Arc<AppState>>,
    Query(query): Query<DigestQuery>,
) -> Result<Json<DigestRuns>, WebError> {
    let (before, limit) = (query.place()?, query.limit());
    let found = app.store().digests(query.name.as_deref(), before, limit + 1).await?;
    let (found, last) = listed_page(found, limit);
    let next_cursor = query.next_cursor(last.map(|last| DigestPlace { made_at: last.made_at, id: last.id }));
    Ok(Json(DigestRuns { items: found.into_iter().map(DigestRun::from).collect(), next_cursor }))
}

/// One digest as it was made
#[utoipa::path(get, path = "/digests/runs/{id}", operation_id = "get_digest_run", tag = "digests",
    params(PathId<DigestRecord>), responses((status = OK, body = FullDigestRun)))]
pub async fn run(
    State(app): State<Arc<AppState>>,
    PathId(id): PathId<DigestRecord>,
) -> Result<Json<FullDigestRun>, WebError> {
    let (record, report) = app.store().digest(id).await?.ok_or_else(missing::<DigestRecord>)?;
    Ok(Json(FullDigestRun { run: record.into(), report: Report::from(&report) }))
}
