//! Counting and the histogram, from the counts that are kept.

use std::{collections::BTreeMap, time::Duration};

use sqlx::QueryBuilder;

use super::{
    SLICE, Store, StoreError,
    db::on,
    facets::{FacetId, Matching},
    rows::parse,
};
use crate::domain::{
    filter::{HistogramBar, LetterFilter},
    letter::{Importance, Status},
    time::Timestamp,
};

impl Store {
    /// How many letters `filter` lets through, exactly.
    pub async fn count(&self, filter: &LetterFilter) -> Result<u64, StoreError> {
        let matching = self.matching(filter).await?;
        if filter.since.is_none() && filter.until.is_none() {
            return Ok(matching.total());
        }
        let since = filter.since.unwrap_or(Timestamp::from_micros(0));
        let until = filter.until.unwrap_or(Timestamp::MAX);
        let first_whole = since.plus(SLICE.saturating_sub(Duration::from_micros(1))).floor_to(SLICE);
        let last_whole = until.floor_to(SLICE);
        if first_whole >= last_whole {
            return self.count_rows(&matching, since, until).await;
        }
        Ok(self.count_rows(&matching, since, first_whole).await?
            + self.count_slices(&matching, first_whole, last_whole).await?
            + self.count_rows(&matching, last_whole, until).await?)
    }

    /// Letters received from `from` until `to`, in bars of `width`, which is rounded up to whole slices.
    pub async fn histogram(
        &self,
        filter: &LetterFilter,
        from: Timestamp,
        to: Timestamp,
        width: Duration,
    ) -> Result<Vec<HistogramBar>, StoreError> {
        let matching = self.matching(filter).await?;
        let width = SLICE * u32::try_from(width.as_secs().div_ceil(SLICE.as_secs()).max(1)).unwrap_or(u32::MAX);
        let mut bars = empty_bars(from, to, width);
        for (importance, position) in Importance::ALL.iter().zip(0..) {
            let facets = matching.facets.iter().filter(|(_, key, _)| key.importance == *importance);
            let facets: Vec<FacetId> = facets.map(|(id, _, _)| *id).collect();
            for (slice, count) in self.slices(&facets, from.floor_to(width), to).await? {
                if let Some(bar) = bars.get_mut(&slice.floor_to(width)) {
                    bar[position] += count;
                }
            }
        }
        Ok(bars.into_iter().map(|(from, counts)| HistogramBar { from, counts }).collect())
    }

    /// When the oldest open letter of each importance was received.
    pub async fn oldest_open(&self) -> Result<Vec<(Importance, Timestamp)>, StoreError> {
        // One step into the index for each facet, all in one statement.
        const OLDEST: &str = "SELECT importance, min(oldest) FROM (
                SELECT f.importance, (SELECT min(l.received_at) FROM letters l WHERE l.facet_id = f.id) AS oldest
                FROM facets f WHERE f.status = $1 AND f.count > 0
            ) AS open WHERE oldest IS NOT NULL GROUP BY importance";
        let rows: Vec<(String, i64)> =
            on!(self.db.reader(), |pool| sqlx::query_as(OLDEST).bind(Status::Open.as_str()).fetch_all(pool).await?);
        let mut oldest = Vec::with_capacity(rows.len());
        for (importance, received_at) in rows {
            oldest.push((parse("an importance", &importance)?, Timestamp::from_micros(received_at)));
        }
        oldest.sort_unstable();
        Ok(oldest)
    }

    async fn count_rows(&self, matching: &Matching, from: Timestamp, to: Timestamp) -> Result<u64, StoreError> {
        const COUNT: &str =
            "SELECT count(*) FROM letters WHERE received_at >= $1 AND received_at < $2 AND facet_id IN ";
        self.sum(COUNT, &matching.ids().collect::<Vec<_>>(), from, to).await
    }

    async fn count_slices(&self, matching: &Matching, from: Timestamp, to: Timestamp) -> Result<u64, StoreError> {
        const SUM: &str = "SELECT CAST(coalesce(sum(count), 0) AS BIGINT) FROM facet_slices
            WHERE slice >= $1 AND slice < $2 AND facet_id IN ";
        self.sum(SUM, &matching.ids().collect::<Vec<_>>(), from, to).await
    }

    async fn sum(&self, sql: &str, facets: &[FacetId], from: Timestamp, to: Timestamp) -> Result<u64, StoreError> {
        if from >= to || facets.is_empty() {
            return Ok(0);
        }
        let sum: i64 = on!(self.db.reader(), |pool| {
            let mut query = QueryBuilder::new(sql);
            query.push(in_list(facets));
            query.build_query_scalar().bind(from.as_micros()).bind(to.as_micros()).fetch_one(pool).await?
        });
        Ok(sum.unsigned_abs())
    }

    async fn slices(
        &self,
        facets: &[FacetId],
        from: Timestamp,
        to: Timestamp,
    ) -> Result<Vec<(Timestamp, u64)>, StoreError> {
        const SLICES: &str = "SELECT slice, CAST(sum(count) AS BIGINT) FROM facet_slices
            WHERE slice >= $1 AND slice < $2 AND facet_id IN ";
        if facets.is_empty() {
            return Ok(Vec::new());
        }
        let rows: Vec<(i64, i64)> = on!(self.db.reader(), |pool| {
            let mut query = QueryBuilder::new(SLICES);
            query.push(in_list(facets)).push(" GROUP BY slice");
            query.build_query_as().bind(from.as_micros()).bind(to.as_micros()).fetch_all(pool).await?
        });
        Ok(rows.into_iter().map(|(slice, sum)| (Timestamp::from_micros(slice), sum.unsigned_abs())).collect())
    }
}

/// Our own numbers, so they may stand in the text: thousands of binds would be slower to no use.
fn in_list(facets: &[FacetId]) -> String {
    let ids: Vec<String> = facets.iter().map(|facet| facet.0.to_string()).collect();
    format!("({})", ids.join(", "))
}

fn empty_bars(from: Timestamp, to: Timestamp, width: Duration) -> BTreeMap<Timestamp, [u64; Importance::ALL.len()]> {
    let mut bars = BTreeMap::new();
    let mut at = from.floor_to(width);
    while at < to {
        bars.insert(at, [0; Importance::ALL.len()]);
        at = at.plus(width);
    }
    bars
}
