//! Work on all letters of a filter: kept with the job, so that another process can go on with it.

use std::time::Duration;

use amqp_message::time::Timestamp;
use serde::{Deserialize, Serialize};
use sqlx_macros::FromRow;
use uuid::Uuid;

use super::{stored_edit::StoredEdit, stored_pacing::StoredPacing};
use crate::{
    domain::{
        actor::Actor,
        command::Command,
        filter::{LetterFilter, Names},
        group::GroupId,
        job::{Bulk, Job, Left},
        pacing::Stage,
        rights::Grants,
        search::Search,
    },
    store::{
        Store, StoreError, audit,
        clock::longest_claim,
        db::{Sql, on},
        letters::rows::{JobRow, parse},
        origin,
    },
};

/// A job on all letters of a filter that this process works at.
#[derive(Clone, Debug, PartialEq)]
pub struct ClaimedBulk {
    pub job: Job,
    pub bulk: Bulk,
    pub begun: Timestamp,
}

#[derive(FromRow)]
struct Row {
    #[sqlx(flatten)]
    job: JobRow,
    created_at: i64,
    actor: String,
    via: String,
    address: String,
    within: String,
    bulk: String,
}

impl TryFrom<Row> for ClaimedBulk {
    type Error = StoreError;

    fn try_from(row: Row) -> Result<Self, StoreError> {
        let by =
            origin::read(row.actor, &row.via, &row.address)?.granted(Grants::within(&audit::read_scope(&row.within)?));
        let bulk = read(&row.bulk, by)?;
        Ok(Self { job: Job::try_from(row.job)?, bulk, begun: Timestamp::from_micros(row.created_at) })
    }
}

/// What a job does, as it is stored, for whom it does it.
pub(super) fn read(text: &str, by: Actor) -> Result<Bulk, StoreError> {
    let kept: StoredBulk = serde_json::from_str(text)
        .map_err(|error| StoreError::Unreadable { what: "a job's action", why: error.to_string() })?;
    let (edit, by) = match kept.edit {
        Some(edit) => edit.read(by).map(|(edit, by)| (Some(edit), by))?,
        None => (None, by),
    };
    Ok(Bulk {
        filter: kept.filter.read()?,
        until: Timestamp::from_micros(kept.until),
        left: kept.left.map(StoredLeft::read),
        command: kept.order.read()?,
        edit,
        pacing: kept.pacing.map(StoredPacing::read).unwrap_or_default(),
        by,
    })
}

impl Store {
    /// Writes down a job that its writer works at, until `lease` is over or renewed.
    pub async fn add_bulk(&self, job: &Job, bulk: &Bulk, at: Timestamp, lease: Duration) -> Result<(), StoreError> {
        const KEEP: &str = "UPDATE jobs SET bulk = $1, claimed_until = $2, stage = $3 WHERE id = $4";
        let stage = if bulk.pacing.holds() { Stage::Freezing.as_str() } else { "" };
        let kept = serde_json::to_string(&StoredBulk::new(bulk))
            .map_err(|error| StoreError::Unreadable { what: "a job's action", why: error.to_string() })?;
        let mut tx = self.db.begin().await?;
        super::insert(&mut tx, job, &bulk.by, at).await?;
        on!(&mut tx, |tx| sqlx::query(KEEP)
            .bind(kept)
            .bind(at.plus(lease).as_micros())
            .bind(stage)
            .bind(job.id)
            .execute(&mut **tx)
            .await
            .map(drop)?);
        tx.commit().await
    }

    /// What a job does, and when it was asked for; `None` for one that is not about letters of a filter.
    pub async fn bulk(&self, job: Uuid) -> Result<Option<(Bulk, Timestamp)>, StoreError> {
        Ok(self.bulk_job(job).await?.map(|claimed| (claimed.bulk, claimed.begun)))
    }

    /// The same with the job itself.
    pub(super) async fn bulk_job(&self, job: Uuid) -> Result<Option<ClaimedBulk>, StoreError> {
        const SELECT: &str =
            "SELECT id, action, state, total, done, failed, skipped, errors, created_at, actor, via, address, within, bulk
            FROM jobs WHERE id = $1 AND bulk IS NOT NULL";
        let row: Option<Row> =
            on!(self.db.reader(), |pool| sqlx::query_as(SELECT).bind(job).fetch_optional(pool).await?);
        row.map(ClaimedBulk::try_from).transpose()
    }

    /// Claims a job that its process has left behind, for `lease`. Its walk begins again, and meets what refused it once
    /// more: that is counted anew.
    pub async fn claim_bulk(&self, now: Timestamp, lease: Duration) -> Result<Option<ClaimedBulk>, StoreError> {
        const CLAIM: Sql = Sql {
            sqlite: "UPDATE jobs SET claimed_until = $1, failed = 0, skipped = 0, errors = '[]' WHERE id IN (
                    SELECT id FROM jobs WHERE bulk IS NOT NULL AND state = 'running' AND next_at IS NULL
                    AND (claimed_until IS NULL OR claimed_until <= $2 OR claimed_until > $3) ORDER BY created_at LIMIT 1)
                RETURNING id, action, state, total, done, failed, skipped, errors, created_at, actor, via, address, within, bulk",
            // The subquery of an IN may be carried out several times, and each time it skips what it has just locked.
            postgres: "UPDATE jobs SET claimed_until = $1, failed = 0, skipped = 0, errors = '[]' WHERE id = ANY(ARRAY(
                    SELECT id FROM jobs WHERE bulk IS NOT NULL AND state = 'running' AND next_at IS NULL
                    AND (claimed_until IS NULL OR claimed_until <= $2 OR claimed_until > $3) ORDER BY created_at LIMIT 1
                    FOR UPDATE SKIP LOCKED))
                RETURNING id, action, state, total, done, failed, skipped, errors, created_at, actor, via, address, within, bulk",
        };
        let claim = CLAIM.pick(self.db.writer());
        let row: Option<Row> = on!(self.db.writer(), |pool| sqlx::query_as(claim)
            .bind(now.plus(lease).as_micros())
            .bind(now.as_micros())
            .bind(longest_claim(now, lease))
            .fetch_optional(pool)
            .await?);
        row.map(ClaimedBulk::try_from).transpose()
    }
}

/// A [`Bulk`] as it is stored; who asked for it stands in the job itself.
#[derive(Serialize, Deserialize)]
struct StoredBulk {
    order: StoredCommand,
    filter: StoredFilter,
    until: i64,
    left: Option<StoredLeft>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    edit: Option<StoredEdit>,
    /// Left out where there is nothing to hold.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pacing: Option<StoredPacing>,
}

/// Times are microseconds. `Due` was kept before jobs told their retries from those of others.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum StoredLeft {
    Discarded(i64),
    Due(i64),
    DueOf(i64, Uuid),
}

impl StoredLeft {
    const fn new(left: Left) -> Self {
        match left {
            Left::Discarded(at) => Self::Discarded(at.as_micros()),
            Left::Due(at, None) => Self::Due(at.as_micros()),
            Left::Due(at, Some(job)) => Self::DueOf(at.as_micros(), job),
        }
    }

    const fn read(self) -> Left {
        match self {
            Self::Discarded(at) => Left::Discarded(Timestamp::from_micros(at)),
            Self::Due(at) => Left::Due(Timestamp::from_micros(at), None),
            Self::DueOf(at, job) => Left::Due(Timestamp::from_micros(at), Some(job)),
        }
    }
}

impl StoredBulk {
    fn new(bulk: &Bulk) -> Self {
        Self {
            order: StoredCommand::new(&bulk.command),
            filter: StoredFilter::new(&bulk.filter),
            until: bulk.until.as_micros(),
            left: bulk.left.map(StoredLeft::new),
            edit: bulk.edit.as_ref().map(|edit| StoredEdit::new(edit, &bulk.by)),
            pacing: bulk.pacing.holds().then(|| StoredPacing::new(bulk.pacing)),
        }
    }
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum StoredCommand {
    Retry { delay_micros: u64, queue: Option<String> },
    Discard { note: Option<String> },
    Reopen,
    Importance(String),
    ReleaseImportance,
    Note(String),
    Type(Option<String>),
}

impl StoredCommand {
    fn new(command: &Command) -> Self {
        match command.clone() {
            Command::Retry { delay, queue } => {
                Self::Retry { delay_micros: u64::try_from(delay.as_micros()).unwrap_or(u64::MAX), queue }
            }
            Command::Discard { note } => Self::Discard { note },
            Command::Reopen => Self::Reopen,
            Command::SetImportance(importance) => Self::Importance(importance.to_string()),
            Command::ReleaseImportance => Self::ReleaseImportance,
            Command::SetNote(note) => Self::Note(note),
            Command::SetType(name) => Self::Type(name),
        }
    }

    fn read(self) -> Result<Command, StoreError> {
        Ok(match self {
            Self::Retry { delay_micros, queue } => Command::Retry { delay: Duration::from_micros(delay_micros), queue },
            Self::Discard { note } => Command::Discard { note },
            Self::Reopen => Command::Reopen,
            Self::Importance(word) => Command::SetImportance(parse("an importance", &word)?),
            Self::ReleaseImportance => Command::ReleaseImportance,
            Self::Note(note) => Command::SetNote(note),
            Self::Type(name) => Command::SetType(name),
        })
    }
}

#[derive(Serialize, Deserialize)]
struct StoredFilter {
    statuses: Vec<String>,
    importances: Vec<String>,
    brokers: Vec<String>,
    queues: StoredNames,
    reasons: Vec<String>,
    types: StoredNames,
    groups: Vec<Uuid>,
    since: Option<i64>,
    until: Option<i64>,
    search: Option<String>,
}

#[derive(Serialize, Deserialize)]
struct StoredNames {
    exact: Vec<String>,
    globs: Vec<String>,
}

impl StoredNames {
    fn new(names: &Names) -> Self {
        Self { exact: names.exact.clone(), globs: names.globs.clone() }
    }

    fn read(self) -> Names {
        Names { exact: self.exact, globs: self.globs }
    }
}

impl StoredFilter {
    fn new(filter: &LetterFilter) -> Self {
        Self {
            statuses: filter.statuses.iter().map(ToString::to_string).collect(),
            importances: filter.importances.iter().map(ToString::to_string).collect(),
            brokers: filter.brokers.clone(),
            queues: StoredNames::new(&filter.queues),
            reasons: filter.reasons.iter().map(ToString::to_string).collect(),
            types: StoredNames::new(&filter.types),
            groups: filter.groups.iter().map(|group| group.as_uuid()).collect(),
            since: filter.since.map(Timestamp::as_micros),
            until: filter.until.map(Timestamp::as_micros),
            search: filter.search.as_ref().map(ToString::to_string),
        }
    }

    fn read(self) -> Result<LetterFilter, StoreError> {
        Ok(LetterFilter {
            statuses: self.statuses.iter().map(|word| parse("a status", word)).collect::<Result<_, _>>()?,
            importances: self.importances.iter().map(|word| parse("an importance", word)).collect::<Result<_, _>>()?,
            brokers: self.brokers,
            queues: self.queues.read(),
            reasons: self.reasons.iter().map(|word| parse("a reason", word)).collect::<Result<_, _>>()?,
            types: self.types.read(),
            groups: self.groups.into_iter().map(GroupId::from_uuid).collect(),
            since: self.since.map(Timestamp::from_micros),
            until: self.until.map(Timestamp::from_micros),
            search: self.search.as_deref().map(read_search).transpose()?,
        })
    }
}

fn read_search(text: &str) -> Result<Search, StoreError> {
    Search::written(text).map_err(|why| StoreError::Unreadable { what: "the search of a job", why })
}
