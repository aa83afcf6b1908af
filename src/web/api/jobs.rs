//! `/api/v1/jobs`: how far long work has come, and how to stop it.

use std::sync::Arc;

use axum::{
    Json,
    extract::State,
    http::{StatusCode, header},
    response::{IntoResponse, Response},
};
use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;

use super::words;
use crate::{
    domain::job::{Job, JobPlace, JobRecord},
    web::{
        AppState, background,
        error::WebError,
        input::Query,
        path_id::{PathId, missing},
        problem::Problem,
        query::{JobQuery, Listed, listed_page},
        security::CurrentUser,
        view::time::timestamp,
    },
};

/// One page of jobs.
#[derive(Serialize, ToSchema)]
pub struct JobList {
    items: Vec<JobStatus>,
    /// Where the next page begins; null on the last one.
    next_cursor: Option<String>,
}

/// How far an action on many letters has come.
#[derive(Serialize, ToSchema)]
pub struct JobStatus {
    id: Uuid,
    /// What is done.
    #[schema(example = "retry")]
    action: String,
    #[schema(value_type = words::JobState)]
    state: &'static str,
    /// Letters it is about, as far as it is known.
    total: u64,
    /// Letters it was done with.
    done: u64,
    /// Letters it could not be done with.
    failed: u64,
    /// Why letters were refused, one sentence each: the first hundred.
    errors: Vec<String>,
    /// How many more there are.
    errors_left_out: u64,
    #[schema(format = DateTime)]
    created_at: String,
    created_by: String,
}

impl From<JobRecord> for JobStatus {
    fn from(record: JobRecord) -> Self {
        let JobRecord { job, by, at } = record;
        Self {
            id: job.id,
            errors_left_out: job.errors_left_out(),
            action: job.action,
            state: job.state.as_str(),
            total: job.total,
            done: job.done,
            failed: job.failed,
            errors: job.errors,
            created_at: timestamp(at),
            created_by: by.to_string(),
        }
    }
}

/// The jobs that are kept, the newest first
#[utoipa::path(get, path = "/jobs", operation_id = "list_jobs", tag = "actions", params(JobQuery),
    responses((status = OK, body = JobList)))]
pub async fn jobs(State(app): State<Arc<AppState>>, Query(query): Query<JobQuery>) -> Result<Json<JobList>, WebError> {
    let (before, limit) = (query.place()?, query.limit());
    let found = app.store().jobs(&query.states, before, limit + 1).await?;
    let (found, last) = listed_page(found, limit);
    let next_cursor = query.next_cursor(last.map(|last| JobPlace { at: last.at, id: last.job.id }));
    Ok(Json(JobList { items: found.into_iter().map(JobStatus::from).collect(), next_cursor }))
}

/// How far a job has come
#[utoipa::path(get, path = "/jobs/{id}", operation_id = "get_job", tag = "actions",
    params(PathId<Job>), responses((status = OK, body = JobStatus)))]
pub async fn job(State(app): State<Arc<AppState>>, PathId(id): PathId<Job>) -> Result<Json<JobStatus>, WebError> {
    Ok(Json(find(&app, id).await?.into()))
}

/// Stop a job; what it has done so far stays done
#[utoipa::path(post, path = "/jobs/{id}/cancel", operation_id = "cancel_job", tag = "actions",
    params(PathId<Job>), responses(
    (status = OK, body = JobStatus),
    (status = CONFLICT, body = Problem, content_type = "application/problem+json", description = "It has ended"),
))]
pub async fn cancel(
    State(app): State<Arc<AppState>>,
    user: CurrentUser,
    PathId(id): PathId<Job>,
) -> Result<Json<JobStatus>, WebError> {
    let JobRecord { job, .. } = find(&app, id).await?;
    if !app.triage.cancel(job.id, &user).await? {
        return Err(WebError::conflict(format!("The job has ended: it is {}.", job.state)));
    }
    Ok(Json(find(&app, id).await?.into()))
}

/// Undo a job that has ended
///
/// What it discarded is reopened, and what it will retry later is open again, unless somebody has done something else with
/// it since. The answer names the job that does it.
#[utoipa::path(post, path = "/jobs/{id}/undo", operation_id = "undo_job", tag = "actions",
    params(PathId<Job>), responses(
    (status = ACCEPTED, body = Started),
    (status = CONFLICT, body = Problem, content_type = "application/problem+json",
        description = "It has not ended, or cannot be undone"),
))]
pub async fn undo(
    State(app): State<Arc<AppState>>,
    user: CurrentUser,
    PathId(id): PathId<Job>,
) -> Result<Response, WebError> {
    find(&app, id).await?;
    let bulk = app.triage.undo(id, &user).await?.map_err(|why| WebError::conflict(why.to_string()))?;
    Ok(started(background::begin(&app, bulk).await?.job))
}

/// The job that carries it out.
#[derive(Serialize, ToSchema)]
pub struct Started {
    job: Uuid,
}

/// Says which job does it.
pub(super) fn started(job: Uuid) -> Response {
    let place = [(header::LOCATION, format!("/api/v1/jobs/{job}"))];
    (StatusCode::ACCEPTED, place, Json(Started { job })).into_response()
}

async fn find(app: &AppState, id: Uuid) -> Result<JobRecord, WebError> {
    app.store().job_record(id).await?.ok_or_else(missing::<Job>)
}
