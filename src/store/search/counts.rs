//! Letters of a search, counted one by one.

use std::{collections::HashMap, time::Duration};

use amqp_message::time::Timestamp;
use sqlx::{Database, Encode, QueryBuilder, Type};

use super::plan::{FEW, Plan};
use crate::{
    domain::filter::{Counted, FacetCount, LetterFilter},
    store::{
        StoreError, StoreReader,
        counts::{
            facets::{Matching, facet_count},
            slices,
        },
        db::on,
    },
};

/// How many letters each facet has in each slice of time.
pub(crate) type FoundSlices = Vec<(i64, Timestamp, u64)>;

impl StoreReader {
    /// How many letters a filter lets through. Of a search more than [`FEW`] are not counted.
    pub async fn count_most(&self, filter: &LetterFilter) -> Result<Counted, StoreError> {
        if filter.search.is_none() {
            return Ok(Counted { n: self.count(filter).await?, is_least: false });
        }
        let n = self.count_found(filter, Some(FEW + 1)).await?;
        Ok(Counted { n: n.min(FEW), is_least: n > FEW })
    }

    /// How many letters of a search there are, `most` at most.
    pub(crate) async fn count_found(&self, filter: &LetterFilter, most: Option<u64>) -> Result<u64, StoreError> {
        let matching = self.matching(filter).await?;
        let Some(plan) = self.plan(filter, &matching).await?.filter(|_| !matching.facets.is_empty()) else {
            return Ok(0);
        };
        let count: i64 = on!(self.db.reader(), |pool| {
            let mut query = QueryBuilder::new("SELECT COUNT(*) FROM (SELECT 1 ");
            plan.push_letters(&mut query, &matching);
            push_times(&mut query, filter);
            if let Some(most) = most {
                query.push(" LIMIT ").push(most);
            }
            query.push(") AS counted").build_query_scalar().persistent(false).fetch_one(pool).await?
        });
        Ok(count.unsigned_abs())
    }

    /// How many letters each facet has under the rest of `filter`, whatever it says of statuses and importances; `None` where
    /// they are too many to be counted.
    pub async fn facets_found(&self, filter: &LetterFilter) -> Result<Option<Vec<FacetCount>>, StoreError> {
        let any = of_any_status(filter);
        let matching = self.matching(&any).await?;
        let Some(plan) = self.countable(&any, &matching).await? else { return Ok(None) };
        self.count_facets(&any, matching, &plan).await.map(Some)
    }

    /// The same, however many they are.
    pub(crate) async fn all_facets_found(&self, filter: &LetterFilter) -> Result<Vec<FacetCount>, StoreError> {
        let any = of_any_status(filter);
        let matching = self.matching(&any).await?;
        let Some(plan) = self.plan(&any, &matching).await? else { return Ok(Vec::new()) };
        self.count_facets(&any, matching, &plan).await
    }

    async fn count_facets(
        &self,
        filter: &LetterFilter,
        matching: Matching,
        plan: &Plan,
    ) -> Result<Vec<FacetCount>, StoreError> {
        if matching.facets.is_empty() {
            return Ok(Vec::new());
        }
        let rows: Vec<(i64, i64)> = on!(self.db.reader(), |pool| {
            let mut query = QueryBuilder::new("SELECT l.facet_id, COUNT(*) ");
            plan.push_letters(&mut query, &matching);
            push_times(&mut query, filter);
            query.push(" GROUP BY l.facet_id").build_query_as().persistent(false).fetch_all(pool).await?
        });
        let counts: HashMap<i64, i64> = rows.into_iter().collect();
        let counted = matching.facets.iter().filter_map(|(id, key, _)| {
            let count = counts.get(&id.0)?;
            Some(facet_count(key, count.unsigned_abs()))
        });
        Ok(counted.collect())
    }

    /// How to find the letters of a search, if they can be counted.
    async fn countable(&self, filter: &LetterFilter, matching: &Matching) -> Result<Option<Plan>, StoreError> {
        Ok(self.plan(filter, matching).await?.filter(|plan| plan.can_be_counted))
    }

    /// How many letters there are over time; `None` where they are too many to be counted.
    pub(crate) async fn slices_found(
        &self,
        filter: &LetterFilter,
        matching: &Matching,
        from: Timestamp,
        to: Timestamp,
        width: Duration,
    ) -> Result<Option<FoundSlices>, StoreError> {
        let Some(plan) = self.countable(filter, matching).await? else { return Ok(None) };
        if matching.facets.is_empty() {
            return Ok(Some(Vec::new()));
        }
        let width = slices::micros(width);
        let rows: Vec<(i64, i64, i64)> = on!(self.db.reader(), |pool| {
            let start = format!("l.received_at / {width} * {width}");
            let mut query = QueryBuilder::new("SELECT l.facet_id, ");
            query.push(&start).push(", COUNT(*)");
            plan.push_letters(&mut query, matching);
            query.push(" AND l.received_at >= ").push_bind(from.as_micros());
            query.push(" AND l.received_at < ").push_bind(to.as_micros());
            push_times(&mut query, filter);
            query.push(" GROUP BY l.facet_id, ").push(&start);
            query.build_query_as().persistent(false).fetch_all(pool).await?
        });
        let slice =
            |(facet, start, count): (i64, i64, i64)| (facet, Timestamp::from_micros(start), count.unsigned_abs());
        Ok(Some(rows.into_iter().map(slice).collect()))
    }
}

fn of_any_status(filter: &LetterFilter) -> LetterFilter {
    LetterFilter { statuses: Vec::new(), importances: Vec::new(), ..filter.clone() }
}

/// Pushes that letters `l` were received in the time that is asked for.
pub(crate) fn push_times<DB: Database>(query: &mut QueryBuilder<DB>, filter: &LetterFilter)
where
    for<'q> i64: Encode<'q, DB> + Type<DB>,
{
    if let Some(since) = filter.since {
        query.push(" AND l.received_at >= ").push_bind(since.as_micros());
    }
    if let Some(until) = filter.until {
        query.push(" AND l.received_at < ").push_bind(until.as_micros());
    }
}
