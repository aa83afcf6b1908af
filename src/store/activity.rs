//! Who did what.

use sqlx::{FromRow, QueryBuilder};

use super::{
    Store, StoreError,
    db::{Tx, on},
    rows::{bigint, parse},
};
use crate::domain::{
    activity::{ActivityEntry, ActivityFilter, Deed},
    actor::Actor,
    time::Timestamp,
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
}

impl TryFrom<Row> for ActivityEntry {
    type Error = StoreError;

    fn try_from(row: Row) -> Result<Self, StoreError> {
        let deed = Deed {
            at: Timestamp::from_micros(row.at),
            by: Actor::named(row.actor),
            area: parse("an area of activity", &row.area)?,
            action: row.action,
            subject: row.subject,
            letters: row.letters.unsigned_abs(),
            detail: row.detail,
        };
        Ok(Self { seq: row.seq, deed })
    }
}

/// Writes down what somebody did, in the transaction in which it is done.
pub(super) async fn append(tx: &mut Tx, deed: &Deed) -> Result<(), StoreError> {
    const INSERT: &str = "INSERT INTO activity (at, actor, area, action, subject, letters, detail)
        VALUES ($1, $2, $3, $4, $5, $6, $7)";
    on!(tx, |tx| sqlx::query(INSERT)
        .bind(deed.at.as_micros())
        .bind(deed.by.as_str())
        .bind(deed.area.as_str())
        .bind(&*deed.action)
        .bind(&*deed.subject)
        .bind(bigint(deed.letters))
        .bind(&*deed.detail)
        .execute(&mut **tx)
        .await
        .map(drop)?);
    Ok(())
}

impl Store {
    /// Writes down what was done in several transactions.
    pub async fn add_deed(&self, deed: &Deed) -> Result<(), StoreError> {
        let mut tx = self.db.begin().await?;
        append(&mut tx, deed).await?;
        tx.commit().await
    }

    /// What `filter` lets through, the newest first, `limit` at most and only what stands before the entry `before`.
    pub async fn activity(
        &self,
        filter: &ActivityFilter,
        before: Option<i64>,
        limit: usize,
    ) -> Result<Vec<ActivityEntry>, StoreError> {
        let rows: Vec<Row> = on!(self.db.reader(), |pool| {
            let mut select = QueryBuilder::new(
                "SELECT seq, at, actor, area, action, subject, letters, detail FROM activity WHERE seq < ",
            );
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
        const SELECT: &str = "SELECT DISTINCT actor FROM activity ORDER BY actor LIMIT 1000";
        let names: Vec<String> = on!(self.db.reader(), |pool| sqlx::query_scalar(SELECT).fetch_all(pool).await?);
        Ok(names.into_iter().map(Actor::named).collect())
    }
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
