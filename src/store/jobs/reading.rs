//! Jobs, for who watches them: those that are about queues that one sees.

use amqp_message::time::Timestamp;
use sqlx::QueryBuilder;
use sqlx_macros::FromRow;
use uuid::Uuid;

use super::{bulk, held_back::ProgressRow};
use crate::{
    domain::{
        actor::Actor,
        job::{Job, JobPlace, JobRecord, JobRefusal, JobState, check_control},
        rights::QueueScope,
    },
    store::{
        StoreError, StoreReader, audit,
        db::{id_list::push_texts, on},
        letters::rows::JobRow,
    },
};

#[derive(FromRow)]
struct RecordRow {
    #[sqlx(flatten)]
    job: JobRow,
    created_at: i64,
    actor: String,
    within: String,
    seen_within: String,
    bulk: Option<String>,
    #[sqlx(flatten)]
    progress: ProgressRow,
}

/// What a [`RecordRow`] is made of.
const SELECT: &str =
    "SELECT id, action, state, total, done, failed, skipped, errors, created_at, actor, within, seen_within, bulk,
    stage, next_at, claimed_until, sent, failed_again, last_sent_at, canary_sent, canary_failed, activity_seq FROM jobs";

impl RecordRow {
    fn is_seen(&self, scope: &QueueScope) -> Result<bool, StoreError> {
        Ok(scope.is_everything() || audit::read_scope(&self.seen_within)?.is_seen_by(scope))
    }

    /// Whether somebody sees it and may act on all that it acts on.
    fn check(&self, by: &Actor) -> Result<Result<(), JobRefusal>, StoreError> {
        if !self.is_seen(&by.concerned())? {
            return Ok(Err(JobRefusal::NotFound));
        }
        Ok(check_control(&audit::read_scope(&self.within)?, by))
    }
}

impl TryFrom<RecordRow> for JobRecord {
    type Error = StoreError;

    fn try_from(row: RecordRow) -> Result<Self, StoreError> {
        let (by, at) = (Actor::named(row.actor), Timestamp::from_micros(row.created_at));
        let bulk = row.bulk.as_deref().map(|text| bulk::read(text, by.clone())).transpose()?;
        let acts_on = audit::read_scope(&row.within)?;
        Ok(Self { job: Job::try_from(row.job)?, by, at, bulk, progress: row.progress.read()?, acts_on })
    }
}

impl StoreReader {
    pub async fn job(&self, id: Uuid) -> Result<Option<Job>, StoreError> {
        Ok(self.job_record(id).await?.map(|record| record.job))
    }

    /// A job, and who asked for it when.
    pub async fn job_record(&self, id: Uuid) -> Result<Option<JobRecord>, StoreError> {
        match self.job_row(id).await? {
            Some(row) if row.is_seen(&self.concerned)? => JobRecord::try_from(row).map(Some),
            _ => Ok(None),
        }
    }

    /// A job that somebody may stop, resume and undo, or why they may not.
    pub async fn job_of(&self, id: Uuid, by: &Actor) -> Result<Result<Job, JobRefusal>, StoreError> {
        let Some(row) = self.job_row(id).await? else { return Ok(Err(JobRefusal::NotFound)) };
        match row.check(by)? {
            Ok(()) => Job::try_from(row.job).map(Ok),
            Err(refusal) => Ok(Err(refusal)),
        }
    }

    async fn job_row(&self, id: Uuid) -> Result<Option<RecordRow>, StoreError> {
        Ok(on!(self.db.reader(), |pool| {
            let mut select = QueryBuilder::new(SELECT);
            select.push(" WHERE id = ").push_bind(id).build_query_as().fetch_optional(pool).await?
        }))
    }

    /// The jobs in one of these states, or in any, behind that place: the newest first.
    pub async fn jobs(
        &self,
        states: &[JobState],
        mut before: Option<JobPlace>,
        limit: usize,
    ) -> Result<Vec<JobRecord>, StoreError> {
        let mut seen = Vec::new();
        loop {
            let rows = self.job_rows(states, before, limit).await?;
            let is_end = rows.len() < limit;
            before = rows.last().map(|row| JobPlace { at: Timestamp::from_micros(row.created_at), id: row.job.id });
            for row in rows {
                if row.is_seen(&self.concerned)? {
                    seen.push(JobRecord::try_from(row)?);
                }
            }
            if is_end || seen.len() >= limit {
                seen.truncate(limit);
                return Ok(seen);
            }
        }
    }

    /// Those that go on, the newest first.
    pub async fn jobs_under_way(&self, limit: usize) -> Result<Vec<JobRecord>, StoreError> {
        const UNDER_WAY: &str = " WHERE state IN ('queued', 'running', 'paused') ORDER BY created_at DESC, id DESC";
        let rows: Vec<RecordRow> = on!(self.db.reader(), |pool| {
            QueryBuilder::new(SELECT).push(UNDER_WAY).build_query_as().fetch_all(pool).await?
        });
        let mut seen = Vec::new();
        for row in rows {
            if seen.len() < limit && row.is_seen(&self.concerned)? {
                seen.push(JobRecord::try_from(row)?);
            }
        }
        Ok(seen)
    }

    async fn job_rows(
        &self,
        states: &[JobState],
        before: Option<JobPlace>,
        limit: usize,
    ) -> Result<Vec<RecordRow>, StoreError> {
        Ok(on!(self.db.reader(), |pool| {
            let mut select = QueryBuilder::new(SELECT);
            select.push(" WHERE 1 = 1");
            if !states.is_empty() {
                select.push(" AND state IN ");
                push_texts(&mut select, states.iter().map(|state| state.as_str().to_owned()).collect());
            }
            if let Some(JobPlace { at, id }) = before {
                select.push(" AND (created_at, id) < (").push_bind(at.as_micros());
                select.push(", ").push_bind(id).push(")");
            }
            select
                .push(" ORDER BY created_at DESC, id DESC LIMIT ")
                .push_bind(i64::try_from(limit).unwrap_or(i64::MAX));
            select.build_query_as().fetch_all(pool).await?
        }))
    }

    /// The job of this name that has not ended, or else began last: clocks jump.
    pub async fn latest_job(&self, action: &str) -> Result<Option<Job>, StoreError> {
        const SELECT: &str =
            "SELECT id, action, state, total, done, failed, skipped, errors FROM jobs WHERE action = $1
            ORDER BY CASE WHEN state IN ('queued', 'running') THEN 0 ELSE 1 END, created_at DESC, id DESC LIMIT 1";
        // They are about all letters.
        if !self.scope.is_everything() {
            return Ok(None);
        }
        let row: Option<JobRow> =
            on!(self.db.reader(), |pool| sqlx::query_as(SELECT).bind(action).fetch_optional(pool).await?);
        row.map(Job::try_from).transpose()
    }
}
