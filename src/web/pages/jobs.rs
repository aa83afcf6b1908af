//! `/jobs`: what is under way, its outcomes, and stopping and undoing it.

use std::sync::Arc;

use askama::Template;
use axum::{
    extract::{FromRequest, FromRequestParts, Request, State},
    http::HeaderMap,
    response::Response,
};
use uuid::Uuid;

use super::{
    back_to::take_back,
    bulk_action,
    fragment::answer,
    part::parts,
    redirect::redirect,
    running_jobs::{view, views},
    shell::{Page, Shell},
    toast::Toast,
    visit::Visit,
};
use crate::{
    domain::job::{Job, JobPlace, NoUndo, NotSent},
    web::{
        error::WebError,
        input::{
            FormPairs,
            path_id::{PathId, missing},
        },
        orders::jobs::refused,
        query::{JobQuery, Listed, Pager, listed_page},
        shared::job_outcomes::{JobFailures, JobOutcomes},
        state::AppState,
        view::{
            group::{Title, href},
            job::JobView,
            number, text,
        },
        visitor::CurrentUser,
    },
};

parts! {
    pub JobsPart {
        /// All that changes from page to page.
        Main = "main",
        /// What changes as they go on.
        Jobs = "jobs",
    }
}

#[derive(Template)]
#[template(path = "jobs/page.html", blocks = ["title", "main", "jobs", "nav"])]
struct JobsPage {
    shell: Shell,
    here: String,
    under_way: Vec<JobView>,
    others: Vec<JobView>,
    succeeded_after: String,
    pager: Pager,
}

#[derive(Template)]
#[template(path = "jobs/job.html", blocks = ["title", "main", "jobs", "nav"])]
struct JobPage {
    shell: Shell,
    job: JobView,
    failures: Vec<FailureRow>,
    not_sent: Vec<NotSentRow>,
    succeeded_after: String,
}

/// Letters that were not sent, all for one reason.
struct NotSentRow {
    why: String,
    letters: String,
}

impl From<NotSent> for NotSentRow {
    fn from(NotSent { why, letters }: NotSent) -> Self {
        Self { why: text::capitalized(&text::one_line(&why.to_string())), letters: number::thousands(letters) }
    }
}

/// Letters that failed again in the same way.
struct FailureRow {
    title: String,
    error: String,
    href: Option<String>,
    letters: String,
    share: String,
}

pub async fn list(
    State(app): State<Arc<AppState>>,
    user: CurrentUser,
    visit: Visit<JobQuery, JobsPart>,
) -> Result<Response, WebError> {
    let query = &visit.query;
    let (before, limit) = (query.place()?, query.limit());
    let found = app.store().jobs(&query.states, before, limit + 1).await?;
    let (found, last) = listed_page(found, limit);
    let next = last.map(|last| JobPlace { at: last.at, id: last.job.id });
    let (under_way, others) = views(&app, &found, &user).await?.into_iter().partition(|job| job.is_under_way);
    let page = JobsPage {
        shell: visit.at(query.href(), Shell::load(&app, Page::Jobs).await?),
        here: query.href(),
        under_way,
        others,
        succeeded_after: number::span(app.settings.succeeded_after),
        pager: query.pager(next),
    };
    Ok(answer!(page, visit.part, JobsPart::Main => main, JobsPart::Jobs => only as_jobs))
}

pub async fn show(
    State(app): State<Arc<AppState>>,
    PathId(id): PathId<Job>,
    user: CurrentUser,
    visit: Visit<(), JobsPart>,
) -> Result<Response, WebError> {
    let record = app.store().job_record(id).await?.ok_or_else(missing::<Job>)?;
    let JobOutcomes { letters, failures, not_sent } = app.job_outcomes(&record).await?;
    let total = record.progress.failed_again;
    let mut job = view(&app, &record, &letters, &user).await?;
    job.can_undo = job.can_undo && !matches!(app.triage.undo(id, &user).await?, Err(NoUndo::NothingLeft));
    let page = JobPage {
        shell: visit.at(job.href.clone(), Shell::load(&app, Page::Jobs).await?),
        failures: failures.iter().map(|failure| FailureRow::new(failure, total)).collect(),
        not_sent: not_sent.into_iter().map(NotSentRow::from).collect(),
        succeeded_after: number::span(app.settings.succeeded_after),
        job,
    };
    Ok(answer!(page, visit.part, JobsPart::Main => main, JobsPart::Jobs => only as_jobs))
}

impl FailureRow {
    fn new(failure: &JobFailures, total: u64) -> Self {
        let percent = u128::from(failure.letters) * 100 / u128::from(total.max(1));
        let group = failure.group.as_ref();
        Self {
            title: group.map_or_else(
                || "Not looked at yet, or not kept any more".to_owned(),
                |group| {
                    let (key, title) = (&group.key, Title::new(&group.key));
                    let is_told = !key.error.is_empty() && key.part.is_none();
                    if is_told { title.beside_error() } else { title.in_words() }
                },
            ),
            error: group.map(|group| text::one_line(&group.key.error)).unwrap_or_default(),
            href: group.map(|group| href(group.id)),
            letters: number::thousands(failure.letters),
            share: format!("{percent} %"),
        }
    }
}

/// What somebody asks to do with a job, by a form.
pub struct JobForm {
    app: Arc<AppState>,
    user: CurrentUser,
    job: Uuid,
    /// The page it is asked from.
    back: String,
    headers: HeaderMap,
}

impl FromRequest<Arc<AppState>> for JobForm {
    type Rejection = WebError;

    async fn from_request(request: Request, app: &Arc<AppState>) -> Result<Self, WebError> {
        let (mut parts, body) = request.into_parts();
        let user = CurrentUser::from_request_parts(&mut parts, app).await?;
        let PathId(job) = PathId::<Job>::from_request_parts(&mut parts, app).await?;
        let headers = parts.headers.clone();
        let FormPairs(mut pairs) = FormPairs::from_request(Request::from_parts(parts, body), app).await?;
        Ok(Self { app: Arc::clone(app), user, job, back: take_back(&mut pairs)?, headers })
    }
}

impl JobForm {
    fn answer(&self, toast: &Toast) -> Response {
        redirect(&self.back, toast, &self.headers)
    }
}

/// Stops it for a while.
pub async fn pause(form: JobForm) -> Result<Response, WebError> {
    let toast = match form.app.triage.pause(form.job, &form.user).await?.map_err(refused)? {
        true => Toast::done("Paused. What is not sent yet is open again until it is resumed."),
        false => Toast::failed("There is nothing to pause: it has ended."),
    };
    Ok(form.answer(&toast))
}

/// Goes on with it.
pub async fn resume(form: JobForm) -> Result<Response, WebError> {
    let toast = match form.app.triage.resume(form.job, &form.user).await?.map_err(refused)? {
        true => Toast::done("Resumed."),
        false => Toast::failed("It is not paused."),
    };
    Ok(form.answer(&toast))
}

/// Stops it for good.
pub async fn cancel(form: JobForm) -> Result<Response, WebError> {
    let toast = match form.app.triage.cancel(form.job, &form.user).await?.map_err(refused)? {
        true => Toast::done("The rest is cancelled. What was done stays done."),
        false => Toast::failed("There is nothing to cancel: it has ended."),
    };
    Ok(form.answer(&toast))
}

/// Takes back what it did.
pub async fn undo(form: JobForm) -> Result<Response, WebError> {
    let toast = match form.app.triage.undo(form.job, &form.user).await? {
        Ok(bulk) => bulk_action::carry_out(&form.app, bulk).await?,
        Err(NoUndo::Refused(refusal)) => return Err(refused(refusal)),
        Err(why) => Toast::failed(why.to_string()),
    };
    Ok(form.answer(&toast))
}
