//! `GET /api/v1/jobs/{id}`, and how to stop one.

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

use crate::{
    domain::job::Job,
    web::{
        AppState, background,
        error::WebError,
        path_id::{PathId, missing},
        problem::Problem,
        security::CurrentUser,
    },
};

/// How far an action on many letters has come.
#[derive(Serialize, ToSchema)]
pub struct JobStatus {
    id: Uuid,
    action: String,
    /// `queued`, `running`, `done`, `failed` (some of it could not be done) or `cancelled`
    state: &'static str,
    total: u64,
    done: u64,
    failed: u64,
    /// Why letters were refused.
    errors: Vec<String>,
}

impl From<Job> for JobStatus {
    fn from(job: Job) -> Self {
        Self {
            id: job.id,
            action: job.action,
            state: job.state.as_str(),
            total: job.total,
            done: job.done,
            failed: job.failed,
            errors: job.errors,
        }
    }
}

/// How far a job has come
#[utoipa::path(get, path = "/jobs/{id}", tag = "actions",
    params(PathId<Job>), responses(
    (status = OK, body = JobStatus),
    (status = NOT_FOUND, body = Problem, content_type = "application/problem+json"),
))]
pub async fn job(State(app): State<Arc<AppState>>, PathId(id): PathId<Job>) -> Result<Json<JobStatus>, WebError> {
    find(&app, id).await.map(Json)
}

/// Stop a job; what it has done so far stays done
#[utoipa::path(post, path = "/jobs/{id}/cancel", tag = "actions",
    params(PathId<Job>), responses(
    (status = OK, body = JobStatus),
    (status = NOT_FOUND, body = Problem, content_type = "application/problem+json"),
    (status = CONFLICT, body = Problem, content_type = "application/problem+json", description = "It has ended"),
))]
pub async fn cancel(
    State(app): State<Arc<AppState>>,
    user: CurrentUser,
    PathId(id): PathId<Job>,
) -> Result<Json<JobStatus>, WebError> {
    let job = find(&app, id).await?;
    if !app.triage.cancel(job.id, &user).await? {
        return Err(WebError::conflict(format!("The job has ended: it is {}.", job.state)));
    }
    find(&app, id).await.map(Json)
}

/// Undo a job that has ended
///
/// What it discarded is reopened, and what it will retry later is open again, unless somebody has done something else with
/// it since. The answer names the job that does it.
#[utoipa::path(post, path = "/jobs/{id}/undo", tag = "actions",
    params(PathId<Job>), responses(
    (status = ACCEPTED, body = Started),
    (status = NOT_FOUND, body = Problem, content_type = "application/problem+json"),
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

async fn find(app: &AppState, id: Uuid) -> Result<JobStatus, WebError> {
    app.store.job(id).await?.map(JobStatus::from).ok_or_else(missing::<Job>)
}
