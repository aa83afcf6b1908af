//! `/api/v1/jobs`: how far long work has come, and how to stop it.

use std::sync::Arc;

use amqp_message::time::Timestamp;
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
    domain::{
        access::Right,
        job::{Job, JobLetters, JobOutcome, JobPlace, JobRecord, NoUndo},
        pacing::{Pacing, Stage},
    },
    web::{
        error::WebError,
        input::{
            Query,
            path_id::{PathId, missing},
        },
        orders::jobs::refused,
        problem::Problem,
        query::{JobQuery, Listed, listed_page},
        server::background,
        state::AppState,
        view::{job::begins_at, silence::Silence, time::timestamp},
        visitor::{CurrentUser, Visitor},
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
    /// What it does itself. A retry is `done` as soon as all of its letters are scheduled; `outcome` says how many of them are
    /// still `to_send`.
    #[schema(value_type = words::JobState)]
    state: &'static str,
    /// Letters it is about, as far as it is known.
    total: u64,
    /// Letters it was done with.
    done: u64,
    /// Letters it could not be done with.
    failed: u64,
    /// Letters of its filter that it left alone: somebody else had dealt with them meanwhile, or they had come in again.
    skipped: u64,
    /// Why letters were refused, one sentence each: the first hundred.
    errors: Vec<String>,
    /// How many more there are.
    errors_left_out: u64,
    /// The server that carries it out, or sends some of its letters, has not been heard of for a while: another takes over
    /// then. Null otherwise.
    #[schema(format = DateTime)]
    waits_until: Option<String>,
    /// When the first of its letters is due, where it was told to wait; null once that is over.
    #[schema(format = DateTime)]
    begins_at: Option<String>,
    #[schema(format = DateTime)]
    created_at: String,
    created_by: String,
    /// The outcomes of its retries, if it retries letters.
    outcome: Option<Outcome>,
    /// Whether the payload of each letter is edited before it is sent.
    edited: bool,
    /// How a retry is held back.
    pacing: Option<PacingStatus>,
}

/// The outcomes of the retries of a job by now.
#[derive(Serialize, ToSchema)]
pub struct Outcome {
    to_send: u64,
    /// Some of these are due and held: their queue is paused.
    held: bool,
    /// Sent, and it is too early to tell.
    pending: u64,
    succeeded: u64,
    failed_again: u64,
    /// Neither sent nor to be sent: skipped, refused, taken out by somebody, or their queue did not take them.
    not_sent: u64,
}

/// How a retry is held back, and how far that is.
#[derive(Serialize, ToSchema)]
pub struct PacingStatus {
    /// In words.
    #[schema(example = "20 per second")]
    about: String,
    /// `freezing`: its letters are being written down; `canary`: the first ones are on their way; `rest`: all others.
    #[schema(value_type = Option<words::JobStage>)]
    stage: Option<&'static str>,
    /// How the first letters did when it was decided: so many were sent,
    canary_sent: Option<u64>,
    /// and so many of them had failed again.
    canary_failed: Option<u64>,
}

impl JobStatus {
    pub(super) fn new(record: JobRecord, letters: &JobLetters, now: Timestamp) -> Self {
        let waits_until = Silence::of(&record, letters, now).map(|silence| timestamp(silence.until));
        let outcome = record.outcome(letters);
        let begins_at = begins_at(&record, &outcome, now).map(timestamp);
        let outcome = record.is_retry().then(|| {
            let JobOutcome { to_send, pending, succeeded, failed_again, not_sent } = outcome;
            Outcome { to_send, held: letters.is_held, pending, succeeded, failed_again, not_sent }
        });
        let JobRecord { job, by, at, bulk, progress, acts_on: _ } = record;
        let edited = bulk.as_ref().is_some_and(|bulk| bulk.edit.is_some());
        let pacing = bulk.map(|bulk| bulk.pacing).filter(Pacing::holds).map(|pacing| PacingStatus {
            about: pacing.in_words(),
            stage: progress.stage.map(Stage::as_str),
            canary_sent: progress.verdict.map(|verdict| verdict.sent),
            canary_failed: progress.verdict.map(|verdict| verdict.failed),
        });
        Self {
            outcome,
            edited,
            pacing,
            id: job.id,
            errors_left_out: job.errors_left_out(),
            action: job.action,
            state: job.state.as_str(),
            total: job.total,
            done: job.done,
            failed: job.failed,
            skipped: job.skipped,
            waits_until,
            begins_at,
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
    let letters = app.job_letters(&found).await?;
    let now = app.clock.now();
    let next_cursor = query.next_cursor(last.map(|last| JobPlace { at: last.at, id: last.job.id }));
    Ok(Json(JobList {
        items: found
            .into_iter()
            .zip(&letters)
            .map(|(record, (_, letters))| JobStatus::new(record, letters, now))
            .collect(),
        next_cursor,
    }))
}

/// How far a job has come
#[utoipa::path(get, path = "/jobs/{id}", operation_id = "get_job", tag = "actions",
    params(PathId<Job>), responses((status = OK, body = JobStatus)))]
pub async fn job(State(app): State<Arc<AppState>>, PathId(id): PathId<Job>) -> Result<Json<JobStatus>, WebError> {
    status(&app, id).await
}

/// Stop a job; what it has done so far stays done
#[utoipa::path(post, path = "/jobs/{id}/cancel", operation_id = "cancel_job", tag = "actions",
    params(PathId<Job>), responses(
    (status = OK, body = JobStatus),
    (status = NO_CONTENT, description = "It is done; the token may not read the job"),
    (status = CONFLICT, body = Problem, content_type = "application/problem+json", description = "It has ended"),
))]
pub async fn cancel(
    State(app): State<Arc<AppState>>,
    user: CurrentUser,
    PathId(id): PathId<Job>,
) -> Result<Response, WebError> {
    let JobRecord { job, .. } = find(&app, id).await?;
    if !app.triage.cancel(job.id, &user).await?.map_err(refused)? {
        return Err(WebError::conflict(format!("The job has ended: it is {}.", job.state)));
    }
    reply(&app, id).await
}

/// Pause a retry of all that a filter lets through
///
/// What is sent stays sent. What is not is open again until it is resumed.
#[utoipa::path(post, path = "/jobs/{id}/pause", operation_id = "pause_job", tag = "actions",
    params(PathId<Job>), responses(
    (status = OK, body = JobStatus),
    (status = NO_CONTENT, description = "It is done; the token may not read the job"),
    (status = CONFLICT, body = Problem, content_type = "application/problem+json",
        description = "It does not go on, or cannot be paused"),
))]
pub async fn pause(
    State(app): State<Arc<AppState>>,
    user: CurrentUser,
    PathId(id): PathId<Job>,
) -> Result<Response, WebError> {
    let JobRecord { job, .. } = find(&app, id).await?;
    if !app.triage.pause(job.id, &user).await?.map_err(refused)? {
        let why = "Only retries of all that a filter lets through can be paused, as long as some are not sent";
        return Err(WebError::conflict(format!("{why}; this job is {}.", job.state)));
    }
    reply(&app, id).await
}

/// Go on with a job that was paused
#[utoipa::path(post, path = "/jobs/{id}/resume", operation_id = "resume_job", tag = "actions",
    params(PathId<Job>), responses(
    (status = OK, body = JobStatus),
    (status = NO_CONTENT, description = "It is done; the token may not read the job"),
    (status = CONFLICT, body = Problem, content_type = "application/problem+json", description = "It is not paused"),
))]
pub async fn resume(
    State(app): State<Arc<AppState>>,
    user: CurrentUser,
    PathId(id): PathId<Job>,
) -> Result<Response, WebError> {
    let JobRecord { job, .. } = find(&app, id).await?;
    if !app.triage.resume(job.id, &user).await?.map_err(refused)? {
        return Err(WebError::conflict(format!("The job is not paused: it is {}.", job.state)));
    }
    reply(&app, id).await
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
    let bulk = app.triage.undo(id, &user).await?.map_err(|why| match why {
        NoUndo::Refused(refusal) => refused(refusal),
        why => WebError::conflict(why.to_string()),
    })?;
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

/// How far it is after a change, for who may know it.
async fn reply(app: &AppState, id: Uuid) -> Result<Response, WebError> {
    if Visitor::need(Right::Read).is_err() {
        return Ok(StatusCode::NO_CONTENT.into_response());
    }
    status(app, id).await.map(IntoResponse::into_response)
}

async fn status(app: &AppState, id: Uuid) -> Result<Json<JobStatus>, WebError> {
    let record = find(app, id).await?;
    let letters = app.letters_of_job(&record).await?;
    Ok(Json(JobStatus::new(record, &letters, app.clock.now())))
}

pub(super) async fn find(app: &AppState, id: Uuid) -> Result<JobRecord, WebError> {
    app.store().job_record(id).await?.ok_or_else(missing::<Job>)
}
