//! `/jobs`: what is under way and what came of it, and stopping and undoing it.

use std::sync::Arc;

use askama::Template;
use axum::{extract::State, http::HeaderMap, response::Response};

use super::{
    actions::{redirect, take_back},
    bulk_action,
    fragment::answer,
    part::parts,
    shell::{Page, Shell},
    toast::Toast,
    visit::Visit,
};
use crate::{
    domain::{
        group::GroupId,
        job::{Job, JobPlace, JobRecord},
    },
    web::{
        AppState, JobFailures,
        error::WebError,
        input::FormPairs,
        path_id::{PathId, missing},
        query::{JobQuery, Listed, Pager, listed_page},
        security::CurrentUser,
        view::{
            group::{Title, href},
            job::JobView,
            number, text,
        },
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
    succeeded_after: String,
}

/// Letters that failed again in the same way.
struct FailureRow {
    title: String,
    error: String,
    href: Option<String>,
    letters: String,
    share: String,
}

pub async fn list(State(app): State<Arc<AppState>>, visit: Visit<JobQuery, JobsPart>) -> Result<Response, WebError> {
    let query = &visit.query;
    let (before, limit) = (query.place()?, query.limit());
    let found = app.store().jobs(&query.states, before, limit + 1).await?;
    let (found, last) = listed_page(found, limit);
    let next = last.map(|last| JobPlace { at: last.at, id: last.job.id });
    let (under_way, others) = views(&app, &found).await?.into_iter().partition(|job| job.goes_on);
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
    visit: Visit<(), JobsPart>,
) -> Result<Response, WebError> {
    let record = app.store().job_record(id).await?.ok_or_else(missing::<Job>)?;
    let failures = if record.is_retry() { app.job_failures(id).await? } else { Vec::new() };
    let total = record.progress.failed_again;
    let Some(job) = views(&app, std::slice::from_ref(&record)).await?.pop() else { return Err(missing::<Job>()) };
    let page = JobPage {
        shell: visit.at(job.href.clone(), Shell::load(&app, Page::Jobs).await?),
        failures: failures.iter().map(|failure| FailureRow::new(failure, total)).collect(),
        succeeded_after: number::span(app.settings.succeeded_after),
        job,
    };
    Ok(answer!(page, visit.part, JobsPart::Main => main, JobsPart::Jobs => only as_jobs))
}

/// Jobs as pages show them.
pub async fn views(app: &AppState, records: &[JobRecord]) -> Result<Vec<JobView>, WebError> {
    let ids: Vec<_> = records.iter().map(|record| record.job.id).collect();
    let group = |record: &JobRecord| -> Option<GroupId> {
        let [group] = *record.bulk.as_ref()?.filter.groups.as_slice() else { return None };
        Some(group)
    };
    let groups: Vec<GroupId> = records.iter().filter_map(group).collect();
    let (letters, groups) = (app.job_letters(&ids).await?, app.store().groups_by_id(&groups).await?);
    let now = app.clock.now();
    let view = |(record, (_, letters)): (&JobRecord, &(_, _))| {
        let group = groups.iter().find(|one| Some(one.id) == group(record));
        JobView::new(record, letters, group, now)
    };
    Ok(records.iter().zip(&letters).map(view).collect())
}

impl FailureRow {
    fn new(failure: &JobFailures, total: u64) -> Self {
        let percent = u128::from(failure.letters) * 100 / u128::from(total.max(1));
        let group = failure.group.as_ref();
        Self {
            title: group.map_or_else(
                || "Not looked at yet, or not kept any more".to_owned(),
                |group| Title::new(&group.key).in_words(),
            ),
            error: group.map(|group| text::one_line(&group.key.error)).unwrap_or_default(),
            href: group.map(|group| href(group.id)),
            letters: number::thousands(failure.letters),
            share: format!("{percent} %"),
        }
    }
}

/// Stops it for a while.
pub async fn pause(
    State(app): State<Arc<AppState>>,
    user: CurrentUser,
    PathId(id): PathId<Job>,
    headers: HeaderMap,
    FormPairs(mut pairs): FormPairs,
) -> Result<Response, WebError> {
    let back = take_back(&mut pairs)?;
    let toast = if app.triage.pause(id, &user).await? {
        Toast::done("Paused. What is not sent yet is open again until it is resumed.")
    } else {
        Toast::failed("There is nothing to pause: it has ended.")
    };
    Ok(redirect(&back, &toast, &headers))
}

/// Goes on with it.
pub async fn resume(
    State(app): State<Arc<AppState>>,
    user: CurrentUser,
    PathId(id): PathId<Job>,
    headers: HeaderMap,
    FormPairs(mut pairs): FormPairs,
) -> Result<Response, WebError> {
    let back = take_back(&mut pairs)?;
    let toast =
        if app.triage.resume(id, &user).await? { Toast::done("Resumed.") } else { Toast::failed("It is not paused.") };
    Ok(redirect(&back, &toast, &headers))
}

/// Stops it for good.
pub async fn cancel(
    State(app): State<Arc<AppState>>,
    user: CurrentUser,
    PathId(id): PathId<Job>,
    headers: HeaderMap,
    FormPairs(mut pairs): FormPairs,
) -> Result<Response, WebError> {
    let back = take_back(&mut pairs)?;
    let toast = if app.triage.cancel(id, &user).await? {
        Toast::done("The rest is cancelled. What was done stays done.")
    } else {
        Toast::failed("There is nothing to cancel: it has ended.")
    };
    Ok(redirect(&back, &toast, &headers))
}

/// Takes back what it did.
pub async fn undo(
    State(app): State<Arc<AppState>>,
    user: CurrentUser,
    PathId(id): PathId<Job>,
    headers: HeaderMap,
    FormPairs(mut pairs): FormPairs,
) -> Result<Response, WebError> {
    let back = take_back(&mut pairs)?;
    let toast = match app.triage.undo(id, &user).await? {
        Ok(bulk) => bulk_action::carry_out(&app, bulk).await?,
        Err(why) => Toast::failed(why.to_string()),
    };
    Ok(redirect(&back, &toast, &headers))
}
