//! `/api/v1/jobs/{id}/report`: what the letters of a job failed with, and why some were not sent.

use std::sync::Arc;

use axum::{
    Json,
    extract::State,
    http::header,
    response::{IntoResponse, Response},
};
use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;

use super::{
    activity_export::cell,
    jobs::{JobStatus, find},
    reply,
};
use crate::{
    domain::{
        group::Group,
        job::{Job, NotSent},
    },
    web::{
        error::WebError,
        input::path_id::PathId,
        shared::job_outcomes::{JobFailures, JobOutcomes},
        state::AppState,
    },
};

/// What letters of a job failed with, and why some were not sent
#[utoipa::path(get, path = "/jobs/{id}/report", operation_id = "get_job_report", tag = "actions",
    params(PathId<Job>), responses((status = OK, body = JobReport)))]
pub async fn report(State(app): State<Arc<AppState>>, PathId(id): PathId<Job>) -> Result<Json<JobReport>, WebError> {
    let record = find(&app, id).await?;
    let JobOutcomes { letters, failures, not_sent } = app.job_outcomes(&record).await?;
    let failures = failures.into_iter().map(|failure| JobFailure {
        group: failure.group.as_ref().map(|group| group.id.as_uuid()),
        queue: failure.group.as_ref().and_then(|group| group.key.queue.clone()),
        message_type: failure.group.as_ref().and_then(|group| group.key.message_type.clone()),
        error: failure.group.map(|group| group.key.error),
        letters: failure.letters,
    });
    let not_sent = not_sent.into_iter().map(NotSentLetters::from).collect();
    let job = JobStatus::new(record, &letters, app.clock.now());
    Ok(Json(JobReport { job, failed_again: failures.collect(), not_sent }))
}

/// The same as a table
///
/// A text that a spreadsheet would take for a formula has an apostrophe before it.
#[utoipa::path(get, path = "/jobs/{id}/report.csv", operation_id = "get_job_report_as_csv", tag = "actions",
    params(PathId<Job>), responses((status = OK, body = inline(reply::Bytes), content_type = "text/csv")))]
pub async fn report_csv(State(app): State<Arc<AppState>>, PathId(id): PathId<Job>) -> Result<Response, WebError> {
    let record = find(&app, id).await?;
    let JobOutcomes { failures, not_sent, .. } = app.job_outcomes(&record).await?;
    let mut table = "outcome,group,queue,message_type,error,letters\r\n".to_owned();
    for JobFailures { group, letters } in failures {
        let cells = group.map(|Group { id, key, .. }| {
            let texts = [key.queue.unwrap_or_default(), key.message_type.unwrap_or_default(), key.error];
            let texts: Vec<String> = texts.iter().map(|text| cell(text)).collect();
            format!("{id},{}", texts.join(","))
        });
        table.push_str(&format!("failed again,{},{letters}\r\n", cells.unwrap_or_else(|| ",,,".to_owned())));
    }
    for NotSent { why, letters } in not_sent {
        table.push_str(&format!("not sent,,,,{},{letters}\r\n", cell(&why.to_string())));
    }
    let headers = [
        (header::CONTENT_TYPE, "text/csv; charset=utf-8"),
        (header::CONTENT_DISPOSITION, "attachment; filename=\"report.csv\""),
    ];
    Ok((headers, table).into_response())
}

/// The outcomes of a job, with what its letters failed with.
#[derive(Serialize, ToSchema)]
pub struct JobReport {
    job: JobStatus,
    /// By error group, the most letters first.
    failed_again: Vec<JobFailure>,
    /// Why letters were not sent, the commonest reason first.
    not_sent: Vec<NotSentLetters>,
}

/// Letters of a job that were not sent, all for one reason.
#[derive(Serialize, ToSchema)]
pub struct NotSentLetters {
    why: String,
    letters: u64,
}

impl From<NotSent> for NotSentLetters {
    fn from(NotSent { why, letters }: NotSent) -> Self {
        Self { why: why.to_string(), letters }
    }
}

/// Letters of a job that failed again in the same way.
#[derive(Serialize, ToSchema)]
pub struct JobFailure {
    /// The group they are in now; null where they are not looked at yet, or not kept any more.
    group: Option<Uuid>,
    queue: Option<String>,
    message_type: Option<String>,
    /// Without what differs from letter to letter.
    error: Option<String>,
    letters: u64,
}
