//! Letters of a search, counted one by one.

use std::collections::HashMap;

use amqp_message::time::Timestamp;
use sqlx::QueryBuilder;

use super::plan::{FEW, Plan};
use crate::{
    domain::filter::{Counted, FacetCount, LetterFilter},
    store::{
        StoreError, StoreReader,
        counts::{
            facets::{FacetId, Matching, SeenFacet, facet_count},
            times::push_times,
        },
        db::on,
    },
};

impl StoreReader {
    /// How many letters a filter lets through. Of a search more than [`FEW`] are not counted.
    pub async fn count_most(&self, filter: &LetterFilter) -> Result<Counted, StoreError> {
        if filter.search.is_none() {
            return Ok(Counted { n: self.count(filter).await?, is_least: false });
        }
        let matching = self.matching(filter).await?;
        let is_few = self.plan(filter, &matching).await?.is_some_and(|plan| plan.is_few);
        // A page shows some of these, too.
        let few = if is_few { self.found_in(filter, &matching).await? } else { None };
        let n = match few {
            Some(found) => found.len() as u64,
            None => self.count_found(filter, Some(FEW + 1)).await?,
        };
        Ok(Counted { n: n.min(FEW), is_least: n > FEW })
    }

    /// How many letters of a search there are, `most` at most.
    pub(crate) async fn count_found(&self, filter: &LetterFilter, most: Option<u64>) -> Result<u64, StoreError> {
        let matching = self.matching(filter).await?;
        let Some(plan) = self.plan(filter, &matching).await?.filter(|_| !matching.facets.is_empty()) else {
            return Ok(0);
        };
        if let Some(most) = most.filter(|most| *most <= FEW + 1 && !plan.is_few)
            && (self.are_more_given(filter, &matching, &plan).await?
                || self.is_common_filter(filter, &matching, &plan).await?)
        {
            return Ok(most);
        }
        let mut tx = if plan.asks_index { self.db.by_index().await? } else { self.db.snapshot().await? };
        let count: i64 = on!(&mut tx, |tx| {
            let mut query = QueryBuilder::new("SELECT COUNT(*) FROM (SELECT 1 ");
            plan.push_letters(&mut query, &matching, most.is_some());
            push_times(&mut query, filter, "l.");
            if let Some(most) = most {
                query.push(" LIMIT ").push(most);
            }
            query.push(") AS counted").build_query_scalar().persistent(false).fetch_one(&mut **tx).await?
        });
        Ok(count.unsigned_abs())
    }

    /// Whether the index gives more letters than [`FEW`] and all that are of other facets. If not, it is not known how many match.
    async fn are_more_given(
        &self,
        filter: &LetterFilter,
        matching: &Matching,
        plan: &Plan,
    ) -> Result<bool, StoreError> {
        if plan.given <= FEW || matching.groups.is_some() || filter.since.is_some() || filter.until.is_some() {
            return Ok(false);
        }
        let everything = self.everything().await?;
        Ok(plan.given > FEW + everything.saturating_sub(matching.total()))
    }

    /// How many letters each facet has under the rest of `filter`, whatever it says of statuses and importances; `None` where
    /// they are too many to be counted.
    pub async fn facets_found(&self, filter: &LetterFilter) -> Result<Option<Vec<FacetCount>>, StoreError> {
        let any = filter.of_any_status();
        let matching = self.matching(&any).await?;
        let Some(found) = self.found_letters(&any).await? else { return Ok(None) };
        let mut counts = HashMap::new();
        for letter in &*found {
            *counts.entry(letter.facet).or_default() += 1;
        }
        Ok(Some(with_keys(&matching, &counts)))
    }

    /// The same, however many they are.
    pub(crate) async fn all_facets_found(&self, filter: &LetterFilter) -> Result<Vec<FacetCount>, StoreError> {
        let any = filter.of_any_status();
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
        let mut tx = self.begin_for(plan).await?;
        let rows: Vec<(i64, i64)> = on!(&mut tx, |tx| {
            let mut query = QueryBuilder::new("SELECT l.facet_id, COUNT(*) ");
            plan.push_letters(&mut query, matching, false);
            push_times(&mut query, filter, "l.");
            query.push(" GROUP BY l.facet_id").build_query_as().persistent(false).fetch_all(&mut **tx).await?
        });
        let counts = rows.into_iter().map(|(facet, count)| (FacetId(facet), count.unsigned_abs())).collect();
        Ok(with_keys(matching, &counts))
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
        let Some(found) = self.found_in(filter, matching).await? else { return Ok(None) };
        let within = found.iter().filter(|letter| (from..to).contains(&letter.received_at));
        Ok(Some(within.map(|letter| (letter.facet, letter.received_at)).collect()))
    }
}

fn with_keys(matching: &Matching, counts: &HashMap<FacetId, u64>) -> Vec<FacetCount> {
    let counted = |(id, key, _): &SeenFacet| counts.get(id).map(|count| facet_count(key, *count));
    matching.facets.iter().filter_map(counted).collect()
}
