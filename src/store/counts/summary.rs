//! Counts for pages, which do not read of each queue in the past.

use std::collections::{BTreeMap, HashMap};

use super::{facets::facet_count, slices::Scope};
use crate::{
    domain::{
        filter::{LetterCounts, LetterFilter},
        letter::{Importance, Status},
    },
    store::{StoreError, StoreReader, db::on},
};

impl StoreReader {
    /// How many letters there are, as pages need it: where `filter` asks for no queues, brokers or reasons, what is
    /// retried or discarded is only summed up. It may be of any number of queues in the past.
    pub async fn letter_counts(&self, filter: &LetterFilter) -> Result<LetterCounts, StoreError> {
        if self.tells_facets_apart(filter) {
            return self.facets().await.map(LetterCounts::from);
        }
        let pending = LetterFilter { statuses: vec![Status::Open, Status::Scheduled], ..LetterFilter::default() };
        let matching = self.matching(&pending).await?;
        let facets = matching.facets.iter().map(|(_, key, count)| facet_count(key, *count)).collect();
        let mut sums = self.sums().await?;
        sums.retain(|(status, ..)| !pending.statuses.contains(status));
        Ok(LetterCounts { facets, sums })
    }

    /// The same, whatever is asked for.
    pub async fn counts_overall(&self) -> Result<LetterCounts, StoreError> {
        self.letter_counts(&LetterFilter::default()).await
    }

    /// How many letters of each status and importance there are.
    pub async fn sums(&self) -> Result<Vec<(Status, Importance, u64)>, StoreError> {
        if self.scope.is_everything() {
            return self.sums_of_all().await;
        }
        let mut sums: BTreeMap<(Status, Importance), u64> = BTreeMap::new();
        for facet in self.facets().await? {
            *sums.entry((facet.status, facet.importance)).or_default() += facet.count;
        }
        Ok(sums.into_iter().map(|((status, importance), count)| (status, importance, count)).collect())
    }

    /// How many letters there are, whoever asks.
    pub(crate) async fn everything(&self) -> Result<u64, StoreError> {
        Ok(self.sums_of_all().await?.iter().map(|(.., count)| count).sum())
    }

    /// How many of each status and importance, whoever asks.
    pub(crate) async fn sums_of_all(&self) -> Result<Vec<(Status, Importance, u64)>, StoreError> {
        const SUMS: &str = "SELECT scope, CAST(sum(count) AS BIGINT) FROM days
            WHERE scope < 0 GROUP BY scope HAVING sum(count) > 0";
        let rows: Vec<(i64, i64)> = on!(self.db.reader(), |pool| sqlx::query_as(SUMS).fetch_all(pool).await?);
        let counts: HashMap<i64, i64> = rows.into_iter().collect();
        let all = Status::ALL.iter().flat_map(|status| Importance::ALL.iter().map(|of| (*status, *of)));
        let sum = |(status, importance)| {
            let count = counts.get(&Scope::all(status, importance).0)?;
            Some((status, importance, count.unsigned_abs()))
        };
        Ok(all.filter_map(sum).collect())
    }
}
