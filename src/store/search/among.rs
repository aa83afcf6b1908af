//! Which of some letters a filter lets through, and how many it does, as far as that is quickly told.

use std::collections::HashSet;

use sqlx::QueryBuilder;
use uuid::Uuid;

use crate::{
    domain::{
        filter::{Counted, LetterFilter},
        letter::LetterId,
    },
    store::{
        StoreError, StoreReader,
        counts::times::push_times,
        db::{id_list::push_ids, on},
    },
};

impl StoreReader {
    /// Those of `ids` that `filter` lets through.
    pub async fn found_among(&self, filter: &LetterFilter, ids: &[LetterId]) -> Result<HashSet<LetterId>, StoreError> {
        let matching = self.matching(filter).await?;
        if ids.is_empty() || matching.facets.is_empty() {
            return Ok(HashSet::new());
        }
        let plan = self.plan(filter, &matching).await?;
        let found: Vec<Uuid> = on!(self.db.reader(), |pool| {
            let mut select = QueryBuilder::new("SELECT l.id FROM letters l WHERE l.id IN ");
            push_ids(&mut select, ids);
            select.push(" AND ");
            matching.push_facets(&mut select);
            matching.push_groups(&mut select);
            if let Some(plan) = &plan {
                plan.push_whole(&mut select);
            }
            push_times(&mut select, filter, "l.");
            select.build_query_scalar().persistent(false).fetch_all(pool).await?
        });
        Ok(found.into_iter().map(LetterId::from_uuid).collect())
    }

    /// How many letters a filter lets through; where no counts are kept of them, `most` are counted.
    pub async fn count_at_most(&self, filter: &LetterFilter, most: u64) -> Result<Counted, StoreError> {
        if !filter.is_counted_anew() {
            return Ok(Counted { n: self.count(filter).await?, is_least: false });
        }
        let n = if filter.search.is_some() {
            self.count_found(filter, Some(most + 1)).await?
        } else {
            self.count_of_groups(filter, most + 1).await?
        };
        Ok(Counted { n: n.min(most), is_least: n > most })
    }

    async fn count_of_groups(&self, filter: &LetterFilter, most: u64) -> Result<u64, StoreError> {
        let matching = self.matching(filter).await?;
        if matching.facets.is_empty() {
            return Ok(0);
        }
        let count: i64 = on!(self.db.reader(), |pool| {
            let mut select = QueryBuilder::new("SELECT COUNT(*) FROM (SELECT 1 ");
            matching.push_letters(&mut select);
            push_times(&mut select, filter, "l.");
            select.push(" LIMIT ").push(most).push(") AS counted");
            select.build_query_scalar().persistent(false).fetch_one(pool).await?
        });
        Ok(count.unsigned_abs())
    }
}
