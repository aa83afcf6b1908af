//! Jobs as pages show them, and those that go on in the frame of every page.

use crate::{
    domain::{group::GroupId, job::JobRecord},
    web::{AppState, error::WebError, view::job::JobView},
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
    let line = |JobView { href, title, percent, state, .. }| JobLine { href, title, percent, state };
    Ok(views(app, &found).await?.into_iter().map(line).collect())
}

/// Jobs as pages show them.
pub async fn views(app: &AppState, records: &[JobRecord]) -> Result<Vec<JobView>, WebError> {
    let group = |record: &JobRecord| -> Option<GroupId> {
        let [group] = *record.bulk.as_ref()?.filter.groups.as_slice() else { return None };
        Some(group)
    };
    let groups: Vec<GroupId> = records.iter().filter_map(group).collect();
    let (letters, groups) = (app.job_letters(records).await?, app.store().groups_by_id(&groups).await?);
    let now = app.clock.now();
    let view = |(record, (_, letters)): (&JobRecord, &(_, _))| {
        let group = groups.iter().find(|one| Some(one.id) == group(record));
        JobView::new(record, letters, group, now)
    };
    Ok(records.iter().zip(&letters).map(view).collect())
}
