//! Markers: what happened at a moment, as far as who asks sees queues that it is about.

use amqp_message::time::Timestamp;
use sqlx::QueryBuilder;
use sqlx_macros::FromRow;
use uuid::Uuid;

use super::{
    Store, StoreError, StoreReader, audit,
    counts::facets::Matching,
    db::{id_list::push_texts, on},
    letters::rows::{bigint, parse},
};
use crate::domain::{
    actor::Actor,
    filter::LetterFilter,
    marker::{Marker, MarkerFilter, MarkerPlace},
};

/// What a [`Row`] is made of.
const SELECT: &str = "SELECT id, at, kind, title, service, queues, link, within, set_by, set_at FROM markers";

#[derive(FromRow)]
struct Row {
    id: Uuid,
    at: i64,
    kind: String,
    title: String,
    service: String,
    queues: String,
    link: String,
    within: String,
    set_by: String,
    set_at: i64,
}

impl TryFrom<Row> for Marker {
    type Error = StoreError;

    fn try_from(row: Row) -> Result<Self, StoreError> {
        let said = |text: String| Some(text).filter(|text| !text.is_empty());
        let unreadable =
            |error: serde_json::Error| StoreError::Unreadable { what: "queues of a marker", why: error.to_string() };
        Ok(Self {
            id: row.id,
            kind: parse("a kind of marker", &row.kind)?,
            title: row.title,
            at: Timestamp::from_micros(row.at),
            service: said(row.service),
            queues: serde_json::from_str(&row.queues).map_err(unreadable)?,
            link: said(row.link),
            within: audit::read_scope(&row.within)?,
            by: Actor::named(row.set_by),
            set_at: Timestamp::from_micros(row.set_at),
        })
    }
}

impl StoreReader {
    /// What `filter` lets through behind that place, the newest first, `limit` at most.
    pub async fn markers(
        &self,
        filter: &MarkerFilter,
        mut before: Option<MarkerPlace>,
        limit: usize,
    ) -> Result<Vec<Marker>, StoreError> {
        let theirs = self.queues_of_theirs().await?;
        let mut seen = Vec::new();
        loop {
            let rows = self.any_markers(filter, before, limit).await?;
            let is_end = rows.len() < limit;
            before = rows.last().map(|marker| MarkerPlace { at: marker.at, id: marker.id });
            seen.extend(rows.into_iter().filter(|marker| self.is_seen(marker, theirs.as_ref())));
            if is_end || seen.len() >= limit {
                seen.truncate(limit);
                return Ok(seen);
            }
        }
    }

    pub async fn marker(&self, id: Uuid) -> Result<Option<Marker>, StoreError> {
        let row: Option<Row> = on!(self.db.reader(), |pool| {
            let mut select = QueryBuilder::new(SELECT);
            select.push(" WHERE id = ").push_bind(id).build_query_as().fetch_optional(pool).await?
        });
        let Some(marker) = row.map(Marker::try_from).transpose()? else { return Ok(None) };
        let theirs = self.queues_of_theirs().await?;
        Ok(Some(marker).filter(|marker| self.is_seen(marker, theirs.as_ref())))
    }

    async fn any_markers(
        &self,
        filter: &MarkerFilter,
        before: Option<MarkerPlace>,
        limit: usize,
    ) -> Result<Vec<Marker>, StoreError> {
        let rows: Vec<Row> = on!(self.db.reader(), |pool| {
            let mut select = QueryBuilder::new(SELECT);
            select.push(" WHERE at >= ").push_bind(filter.since.map_or(i64::MIN, Timestamp::as_micros));
            if let Some(until) = filter.until {
                select.push(" AND at < ").push_bind(until.as_micros());
            }
            if !filter.kinds.is_empty() {
                select.push(" AND kind IN ");
                push_texts(&mut select, filter.kinds.iter().map(|kind| kind.as_str().to_owned()).collect());
            }
            if let Some(MarkerPlace { at, id }) = before {
                select.push(" AND (at, id) < (").push_bind(at.as_micros()).push(", ").push_bind(id).push(")");
            }
            select.push(" ORDER BY at DESC, id DESC LIMIT ").push_bind(bigint(limit as u64));
            select.build_query_as().fetch_all(pool).await?
        });
        rows.into_iter().map(Marker::try_from).collect()
    }

    /// The queues that who asks sees letters of; none where that is everything.
    async fn queues_of_theirs(&self) -> Result<Option<Matching>, StoreError> {
        if self.scope.is_everything() { Ok(None) } else { self.matching(&LetterFilter::default()).await.map(Some) }
    }

    /// What is about queues of others only is not there.
    fn is_seen(&self, marker: &Marker, theirs: Option<&Matching>) -> bool {
        let Some(theirs) = theirs else { return true };
        let reach = marker.reach();
        let is_about_theirs = || theirs.facets.iter().any(|(_, key, _)| reach.includes(&key.broker, &key.queue));
        marker.is_for_all() || marker.within.is_within(&self.scope) || is_about_theirs()
    }
}

impl Store {
    pub async fn add_marker(&self, marker: &Marker) -> Result<(), StoreError> {
        const ADD: &str = "INSERT INTO markers (id, at, kind, title, service, queues, link, within, set_by, set_at)
            VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)";
        let queues = serde_json::Value::from(marker.queues.clone()).to_string();
        let mut tx = self.db.begin().await?;
        on!(&mut tx, |tx| sqlx::query(ADD)
            .bind(marker.id)
            .bind(marker.at.as_micros())
            .bind(marker.kind.as_str())
            .bind(&*marker.title)
            .bind(marker.service.as_deref().unwrap_or_default())
            .bind(&*queues)
            .bind(marker.link.as_deref().unwrap_or_default())
            .bind(marker.within.written())
            .bind(marker.by.as_str())
            .bind(marker.set_at.as_micros())
            .execute(&mut **tx)
            .await
            .map(drop)?);
        audit::append(&mut tx, &marker.entry("set", &marker.by, marker.set_at)).await?;
        tx.commit().await
    }

    /// Removes a marker that who asks could have set; the answer is that one.
    pub async fn remove_marker(&self, id: Uuid, by: &Actor, at: Timestamp) -> Result<Option<Marker>, StoreError> {
        const REMOVE: &str = "DELETE FROM markers WHERE id = $1
            RETURNING id, at, kind, title, service, queues, link, within, set_by, set_at";
        let mut tx = self.db.begin().await?;
        let row: Option<Row> = on!(&mut tx, |tx| sqlx::query_as(REMOVE).bind(id).fetch_optional(&mut **tx).await?);
        let removed = row.map(Marker::try_from).transpose()?.filter(|marker| marker.is_removed_by(by));
        let Some(marker) = removed else { return Ok(None) };
        audit::append(&mut tx, &marker.entry("remove", by, at)).await?;
        tx.commit().await?;
        Ok(Some(marker))
    }

    /// Removes markers of before then, `limit` at most; the answer is how many these were.
    pub async fn forget_markers(&self, before: Timestamp, limit: u32) -> Result<u64, StoreError> {
        const FORGET: &str =
            "DELETE FROM markers WHERE id IN (SELECT id FROM markers WHERE at < $1 ORDER BY at LIMIT $2)";
        Ok(on!(self.db.writer(), |pool| sqlx::query(FORGET)
            .bind(before.as_micros())
            .bind(i64::from(limit))
            .execute(pool)
            .await?
            .rows_affected()))
    }
}
