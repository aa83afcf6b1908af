//! Who did what.

use std::collections::BTreeSet;

use amqp_message::time::Timestamp;
use sqlx::QueryBuilder;
use sqlx_macros::FromRow;
use uuid::Uuid;

use super::{
    Store, StoreError, StoreReader,
    db::{Tx, id_list::numbers, on},
    letters::rows::{bigint, parse},
    origin,
};
use crate::domain::{
    activity::{ActivityEntry, ActivityFilter, AuditEntry, Concerns},
    actor::Actor,
    rights::QueueScope,
};

#[derive(FromRow)]
struct Row {
    seq: i64,
    at: i64,
    actor: String,
    area: String,
    action: String,
    subject: String,
    letters: i64,
    detail: String,
    via: String,
    address: String,
    broker: Option<String>,
    queue: Option<String>,
    within: String,
}

/// All of a line; letters that came to it later are added to those that it has.
const SELECT: &str = "SELECT seq, at, actor, area, action, subject, CAST(letters + coalesce((SELECT sum(more.letters)
    FROM activity_letters more WHERE more.seq = activity.seq), 0) AS BIGINT) AS letters, detail, via, address, broker,
    queue, within FROM activity WHERE seq < ";

impl TryFrom<Row> for ActivityEntry {
    type Error = StoreError;

    fn try_from(row: Row) -> Result<Self, StoreError> {
        let concerns = match row.broker.zip(row.queue) {
            Some((broker, queue)) => Concerns::Queue(broker, queue),
            None => Concerns::All(read_scope(&row.within)?),
        };
        let entry = AuditEntry {
            at: Timestamp::from_micros(row.at),
            by: origin::read(row.actor, &row.via, &row.address)?,
            area: parse("an area of activity", &row.area)?,
            action: row.action,
            subject: row.subject,
            letters: row.letters.unsigned_abs(),
            detail: row.detail,
            concerns,
        };
        Ok(Self { seq: row.seq, entry })
    }
}

/// Characters of a detail that are kept here: a note or an expression may be long, and stands in full elsewhere.
const LONGEST_DETAIL: usize = 4_000;

/// Writes down what somebody did, in the transaction in which it is done.
pub(crate) async fn append(tx: &mut Tx, entry: &AuditEntry) -> Result<(), StoreError> {
    insert(tx, entry).await.map(drop)
}

/// The answer is the number of the line.
async fn insert(tx: &mut Tx, entry: &AuditEntry) -> Result<i64, StoreError> {
    const INSERT: &str =
        "INSERT INTO activity (at, actor, area, action, subject, letters, detail, via, address, broker,
        queue, within) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) RETURNING seq";
    let end = entry.detail.char_indices().nth(LONGEST_DETAIL).map_or(entry.detail.len(), |(end, _)| end);
    let (via, address) = origin::written(&entry.by);
    let (queue, within) = match &entry.concerns {
        Concerns::Queue(broker, queue) => (Some((&**broker, &**queue)), String::new()),
        Concerns::All(scope) => (None, scope.written()),
    };
    Ok(on!(tx, |tx| sqlx::query_scalar(INSERT)
        .bind(entry.at.as_micros())
        .bind(entry.by.as_str())
        .bind(entry.area.as_str())
        .bind(&*entry.action)
        .bind(&*entry.subject)
        .bind(bigint(entry.letters))
        .bind(&entry.detail[..end])
        .bind(via)
        .bind(&*address)
        .bind(queue.map(|(broker, _)| broker))
        .bind(queue.map(|(_, queue)| queue))
        .bind(within)
        .fetch_one(&mut **tx)
        .await?))
}

/// One entry that takes several transactions. It has its line with the first letter that is changed, and each
/// transaction adds its letters to it, so that whatever is cut short has told what it did.
#[derive(Clone)]
pub struct BulkAudit {
    entry: AuditEntry,
    /// The number of its line; `None` as long as nothing is done.
    seq: Option<i64>,
    /// The job that does it.
    pub(crate) job: Option<Uuid>,
}

impl BulkAudit {
    /// Of its letters none is counted yet.
    pub const fn new(entry: AuditEntry) -> Self {
        Self { entry, seq: None, job: None }
    }

    /// What a job does, whose line has this number already.
    #[must_use]
    pub fn of_job(self, job: Uuid, seq: Option<i64>) -> Self {
        Self { job: Some(job), seq, ..self }
    }

    /// Adds letters, in the transaction that changes them. The answer is for [`committed`](Self::committed).
    pub(crate) async fn append(&self, tx: &mut Tx, letters: u64) -> Result<Option<i64>, StoreError> {
        const ADD: &str = "INSERT INTO activity_letters (letters, seq) VALUES ($1, $2)";
        let Some(seq) = self.seq.filter(|_| letters > 0) else {
            let entry = AuditEntry { letters, ..self.entry.clone() };
            return if letters > 0 { insert(tx, &entry).await.map(Some) } else { Ok(self.seq) };
        };
        on!(tx, |tx| sqlx::query(ADD).bind(bigint(letters)).bind(seq).execute(&mut **tx).await.map(drop)?);
        Ok(Some(seq))
    }

    pub(crate) const fn committed(&mut self, seq: Option<i64>) {
        self.seq = seq;
    }
}

impl StoreReader {
    /// What `filter` lets through, the newest first, `limit` at most and only what stands before the entry `before`.
    pub async fn activity(
        &self,
        filter: &ActivityFilter,
        mut before: Option<i64>,
        limit: usize,
    ) -> Result<Vec<ActivityEntry>, StoreError> {
        if self.scope.is_everything() {
            return self.any_activity(filter, before, limit).await;
        }
        // Patterns are no matter of the database: it is asked for more until there is enough.
        const AT_ONCE: usize = 500;
        let mut seen = Vec::new();
        loop {
            let entries = self.any_activity(filter, before, AT_ONCE).await?;
            let is_end = entries.len() < AT_ONCE;
            before = entries.last().map(|entry| entry.seq);
            seen.extend(entries.into_iter().filter(|entry| entry.entry.is_seen(&self.scope)));
            if is_end || seen.len() >= limit {
                seen.truncate(limit);
                return Ok(seen);
            }
        }
    }

    /// The number of the newest entry that is there for who asks, if it is among the newest of all.
    pub async fn latest_activity(&self) -> Result<Option<i64>, StoreError> {
        const LATEST: usize = 100;
        let entries = self.any_activity(&ActivityFilter::default(), None, LATEST).await?;
        Ok(entries.iter().find(|entry| entry.entry.is_seen(&self.scope)).map(|entry| entry.seq))
    }

    async fn any_activity(
        &self,
        filter: &ActivityFilter,
        before: Option<i64>,
        limit: usize,
    ) -> Result<Vec<ActivityEntry>, StoreError> {
        let rows: Vec<Row> = on!(self.db.reader(), |pool| {
            let mut select = QueryBuilder::new(SELECT);
            select.push_bind(before.unwrap_or(i64::MAX));
            push_any(&mut select, "area", filter.areas.iter().map(|area| area.as_str()));
            push_any(&mut select, "actor", filter.actors.iter().map(String::as_str));
            push_any(&mut select, "subject", filter.subject.iter().map(String::as_str));
            if let Some(since) = filter.since {
                select.push(" AND at >= ").push_bind(since.as_micros());
            }
            if let Some(until) = filter.until {
                select.push(" AND at < ").push_bind(until.as_micros());
            }
            select.push(" ORDER BY seq DESC LIMIT ").push_bind(bigint(limit as u64));
            select.build_query_as().fetch_all(pool).await?
        });
        rows.into_iter().map(ActivityEntry::try_from).collect()
    }

    /// Everybody who has done anything, by name.
    pub async fn actors(&self) -> Result<Vec<Actor>, StoreError> {
        if !self.scope.is_everything() {
            // Who has done what concerns others is not told; of the rest, those who did it lately are.
            const LATELY: usize = 500;
            let entries = self.activity(&ActivityFilter::default(), None, LATELY).await?;
            let names: BTreeSet<String> = entries.iter().map(|entry| entry.entry.by.as_str().to_owned()).collect();
            return Ok(names.into_iter().map(Actor::named).collect());
        }
        // From each name the index leads to the next: there are few people, and each does much.
        const SELECT: &str = "WITH RECURSIVE people (name) AS (
                SELECT min(actor) FROM activity
                UNION ALL SELECT (SELECT min(actor) FROM activity WHERE actor > name) FROM people WHERE name IS NOT NULL)
            SELECT name FROM people WHERE name IS NOT NULL LIMIT 1000";
        let names: Vec<String> = on!(self.db.reader(), |pool| sqlx::query_scalar(SELECT).fetch_all(pool).await?);
        Ok(names.into_iter().map(Actor::named).collect())
    }
}

impl Store {
    /// Writes down what somebody did that changes nothing else here.
    pub async fn append_activity(&self, entry: &AuditEntry) -> Result<(), StoreError> {
        let mut tx = self.db.begin().await?;
        append(&mut tx, entry).await?;
        tx.commit().await
    }

    /// Removes what was done before that moment, of the `limit` oldest lines. The answer is how many.
    ///
    /// Lines stand in the order in which they were written, so that nothing else has to be looked at.
    pub async fn forget_activity(&self, before: Timestamp, limit: u32) -> Result<u64, StoreError> {
        // The database refuses to remove anything else.
        const TERM: &str = "INSERT INTO activity_term (id, before) VALUES (1, $1)
            ON CONFLICT (id) DO UPDATE SET before = excluded.before WHERE activity_term.before < excluded.before";
        const FORGET: &str = "DELETE FROM activity WHERE seq IN (SELECT seq FROM
            (SELECT seq, at FROM activity ORDER BY seq LIMIT $1) AS oldest WHERE at < $2) RETURNING seq";
        let mut tx = self.db.begin().await?;
        let seqs: Vec<i64> = on!(&mut tx, |tx| {
            sqlx::query(TERM).bind(before.as_micros()).execute(&mut **tx).await?;
            sqlx::query_scalar(FORGET).bind(i64::from(limit)).bind(before.as_micros()).fetch_all(&mut **tx).await?
        });
        if !seqs.is_empty() {
            on!(&mut tx, |tx| {
                let mut forget = QueryBuilder::new("DELETE FROM activity_letters WHERE seq IN ");
                forget.push(numbers(seqs.iter().copied())).build().persistent(false).execute(&mut **tx).await?;
            });
        }
        tx.commit().await?;
        Ok(seqs.len() as u64)
    }
}

/// The scope that was [written](QueueScope::written).
pub(crate) fn read_scope(text: &str) -> Result<QueueScope, StoreError> {
    QueueScope::read(text).map_err(|error| StoreError::Unreadable { what: "a scope", why: error.to_string() })
}

/// Pushes that `column`, named by us, has one of `values`; without any, nothing.
fn push_any<'v, DB: sqlx::Database>(
    query: &mut QueryBuilder<DB>,
    column: &'static str,
    values: impl Iterator<Item = &'v str>,
) where
    for<'q> String: sqlx::Encode<'q, DB> + sqlx::Type<DB>,
{
    let mut values = values.peekable();
    if values.peek().is_none() {
        return;
    }
    query.push(" AND ").push(column).push(" IN (");
    let mut list = query.separated(", ");
    for value in values {
        list.push_bind(value.to_owned());
    }
    query.push(")");
}
