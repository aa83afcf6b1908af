//! Jobs as pages show them, and those that go on in the frame of every page.

use std::slice;

use crate::{
    domain::{
        actor::Actor,
        group::{Group, GroupId},
        job::{JobLetters, JobRecord},
    },
    web::{
        error::WebError,
        state::AppState,
        view::job::{self, JobView},
    },
};

/// A job that goes on, in the frame of every page.
pub struct JobLine {
    pub href: String,
    pub title: String,
    pub percent: String,
    pub state: &'static str,
}

/// The most jobs that are told of on every page.
const MOST: usize = 5;

pub async fn running_jobs(app: &AppState) -> Result<Vec<JobLine>, WebError> {
    let found = app.store().jobs_under_way(MOST).await?;
    if found.is_empty() {
        return Ok(Vec::new());
    }
    let groups = groups_of(app, &found).await?;
    Ok(found.iter().map(|record| JobLine::new(record, group_of(record, &groups))).collect())
}

impl JobLine {
    /// By its own figures: those of its letters that wait would have to be counted for every page.
    fn new(record: &JobRecord, group: Option<&Group>) -> Self {
        let JobRecord { job, progress, .. } = record;
        let done = if record.is_retry() { progress.sent } else { job.done };
        Self {
            href: job::href(job.id),
            title: job::title(record, group),
            percent: job::percent(done + job.failed + job.skipped, job.total),
            state: job.state.as_str(),
        }
    }
}

/// A job as pages show it.
pub async fn view(app: &AppState, record: &JobRecord, letters: &JobLetters, user: &Actor) -> Result<JobView, WebError> {
    let groups = groups_of(app, slice::from_ref(record)).await?;
    Ok(JobView::new(record, letters, group_of(record, &groups), user, app.clock.now()))
}

/// Jobs as pages show them.
pub async fn views(app: &AppState, records: &[JobRecord], user: &Actor) -> Result<Vec<JobView>, WebError> {
    let (letters, groups) = (app.job_letters(records).await?, groups_of(app, records).await?);
    let now = app.clock.now();
    let view = |(record, (_, letters)): (&JobRecord, &(_, _))| {
        JobView::new(record, letters, group_of(record, &groups), user, now)
    };
    Ok(records.iter().zip(&letters).map(view).collect())
}

/// The groups that jobs are about.
async fn groups_of(app: &AppState, records: &[JobRecord]) -> Result<Vec<Group>, WebError> {
    let groups: Vec<GroupId> = records.iter().filter_map(only_group).collect();
    Ok(app.store().groups_by_id(&groups).await?)
}

fn group_of<'g>(record: &JobRecord, groups: &'g [Group]) -> Option<&'g Group> {
    groups.iter().find(|group| Some(group.id) == only_group(record))
}

fn only_group(record: &JobRecord) -> Option<GroupId> {
    let [group] = *record.bulk.as_ref()?.filter.groups.as_slice() else { return None };
    Some(group)
}
