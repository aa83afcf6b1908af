//! What the retries of a job have led to, for its page and its report.

use std::slice;

use uuid::Uuid;

use crate::{
    domain::{
        group::{Group, GroupId},
        job::{JobLetters, JobRecord, NotSent},
    },
    store::StoreError,
    web::state::AppState,
};

pub(crate) struct JobOutcomes {
    pub letters: JobLetters,
    /// What letters that failed again failed with, the most frequent first.
    pub failures: Vec<JobFailures>,
    /// Why letters were not sent, the commonest reason first.
    pub not_sent: Vec<NotSent>,
}

/// Letters of a job that failed again in the same way.
pub(crate) struct JobFailures {
    /// None where they are not looked at yet, or not kept any more.
    pub group: Option<Group>,
    pub letters: u64,
}

impl AppState {
    /// What is known of the letters of these jobs.
    pub async fn job_letters(&self, jobs: &[JobRecord]) -> Result<Vec<(Uuid, JobLetters)>, StoreError> {
        self.store().job_letters(jobs, self.clock.now().minus(self.settings.succeeded_after)).await
    }

    pub(crate) async fn letters_of_job(&self, record: &JobRecord) -> Result<JobLetters, StoreError> {
        let found = self.job_letters(slice::from_ref(record)).await?;
        Ok(found.first().map(|(_, letters)| *letters).unwrap_or_default())
    }

    pub(crate) async fn job_outcomes(&self, record: &JobRecord) -> Result<JobOutcomes, StoreError> {
        let letters = self.letters_of_job(record).await?;
        if !record.is_retry() {
            return Ok(JobOutcomes { letters, failures: Vec::new(), not_sent: Vec::new() });
        }
        let told = self.store().job_not_sent(record.job.id).await?;
        let failures = self.job_failures(record.job.id).await?;
        Ok(JobOutcomes { letters, failures, not_sent: record.not_sent(&letters, told) })
    }

    async fn job_failures(&self, job: Uuid) -> Result<Vec<JobFailures>, StoreError> {
        let store = self.store();
        let found = store.job_failures(job).await?;
        let ids: Vec<GroupId> = found.iter().filter_map(|(group, _)| *group).collect();
        let groups = store.groups_by_id(&ids).await?;
        let of = |(id, letters): (Option<GroupId>, u64)| JobFailures {
            group: groups.iter().find(|group| Some(group.id) == id).cloned(),
            letters,
        };
        Ok(found.into_iter().map(of).collect())
    }
}
