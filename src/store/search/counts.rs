//! Letters of a search, counted one by one.

use std::{
    collections::{HashMap, HashSet},
    num::ParseIntError,
    sync::Arc,
};

use amqp_message::time::Timestamp;
use sqlx::{Database, Encode, QueryBuilder, Type};

use super::plan::{FEW, Plan};
use crate::{
    domain::filter::{Counted, FacetCount, LetterFilter},
    store::{
        StoreError, StoreReader,
        counts::facets::{FacetId, Matching, SeenFacet, facet_count},
        db::on,
    },
};

/// Facet and time of each letter that a search finds; `None` where they are too many to be counted.
pub(crate) type FoundLetters = Option<Arc<[(FacetId, Timestamp)]>>;

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
        let Some(found) = self.found_letters(any, &matching).await? else { return Ok(None) };
        let mut counts = HashMap::new();
        for (facet, _) in &*found {
            *counts.entry(*facet).or_default() += 1;
        }
        Ok(Some(with_keys(&matching, &counts)))
    }

    /// The same, however many they are.
    pub(crate) async fn all_facets_found(&self, filter: &LetterFilter) -> Result<Vec<FacetCount>, StoreError> {
        let any = of_any_status(filter);
        let matching = self.matching(&any).await?;
        let Some(plan) = self.plan(&any, &matching).await? else { return Ok(Vec::new()) };
        self.count_facets(&any, &matching, &plan).await
    }

    async fn count_facets(
        &self,
        filter: &LetterFilter,
        matching: &Matching,
        plan: &Plan,
    ) -> Result<Vec<FacetCount>, StoreError> {
        if matching.facets.is_empty() {
            return Ok(Vec::new());
        }
        let rows: Vec<(i64, i64)> = on!(self.db.reader(), |pool| {
            let mut query = QueryBuilder::new("SELECT l.facet_id, COUNT(*) ");
            plan.push_letters(&mut query, matching);
            push_times(&mut query, filter);
            query.push(" GROUP BY l.facet_id").build_query_as().persistent(false).fetch_all(pool).await?
        });
        let counts = rows.into_iter().map(|(facet, count)| (FacetId(facet), count.unsigned_abs())).collect();
        Ok(with_keys(matching, &counts))
    }

    /// The letters that a filter of any status finds; `matching` is what it lets through.
    async fn found_letters(&self, any: LetterFilter, matching: &Matching) -> Result<FoundLetters, StoreError> {
        if let Some(found) = self.memo.as_ref().and_then(|memo| memo.found(&any)) {
            return Ok(found);
        }
        let plan = self.plan(&any, matching).await?.filter(|plan| plan.can_be_counted);
        let found = match plan {
            Some(plan) if !matching.facets.is_empty() => Some(self.list_found(&any, matching, &plan).await?),
            Some(_) => Some(Arc::default()),
            None => None,
        };
        if let Some(memo) = &self.memo {
            memo.keep_found(any, found.clone());
        }
        Ok(found)
    }

    async fn list_found(
        &self,
        filter: &LetterFilter,
        matching: &Matching,
        plan: &Plan,
    ) -> Result<Arc<[(FacetId, Timestamp)]>, StoreError> {
        // In one row: there are thousands.
        let text: Option<String> = on!(self.db.reader(), |pool| {
            let mut query = QueryBuilder::new("SELECT string_agg(l.facet_id || ' ' || l.received_at, ' ') ");
            plan.push_letters(&mut query, matching);
            push_times(&mut query, filter);
            query.build_query_scalar().persistent(false).fetch_one(pool).await?
        });
        let numbers: Result<Vec<i64>, _> =
            text.as_deref().unwrap_or_default().split_whitespace().map(str::parse).collect();
        let unreadable =
            |error: ParseIntError| StoreError::Unreadable { what: "letters found", why: error.to_string() };
        let numbers = numbers.map_err(unreadable)?;
        Ok(numbers.chunks_exact(2).map(|of| (FacetId(of[0]), Timestamp::from_micros(of[1]))).collect())
    }

    /// The facets and times of the letters in `matching`, which is what `filter` lets through, received from `from` until
    /// `to`; `None` where they are too many to be counted.
    pub(crate) async fn found_between(
        &self,
        filter: &LetterFilter,
        matching: &Matching,
        from: Timestamp,
        to: Timestamp,
    ) -> Result<Option<Vec<(FacetId, Timestamp)>>, StoreError> {
        let any = of_any_status(filter);
        let all = self.matching(&any).await?;
        let Some(found) = self.found_letters(any, &all).await? else { return Ok(None) };
        let facets: HashSet<FacetId> = matching.ids().collect();
        let is_meant = |(facet, at): &&(FacetId, Timestamp)| facets.contains(facet) && (from..to).contains(at);
        Ok(Some(found.iter().filter(is_meant).copied().collect()))
    }
}

fn with_keys(matching: &Matching, counts: &HashMap<FacetId, u64>) -> Vec<FacetCount> {
    let counted = |(id, key, _): &SeenFacet| counts.get(id).map(|count| facet_count(key, *count));
    matching.facets.iter().filter_map(counted).collect()
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
